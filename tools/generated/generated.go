// Package generated is what programs share whose files are committed: they write them,
// or, with -check, find out whether one is not what would be written.
package generated

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

// Main is the main function of such a program. run writes, or checks.
func Main(name string, run func(check bool) error) {
	check := flag.Bool("check", false, "write nothing; fail if something is not what would be written")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// File writes a file. With check it only finds out whether it has this content, and an
// error says what to do if it has not.
func File(path string, content []byte, check bool) error {
	if !check {
		return os.WriteFile(path, content, 0o644)
	}
	if old, err := os.ReadFile(path); err != nil {
		return fmt.Errorf("%w; run: make generate", err)
	} else if !bytes.Equal(old, content) {
		return fmt.Errorf("%s is stale; run: make generate", path)
	}
	return nil
}
