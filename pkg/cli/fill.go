package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// entry is a line "  NAME  text" of a list in a help text; a gap of two spaces or more ends the name.
var entry = regexp.MustCompile(`^( +\S.*? {2,})(\S.*)$`)

// filled is a help text with lines of at most width characters. Paragraphs are filled; an indented line that
// is too long, of the form of entry, is filled beside its name; other indented lines stay.
func filled(text string, width int) string {
	var b strings.Builder
	paragraph, name := "", ""
	flush := func() {
		if paragraph != "" {
			fill(&b, name, paragraph, width)
		}
		paragraph, name = "", ""
	}
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		line = strings.TrimSuffix(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		m := entry.FindStringSubmatch(line)
		switch {
		case line == "":
			flush()
			b.WriteString("\n")
		case indent == 0 && name == "":
			paragraph = strings.TrimSpace(paragraph + " " + line)
		case name != "" && indent == utf8.RuneCountInString(name):
			paragraph += " " + line[indent:]
		case m != nil:
			flush()
			name, paragraph = m[1], m[2]
		default:
			flush()
			b.WriteString(line + "\n")
		}
	}
	flush()
	return b.String()
}

// fill writes a paragraph beside a name.
func fill(b *strings.Builder, name, paragraph string, width int) {
	indent := utf8.RuneCountInString(name)
	if indent+utf8.RuneCountInString(paragraph) <= width {
		b.WriteString(name + paragraph + "\n") // as it is, with the spaces in it
		return
	}
	line := name
	at := indent
	for i, word := range strings.Fields(paragraph) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString(line + "\n")
			line, at = strings.Repeat(" ", indent), indent
		default:
			line, at = line+" ", at+1
		}
		line, at = line+word, at+n
	}
	b.WriteString(line + "\n")
}
