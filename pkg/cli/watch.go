package cli

import (
	"bytes"
	"context"
	"io"
	"time"
)

// watchEvery is the time between two repetitions.
const watchEvery = time.Second

// watch repeats show every second until ctx ends, or, unless length is 0, until length has passed since
// the first time. On a terminal the output replaces the previous one. --timeout is for each time.
func (s *session) watch(ctx context.Context, length time.Duration, size func() (lines, columns int),
	show func(context.Context, *session) error) error {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	out := s.out
	var draw func([]byte) error
	switch {
	case s.json:
		draw = func(b []byte) error { _, err := out.Write(b); return err }
	case size != nil:
		draw = (&screen{out: out, size: size}).draw
	default:
		first := true
		draw = func(b []byte) error {
			if !first {
				b = append([]byte("\n"), b...)
			}
			first = false
			_, err := out.Write(b)
			return err
		}
	}
	var end <-chan time.Time
	for {
		bounded, cancel := ctx, context.CancelFunc(func() {})
		if s.flags.timeout > 0 {
			bounded, cancel = context.WithTimeout(ctx, s.flags.timeout)
		}
		var b bytes.Buffer
		s.out = &b
		err := show(bounded, s)
		s.out = out
		cancel()
		if ctx.Err() != nil {
			return nil // interrupted
		}
		if err != nil {
			return err
		}
		if err := draw(b.Bytes()); err != nil {
			return err
		}
		if end == nil && length > 0 {
			end = time.After(length)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case <-t.C:
		}
	}
}

// Control sequences of ECMA-48: clear the screen, move to its upper left corner, clear the rest of a
// line, clear all below, cut lines at the margin, and wrap them.
const (
	clearScreen = "\x1b[2J"
	goHome      = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	cutLines    = "\x1b[?7l"
	wrapLines   = "\x1b[?7h"
)

// screen draws on a terminal. It overwrites the previous output instead of clearing it, so that
// nothing flickers.
type screen struct {
	out   io.Writer
	size  func() (lines, columns int)
	begun bool
}

// draw shows as many lines as fit: a line that has scrolled cannot be replaced.
func (s *screen) draw(text []byte) error {
	var b bytes.Buffer
	if !s.begun {
		b.WriteString(clearScreen)
		s.begun = true
	}
	b.WriteString(goHome + cutLines)
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1] // the text ends with a line
	if h, _ := s.size(); h > 1 {
		lines = lines[:min(len(lines), h-1)]
	}
	for _, line := range lines {
		b.Write(bytes.TrimSuffix(line, []byte("\n")))
		b.WriteString(clearLine + "\n")
	}
	b.WriteString(clearBelow + wrapLines)
	_, err := s.out.Write(b.Bytes())
	return err
}
