package proc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Output gathers what a process writes. Its methods may be called by any
// goroutine.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
	// more is closed, and replaced, when something is added.
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

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Take gives all that was written so far and forgets it, for who keeps it
// elsewhere. It must not have anything alarming in it.
func (o *Output) Take(t testing.TB, who string) string {
	t.Helper()
	o.mu.Lock()
	text := o.text.String()
	o.text = bytes.Buffer{}
	o.mu.Unlock()
	alarm(t, who, text)
	return text
}

// state gives what is there and a channel that is closed when there is more.
func (o *Output) state() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return o.text.String(), o.more
}

// Await returns when the output has part in it after its first skip bytes. It
// fails when ctx ends or ended is closed first.
func (o *Output) Await(ctx context.Context, skip int, part string, ended <-chan struct{}) error {
	for {
		text, more := o.state()
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

// alarming is what no process may ever write.
var alarming = []string{"panic: ", "fatal error: ", "DATA RACE", "a call has panicked", "kind Internal"}

func alarm(t testing.TB, who, text string) {
	t.Helper()
	for _, bad := range alarming {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%s wrote %q: %s", who, bad, cut(text[i:], 4000))
		}
	}
}

// check fails a test whose process wrote something alarming, and shows the
// output's end of one that has failed.
func (o *Output) check(t testing.TB, who string) {
	t.Helper()
	text := o.String()
	alarm(t, who, text)
	if t.Failed() && text != "" {
		t.Logf("---- %s wrote (at the end):\n%s", who, tail(text, 6000))
	}
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
