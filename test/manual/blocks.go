package manual

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Block is a block of a page that is run.
type Block struct {
	// Line is that of the page on which it begins.
	Line     int
	Commands []Command
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
)

// marker is the line before a block that is run.
const marker = "<!-- run -->"

// Blocks gives the blocks of a page that are run, in order.
func Blocks(page string) (blocks []Block, err error) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != marker {
			continue
		}
		i++
		kind := fence.FindStringSubmatch(lines[min(i, len(lines)-1)])
		if kind == nil || kind[1] != "console" && kind[1] != "sh" {
			return nil, fmt.Errorf("line %d: after %s there is no block of the kind console or sh", i, marker)
		}
		first := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", first)
		}
		read := script
		if kind[1] == "console" {
			read = transcript
		}
		commands, err := read(lines[first:i], first+1)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, Block{first, commands})
	}
	return blocks, nil
}

// transcript reads commands with their outputs.
func transcript(lines []string, at int) (cs []Command, err error) {
	for i, line := range lines {
		text, command := strings.CutPrefix(line, "$ ")
		more, goesOn := strings.CutPrefix(line, "> ")
		switch {
		case command:
			cs = append(cs, Command{Line: at + i, Text: text, Compared: true})
		case len(cs) == 0:
			return nil, fmt.Errorf("line %d: a console block begins with a command", at+i)
		case goesOn && cs[len(cs)-1].Want == "":
			cs[len(cs)-1].Text += "\n" + more
		default:
			cs[len(cs)-1].Want += line + "\n"
		}
	}
	return cs, nil
}

// script reads commands of an sh block, which may have several lines each.
func script(lines []string, at int) (cs []Command, err error) {
	text, begun := "", 0
	for i, line := range lines {
		if text == "" {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			begun = at + i
		}
		text += line
		if whole(text) {
			cs = append(cs, Command{Line: begun, Text: text})
			text = ""
		} else {
			text += "\n"
		}
	}
	if text != "" {
		return nil, fmt.Errorf("line %d: bash does not understand %q", begun, text)
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
