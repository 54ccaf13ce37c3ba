// Package logtest tests the contract of replica logs: a suite that raftlog.Store has to pass on every engine.
package logtest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// TB is the part of testing.TB that the suite needs.
type TB interface {
	require.TestingT
	Helper()
}

// Disk is what a store is on. It is empty at first.
type Disk interface {
	// Rows is the open engine.
	Rows() engine.Engine
	// Sync makes everything up to a position durable.
	Sync(p engine.Position) error
	// Crash stops the process, or the machine, and opens the engine again. Of what was not durable, any part may be
	// lost.
	Crash(r *rand.Rand)
	// Reopen closes the engine and opens it again.
	Reopen()
}

// Check is one test of the suite. broken are planted faults.
type Check struct {
	Name string
	Test func(t TB, open func() Disk, broken mutant.Set)
}

// Checks are the tests of the suite.
func Checks() []Check {
	return []Check{
		{"random records equal the model", randomRecords},
		{"a crash after any write leaves a prefix", crashAfterEachWrite},
		{"a log is truncated within its bounds", truncationBounds},
		{"term and vote survive a truncation", votesSurvive},
		{"the commit index is recorded with its entries", commitIsRecorded},
		{"an empty write stores nothing", emptyWrite},
		{"a number is not used again", numbers},
		{"a log continues or begins at a snapshot", snapshots},
		{"a damaged row is never returned", damagedRows},
		{"misplaced rows are never returned", misplacedRows},
		{"wrong records end the store", wrongRecords},
	}
}

// Run runs the suite. open makes an independent, empty disk.
func Run(t *testing.T, open func(t *testing.T) Disk) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, func() Disk { return open(t) }, mutant.Set{}) })
	}
}

// node is an open store with its disk.
type node struct {
	disk  Disk
	opts  raftlog.Options
	store *raftlog.Store
}

func newNode(d Disk, broken mutant.Set, tail int) *node {
	n := &node{disk: d, opts: raftlog.Options{TailBytes: tail, Mutants: broken}}
	n.start()
	return n
}

func (n *node) start() { n.store = raftlog.New(n.disk.Rows(), n.opts) }

// write writes records durably.
func (n *node) write(t TB, records ...raftlog.Record) {
	t.Helper()
	for i := range records {
		_, err := n.store.Open(records[i].Shard)
		require.NoError(t, err)
	}
	p, err := n.store.Write(records)
	require.NoError(t, err)
	require.NoError(t, n.disk.Sync(p))
	require.NoError(t, n.store.WaitDurable(p))
}

// reopen closes the store and opens it again.
func (n *node) reopen() {
	n.disk.Reopen()
	n.start()
}
