package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestNothingIsLeftOfAStepInItsRoom: what a step works in is used for the next one,
// and must not hold on to the transactions of this one, nor, when they were
// many, to room for so many.
func TestNothingIsLeftOfAStepInItsRoom(t *testing.T) {
	m, _ := New(Config{Lease: -1}, Recovered{}, 0, 0)
	now := int64(0)
	play := func(envs []*msg.Envelope) {
		for in := (Input{Messages: envs}); len(in.Messages)+len(in.Reads) > 0; {
			now++
			in.Now, in.Wall = now, now
			out := m.Step(in)
			in = Input{}
			for _, r := range out.Reads {
				in.Reads = append(in.Reads, entry.ReadResult{ID: r.ID, Kind: r.Kind})
			}
		}
	}
	id := int64(0)
	park := func(with []kv.ShardID, snapshot bool, ops ...msg.Op) *msg.Envelope {
		id++
		env := msg.ToShard(0)
		env.Park = &msg.Park{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: id}, Attempt: 1}, Gateway: 1, Participants: with, Snapshot: snapshot,
			Piece: msg.Piece{Incarnation: 1, Ops: ops}}
		return env
	}
	ops := func(text string) []msg.Op {
		out, err := golden.Ops(text)
		require.NoError(t, err)
		return out
	}
	var many, sets []*msg.Envelope
	var wide []msg.Op
	for n := range 2 * maxRoom {
		many = append(many, park(nil, false, ops(fmt.Sprintf("put k%d v", n))...))
		sets = append(sets, park(nil, false, ops(fmt.Sprintf("set.add s%d v", n))...))
		wide = append(wide, ops(fmt.Sprintf("put k%d v", n))...)
	}
	few := []*msg.Envelope{park([]kv.ShardID{1}, false, ops("put k0 w")...), park(nil, false, ops("put k1 w")...), park(nil, true, ops("get k2; get k")...)}
	for _, step := range []struct {
		name string
		envs []*msg.Envelope
	}{{"many", many}, {"many that are encoded late", sets}, {"a large one", []*msg.Envelope{park(nil, false, wide...)}}, {"few", few}} {
		t.Run(step.name, func(t *testing.T) {
			play(step.envs)
			empty(t, "over", m.over)
			empty(t, "outcomes", m.outcomes)
			empty(t, "late", m.late)
			empty(t, "effects", m.effects)
			empty(t, "loadedReads", m.loadedReads)
			if step.name == "few" {
				require.NotZero(t, cap(m.loadedReads), "its room is used from the start")
			}
			for _, x := range m.spare[len(m.spare):cap(m.spare)] {
				require.Nil(t, x, "a pair that is in use is not spare")
			}
		})
	}
}

// empty looks at room that is not used, and behind it.
func empty[T any](t *testing.T, name string, room []T) {
	require.Empty(t, room, name)
	require.LessOrEqual(t, cap(room), maxRoom, name)
	var zero T
	for i, x := range room[:cap(room)] {
		require.Equal(t, zero, x, "%s, place %d", name, i)
	}
}
