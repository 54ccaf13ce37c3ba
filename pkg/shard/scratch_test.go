package shard

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/test/golden"
	"github.com/stretchr/testify/require"
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
		env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: id}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1, Number: uint64(id)}, Participants: with, Snapshot: snapshot,
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
	for n := range 2 * step.MaxRoom {
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
			empty(t, room(m, "last", "pool", "returned"), "decisions")
			empty(t, room(m, "readers", "pool", "returned"), "snapshots")
			empty(t, room(m, "outcomes", "rows"), "outcomes")
			empty(t, room(m, "exec", "effects"), "effects")
			loaded := room(m, "readers", "pendingEntry")
			empty(t, loaded, "readers")
			if step.name == "few" {
				require.NotZero(t, loaded.Cap(), "its room is used from the start")
			}
			for _, pool := range []reflect.Value{room(m, "last", "pool", "spare"), room(m, "readers", "pool", "spare")} {
				for i := pool.Len(); i < pool.Cap(); i++ {
					require.True(t, pool.Slice(0, pool.Cap()).Index(i).IsZero(), "what is in use is not spare")
				}
			}
		})
	}
}

// room is a slice somewhere in the machine's parts.
func room(m *Machine, path ...string) reflect.Value {
	v := reflect.ValueOf(m).Elem()
	for _, name := range path {
		v = reflect.Indirect(v).FieldByName(name)
	}
	return v
}

// empty looks at room that is not used, and behind it.
func empty(t *testing.T, room reflect.Value, name string) {
	require.Zero(t, room.Len(), name)
	require.LessOrEqual(t, room.Cap(), step.MaxRoom, name)
	for i := range room.Cap() {
		require.True(t, room.Slice(0, room.Cap()).Index(i).IsZero(), "%s, place %d", name, i)
	}
}
