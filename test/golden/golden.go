// Package golden runs the scripts in which the machines' behaviour is written
// down: a few verbs, what came of them, and comments that tell the story.
//
// A script is a text file in a package's testdata. It consists of steps:
//
//	# What happens here, and what to notice.
//	do
//	A acquire a:write
//	B acquire a:read
//	----
//	A granted a:write#1
//	B waits for a behind A
//	...
//
// The word before the verbs says what to do with them (most often "do"), the
// part below the line is what the machine answered. `go test ./pkg/... -rewrite`
// writes that part anew; the difference is then read like changed code.
//
// Transactions have one-letter names, and A is older than B; A/2 is A's second
// attempt. All scripts speak of operations, messages and log entries in the
// same words, which are this package.
package golden

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Script is what a package's machine has to offer to be told about.
type Script struct {
	// New makes a new machine, as the first step of every file and whenever
	// a script says "new" with options.
	New func(options map[string]string) error
	// Do executes one line.
	Do func(line string) (string, error)
	// After is called at the end of every step and prints the machine.
	After func() (string, error)
}

// Run runs every script (*.txt) of a directory, each with a Script of its own.
func Run(t *testing.T, dir string, make func() *Script) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s := make()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := s.step(d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			})
		})
	}
}

func (s *Script) step(d *datadriven.TestData) (string, error) {
	var out strings.Builder
	say := func(text string) {
		text = strings.TrimRight(text, "\n")
		if text != "" {
			out.WriteString(text + "\n")
		}
	}
	switch d.Cmd {
	case "new":
		options := map[string]string{}
		for _, a := range d.CmdArgs {
			options[a.Key] = strings.Join(a.Vals, ",")
		}
		if err := s.New(options); err != nil {
			return "", err
		}
	case "do":
	default:
		return "", fmt.Errorf("a step begins with new or do, not %q", d.Cmd)
	}
	for _, line := range strings.Split(d.Input, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, err := s.Do(line)
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		say(text)
	}
	text, err := s.After()
	if err != nil {
		return "", err
	}
	say(text)
	if out.Len() == 0 {
		return "nothing\n", nil
	}
	return out.String(), nil
}
