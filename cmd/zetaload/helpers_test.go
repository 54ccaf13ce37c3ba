package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// output is a writer that many may use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// program is zetaload with a store of the test's in place of a cluster.
type program struct {
	t        *testing.T
	store    workload.Store
	terminal bool
	// openErr is why the cluster cannot be reached; to is what was to be
	// connected to.
	openErr  error
	homesErr error
	to       target
	closed   int
	out, err output
}

func newProgram(t *testing.T, s workload.Store) *program {
	return &program{t: t, store: s}
}

// closing counts when a program's store is closed.
type closing struct {
	workload.Store
	p *program
}

// Homes returns a single node, or an error.
func (c closing) Homes(context.Context) (workload.Homes, error) {
	if c.p.homesErr != nil {
		return nil, c.p.homesErr
	}
	return oneNode{c}, nil
}

type oneNode struct{ store workload.Store }

func (o oneNode) Client(int) (workload.Store, kv.NodeID) { return o.store, 1 }
func (o oneNode) Key([]byte) kv.NodeID                   { return 1 }

func (c closing) Close() error {
	c.p.closed++
	return nil
}

// run runs a command line and gives its exit code; out and err are its own.
func (p *program) run(args ...string) int { return p.runUntil(p.t.Context(), args...) }

func (p *program) runUntil(ctx context.Context, args ...string) int {
	p.out.b.Reset()
	p.err.b.Reset()
	env := environment{out: &p.out, err: &p.err, terminal: p.terminal,
		open: func(_ context.Context, to target) (store, error) {
			p.to = to
			if p.openErr != nil {
				return nil, p.openErr
			}
			return closing{p.store, p}, nil
		}}
	return execute(ctx, env, args)
}

// ok runs a command line that must succeed.
func (p *program) ok(args ...string) string {
	p.t.Helper()
	require.Equal(p.t, exitOK, p.run(args...), "%s%s", p.out.String(), p.err.String())
	return p.out.String()
}

func file(t *testing.T, name string) string { return filepath.Join(t.TempDir(), name) }

// refusing is a store in which every transaction fails with a kind.
func refusing(k kv.Kind) *loadtest.Store {
	return &loadtest.Store{Before: func(context.Context, uint64, []workload.Op) (workload.Reply, error) {
		return workload.Reply{Attempts: 1}, kv.Errorf(k, "refused")
	}}
}

// forgetful acknowledges every 20th transaction that writes and does nothing.
type forgetful struct {
	loadtest.Store
	count atomic.Uint64
}

func (f *forgetful) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	if workload.ReadOnlyOps(ops) || f.count.Add(1)%20 != 0 {
		return f.Store.Execute(ctx, ops)
	}
	reads := make([]workload.Op, len(ops))
	for i, o := range ops {
		reads[i] = workload.Op{Kind: workload.Read, Key: o.Key}
	}
	reply, err := f.Store.Execute(ctx, reads)
	for i, o := range ops {
		if !o.IsRead() {
			reply.Results[i] = workload.Seen{}
		}
	}
	return reply, err
}

// blind leaves out of every scan the third pair that it should have seen.
type blind struct{ loadtest.Store }

func (b *blind) Scan(ctx context.Context, r workload.Range, each func(workload.Pair) bool) error {
	n := 0
	return b.Store.Scan(ctx, r, func(p workload.Pair) bool {
		n++
		return n == 3 || each(p)
	})
}

// unwrapped is a report with the command that repeats the run in one line.
func unwrapped(report string) string {
	return regexp.MustCompile(` \\\n +`).ReplaceAllString(report, " ")
}
