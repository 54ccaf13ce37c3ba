// Package golden runs scripts that specify the machines' behaviour: commands, their output, and comments that explain
// both.
//
// A script is a text file in a package's testdata. It consists of steps:
//
//	# What happens here, and what matters.
//	do
//	A acquire a:write
//	B acquire a:read
//	----
//	A granted a:write#1
//	B waits for a behind A
//	...
//
// The word before the commands is "do", or "new" for a new machine; the part below the line is the output. `go test
// ./pkg/... -rewrite` writes the output anew; its diff is then reviewed like changed code.
//
// Transactions have one-letter names, and A is older than B; A/2 is A's second attempt. This package formats
// operations, messages and log entries, so that all scripts use the same words. A change of a format here needs a
// rewrite of all scripts (pkg/txn, pkg/shard, pkg/hotshard and others).
package golden

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Script is the interface of a package's machine to the scripts.
type Script struct {
	// New makes a new machine: before the first step of every file, and when a script says "new" with options.
	New func(options map[string]string) error
	// Do executes one line and returns its output.
	Do func(line string) (string, error)
	// After is called at the end of every step, and returns the machine's state.
	After func() (string, error)
}

// Set sets the options that define has defined. One without a value is true.
func Set(options map[string]string, define func(*flag.FlagSet)) error {
	known := flag.NewFlagSet("", flag.ContinueOnError)
	define(known)
	for k, v := range options {
		if known.Lookup(k) == nil {
			return fmt.Errorf("no option %q", k)
		}
		if err := known.Set(k, cmp.Or(v, "true")); err != nil {
			return fmt.Errorf("option %s=%s: %w", k, v, err)
		}
	}
	return nil
}

// Run runs every script (*.txt) of a directory, each with its own Script.
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
	add := func(text string) {
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
		add(text)
	}
	text, err := s.After()
	if err != nil {
		return "", err
	}
	add(text)
	if out.Len() == 0 {
		return "nothing\n", nil
	}
	return out.String(), nil
}
