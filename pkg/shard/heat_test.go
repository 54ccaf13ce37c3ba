package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestCommutingUsesAreNoConflicts: a key becomes hot by successive uses that do not commute, even if none
// waits, if they arrive faster than decisions.
func TestCommutingUsesAreNoConflicts(t *testing.T) {
	key := []byte("k")
	add, size := callOn("set", "add", "k", text("x")), callOn("set", "len", "k")
	bump := msg.Op{Kind: msg.OpAdd, Key: key, Delta: 1}
	put := msg.Op{Kind: msg.OpPut, Key: key, Value: []byte("v")}
	other := callOn("set", "add-count", "other", text("x"))
	for _, c := range []struct {
		name  string
		uses  []msg.Op
		locks shard.Locks
		hot   bool
	}{
		{name: "puts", uses: []msg.Op{put}, hot: true},
		{name: "increments of a counter", uses: []msg.Op{bump}},
		{name: "increments of a counter, and read-write locks", uses: []msg.Op{bump}, locks: shard.RWLocks, hot: true},
		{name: "sizes", uses: []msg.Op{size}},
		{name: "an add that adds nothing, and sizes", uses: []msg.Op{add, size}},
		{name: "adds and removes of a member, and sizes", uses: []msg.Op{callOn("set", "remove", "k", text("x")), size, add},
			hot: true},
		{name: "increments, and sums that are returned", uses: []msg.Op{bump, {Kind: msg.OpAddGet, Key: key, Delta: 1}},
			hot: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlanning(c.locks)
			p.m, p.room = shard.New(shard.Config{Lease: -1, Sharing: shard.Sharing{Locks: c.locks},
				Heat: shard.HeatConfig{Every: time.Millisecond, Hot: 9, Nodes: 1}}, shard.Recovered{}, 0, 0)
			if c.uses[0].Type == add.Type {
				p.answer(t, add)
			}
			p.whole = false
			p.send(other)
			p.settle(1)
			p.now += int64(50 * time.Millisecond) // the duration of a decision
			p.settle(2 * decidedAfter)
			reported := map[string]bool{}
			for i := range 40 {
				p.send(c.uses[i%len(c.uses)])
				for range 2 * decidedAfter { // none waits
					p.settle(1)
					for _, env := range p.room.Urgent {
						if !msg.Is[msg.LoadReport](env) {
							continue
						}
						for _, k := range msg.As[msg.LoadReport](env).Keys {
							reported[string(k.Key)] = true
						}
					}
				}
			}
			require.Zero(t, p.m.Status(0).Locks.Waits)
			require.False(t, reported["other"])
			require.Equal(t, c.hot, reported["k"])
		})
	}
}
