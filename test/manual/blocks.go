package manual

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Block is a block of a page that is run: commands, or Go.
type Block struct {
	// Line is that of the page on which it begins.
	Line     int
	Commands []Command
	// Go is a program, or a fragment of one.
	Go string
}

// Command is one that a reader types, with what the page says that it prints.
type Command struct {
	Line int
	Text string
	// Compared: the page shows the output, which is Want.
	Compared bool
	Want     string
}

// Fails: the page shows an error.
func (c *Command) Fails() bool { return errorLine.MatchString(c.Want) }

var (
	errorLine = regexp.MustCompile(`(?m)^(linchpin|zetaload): `)
	fence     = regexp.MustCompile("^```([a-z]*)$")
	// bareWait waits for whatever the reader has started: for ever, if that is a server.
	bareWait = regexp.MustCompile(`(^|[;&|\n]\s*)wait\s*($|[;&|\n])`)
	// allJobs are the reader's as well.
	allJobs = regexp.MustCompile(`\bjobs\b`)
)

const (
	// marker is the line before a block that is run.
	marker = "<!-- run -->"
	// shown is before each line that a command prints.
	shown = "#>"
)

// Blocks gives the blocks of a page that are run, in order.
func Blocks(page string) (blocks []Block, err error) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		runs := lines[i] == marker
		if runs {
			i++
		}
		kind := fence.FindStringSubmatch(lines[min(i, len(lines)-1)])
		switch {
		case runs && (kind == nil || kind[1] != "sh"):
			return nil, fmt.Errorf("line %d: after %s there is no block of the kind sh", i, marker)
		case kind == nil:
			continue
		}
		first := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", first)
		}
		switch {
		case runs:
			commands, err := script(lines[first:i], first+1)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, Block{Line: first, Commands: commands})
		case kind[1] == "go":
			blocks = append(blocks, Block{Line: first, Go: strings.Join(lines[first:i], "\n") + "\n"})
		}
	}
	return blocks, nil
}

// script reads commands, which may have several lines each, and what they print. A block
// that shows what one of its commands prints shows what all of them print.
func script(lines []string, at int) (cs []Command, err error) {
	text, begun, compared := "", 0, false
	for i, line := range lines {
		if text == "" {
			want, isOutput := strings.CutPrefix(line, shown)
			switch {
			case isOutput && len(cs) == 0:
				return nil, fmt.Errorf("line %d: a block begins with a command", at+i)
			case isOutput:
				cs[len(cs)-1].Want += strings.TrimPrefix(want, " ") + "\n"
				compared = true
				continue
			case line == "" || strings.HasPrefix(line, "#"):
				continue
			}
			begun = at + i
		}
		text += line
		if !whole(text) {
			text += "\n"
			continue
		}
		if bareWait.MatchString(text) || allJobs.MatchString(text) {
			return nil, fmt.Errorf("line %d: %q is about everything that the reader has started, and not only the page", begun,
				text)
		}
		cs = append(cs, Command{Line: begun, Text: text})
		text = ""
	}
	if text != "" {
		return nil, fmt.Errorf("line %d: bash does not understand %q", begun, text)
	}
	for i := range cs {
		cs[i].Compared = compared
	}
	return cs, nil
}

// whole reports whether bash needs no more lines to run a command. It complains of a
// here-document without its end, and yet succeeds.
func whole(text string) bool {
	if strings.HasSuffix(text, `\`) {
		return false
	}
	said, err := exec.Command("bash", "-n", "-c", text).CombinedOutput()
	return err == nil && len(said) == 0
}
