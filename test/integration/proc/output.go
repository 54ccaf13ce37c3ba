package proc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Output collects the output of a process. Its methods are safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
	// more is closed and replaced when output is added.
	more chan struct{}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return len(p), nil
}

// String returns the whole output.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Take returns the output so far and removes it, for a caller that stores it. It fails the test if the
// output has a forbidden text.
func (o *Output) Take(t testing.TB, name string) string {
	t.Helper()
	o.mu.Lock()
	text := o.text.String()
	o.text = bytes.Buffer{}
	o.mu.Unlock()
	checkForbidden(t, name, text)
	return text
}

// snapshot returns the output and a channel that is closed when there is more.
func (o *Output) snapshot() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return o.text.String(), o.more
}

// Await returns when the output contains part after its first skip bytes. It fails if ctx or ended is done
// before.
func (o *Output) Await(ctx context.Context, skip int, part string, ended <-chan struct{}) error {
	for {
		text, more := o.snapshot()
		if strings.Contains(text[min(skip, len(text)):], part) {
			return nil
		}
		select {
		case <-more:
		case <-ended:
			if strings.Contains(o.String()[min(skip, len(o.String())):], part) {
				return nil
			}
			return fmt.Errorf("the process ended before it wrote %q", part)
		case <-ctx.Done():
			return fmt.Errorf("the process has not written %q: %w", part, ctx.Err())
		}
	}
}

// forbiddenOutput are texts that no process may write.
var forbiddenOutput = []string{"panic: ", "fatal error: ", "DATA RACE", "a call has panicked", "kind Internal"}

func checkForbidden(t testing.TB, name, text string) {
	t.Helper()
	for _, forbidden := range forbiddenOutput {
		if i := strings.Index(text, forbidden); i >= 0 {
			t.Errorf("%s wrote %q: %s", name, forbidden, cut(text[i:], 4000))
		}
	}
}

// checkAndLog fails the test if the output has a forbidden text. If the test has failed, it logs the end of
// the output.
func (o *Output) checkAndLog(t testing.TB, name string) {
	t.Helper()
	text := o.String()
	checkForbidden(t, name, text)
	if t.Failed() && text != "" {
		t.Logf("---- the end of the output of %s:\n%s", name, tail(text, 6000))
	}
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
