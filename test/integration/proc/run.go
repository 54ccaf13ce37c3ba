package proc

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// Result is the result of a program that has ended.
type Result struct {
	Code     int
	Out, Err string
	// Duration is the time from start to end.
	Duration time.Duration
}

// programTimeout bounds a program that runs until it ends. It is long because some run for half a minute on an idle
// machine, as the demo does, and beside other tests for twice that.
const programTimeout = 2 * time.Minute

// Run runs a program until it ends, for at most programTimeout.
func Run(t testing.TB, bin string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programTimeout)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := command(ctx, t.TempDir(), bin, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	begin := time.Now()
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s %v does not exit: %s%s", bin, args, tail(out.String(), 2000), tail(errs.String(), 2000))
	}
	return Result{exitCode(err), out.String(), errs.String(), time.Since(begin)}
}

// Linchpin runs `linchpin` until it ends.
func Linchpin(t testing.TB, args ...string) Result {
	t.Helper()
	return Run(t, Build(t).Linchpin, args...)
}

// Zetaload runs `zetaload` until it ends.
func Zetaload(t testing.TB, args ...string) Result {
	t.Helper()
	return Run(t, Build(t).Zetaload, args...)
}
