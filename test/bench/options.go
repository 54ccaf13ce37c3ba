package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// options are those of every comparison.
type options struct {
	rounds        int
	warm, measure time.Duration
	// dir is where stores live; empty for a temporary directory.
	dir string
	// profile is where nodes leave profiles; empty for none.
	profile string
	callers int
	keys    int
	// only selects variants by a part of their names; selects: it has selected one.
	only    string
	selects bool
}

// selected are the variants that --only lets pass.
func (o *options) selected(vs ...rounds.Variant) []rounds.Variant {
	return slices.DeleteFunc(vs, func(v rounds.Variant) bool { return !o.selectsName(v.Name) })
}

// selectsName reports whether --only lets a name pass.
func (o *options) selectsName(name string) bool {
	if !strings.Contains(name, o.only) {
		return false
	}
	o.selects = true
	return true
}

// checkOnly refuses an --only that has selected nothing.
func (o *options) checkOnly() error {
	if o.only == "" || o.selects {
		return nil
	}
	return fmt.Errorf("--only %q selects nothing: it is no part of a variant's name, or this comparison has none to "+
		"select", o.only)
}

// workDir makes a directory for stores and says how to remove it.
func (o *options) workDir() (string, func(), error) {
	dir, err := os.MkdirTemp(o.dir, "linchpin-bench-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
