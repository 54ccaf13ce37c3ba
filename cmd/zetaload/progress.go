package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// progress shows the progress of a run: on a terminal in one line, else, if wanted, in a line
// each time.
type progress struct {
	w        io.Writer
	on       bool
	terminal bool

	mu   sync.Mutex // guards what follows, and w
	open bool       // a line stands that is not ended
}

func newProgress(env environment, wanted bool) *progress {
	return &progress{w: env.err, on: wanted || env.terminal, terminal: env.terminal}
}

// clearLine goes to the start of a terminal's line and empties it.
const clearLine = "\r\x1b[2K"

func (p *progress) line(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		fmt.Fprintln(p.w, s)
		return
	}
	fmt.Fprint(p.w, clearLine, s)
	p.open = true
}

// message writes a line that stays.
func (p *progress) message(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
	fmt.Fprintf(p.w, "zetaload: %s\n", s)
}

// end leaves the cursor on a new line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
}

func (p *progress) endLocked() {
	if p.open {
		fmt.Fprintln(p.w)
	}
	p.open = false
}

// snapshot is for the progress of a run; nil when nothing is to be shown.
func (p *progress) snapshot() func(workload.Snapshot) {
	if !p.on {
		return nil
	}
	return func(s workload.Snapshot) { p.line(s.String()) }
}
