package workload

import "strings"

// columns is the width of reports, that of a terminal of the usual size.
const columns = 80

// wrap breaks a text so that it fits behind a margin: after commas and the like, and between
// words where these are too far apart. The lines after the first have the margin in front.
func wrap(text string, margin int) string {
	var parts []string
	begin, words := 0, strings.Fields(text)
	for i, w := range words {
		if i+1 < len(words) && !strings.ContainsAny(w[len(w)-1:], ",;:") {
			continue
		}
		part := strings.Join(words[begin:i+1], " ")
		if len(part) > columns-margin {
			parts = append(parts, words[begin:i+1]...)
		} else {
			parts = append(parts, part)
		}
		begin = i + 1
	}
	return fill(parts, margin, columns-margin, "")
}

// wrapCommand breaks a command line before its flags, so that a shell reads the lines as one
// command.
func wrapCommand(command string, margin int) string {
	var parts []string
	for _, w := range shellWords(command) {
		if n := len(parts); n > 0 && !strings.HasPrefix(w, "-") {
			parts[n-1] += " " + w
		} else {
			parts = append(parts, w)
		}
	}
	return fill(parts, margin, columns-margin-2, ` \`)
}

// fill puts parts into lines of a width, with an end at all lines but the last.
func fill(parts []string, margin, width int, end string) string {
	var b strings.Builder
	used := 0
	for i, w := range parts {
		switch {
		case i == 0:
		case used+1+len(w) > width:
			b.WriteString(end + "\n" + strings.Repeat(" ", margin))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}

// shellWords splits a command line at the spaces that no single quotes enclose.
func shellWords(command string) (words []string) {
	quoted, begin := false, 0
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && !quoted:
			i++
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			words = append(words, command[begin:i])
			begin = i + 1
		}
	}
	return append(words, command[begin:])
}
