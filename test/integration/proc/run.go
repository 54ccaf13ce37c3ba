package proc

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// Result is what a program that has ended left behind.
type Result struct {
	Code     int
	Out, Err string
	// Took is from start to end.
	Took time.Duration
}

// Run runs a program to its end, which must come within Patience.
func Run(t testing.TB, bin string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := command(ctx, t.TempDir(), bin, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	begin := time.Now()
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s %v does not end: %s%s", bin, args, tail(out.String(), 2000), tail(errs.String(), 2000))
	}
	return Result{exitCode(err), out.String(), errs.String(), time.Since(begin)}
}

// Linchpin runs `linchpin` with arguments to its end.
func Linchpin(t testing.TB, args ...string) Result {
	t.Helper()
	return Run(t, Build(t).Linchpin, args...)
}

// Zetaload runs `zetaload` with arguments to its end.
func Zetaload(t testing.TB, args ...string) Result {
	t.Helper()
	return Run(t, Build(t).Zetaload, args...)
}
