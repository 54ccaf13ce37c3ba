package shard

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestReusedBuffersReferToNothing: the buffers of a step are used for the next one. They must not refer to the
// transactions of this one, nor stay large after a large step.
func TestReusedBuffersReferToNothing(t *testing.T) {
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
	request := func(with []kv.ShardID, snapshot bool, ops ...msg.Op) *msg.Envelope {
		id++
		env := msg.ToShard(0)
		env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: id}, Attempt: 1},
			CommitID: kv.CommitID{Gateway: 1, Number: uint64(id)}, Participants: with, Snapshot: snapshot,
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
	for n := range 2 * step.MaxScratch {
		many = append(many, request(nil, false, ops(fmt.Sprintf("put k%d v", n))...))
		sets = append(sets, request(nil, false, ops(fmt.Sprintf("set.add s%d v", n))...))
		wide = append(wide, ops(fmt.Sprintf("put k%d v", n))...)
	}
	few := []*msg.Envelope{request([]kv.ShardID{1}, false, ops("put k0 w")...), request(nil, false, ops("put k1 w")...),
		request(nil, true, ops("get k2; get k")...)}
	for _, step := range []struct {
		name string
		envs []*msg.Envelope
	}{{"many", many}, {"many, encoded at the end of the step", sets}, {"a large one",
		[]*msg.Envelope{request(nil, false, wide...)}},
		{"few", few}} {
		t.Run(step.name, func(t *testing.T) {
			play(step.envs)
			requireEmpty(t, buffer(m, "last", "pendingPool", "returned"), "decisions")
			requireEmpty(t, buffer(m, "readers", "pool", "returned"), "snapshots")
			requireEmpty(t, buffer(m, "outcomes", "rows"), "outcomes")
			requireEmpty(t, buffer(m, "exec", "effects"), "effects")
			loaded := buffer(m, "readers", "pendingEntry")
			requireEmpty(t, loaded, "readers")
			if step.name == "few" {
				require.NotZero(t, loaded.Cap(), "its buffer is used from the start")
			}
			for _, pool := range []reflect.Value{buffer(m, "last", "pendingPool", "spare"),
				buffer(m, "readers", "pool", "spare")} {
				for i := pool.Len(); i < pool.Cap(); i++ {
					require.True(t, pool.Slice(0, pool.Cap()).Index(i).IsZero(), "an element in use is not spare")
				}
			}
		})
	}
}

// buffer returns a slice in the parts of the machine.
func buffer(m *Machine, path ...string) reflect.Value {
	v := reflect.ValueOf(m).Elem()
	for _, name := range path {
		v = reflect.Indirect(v).FieldByName(name)
	}
	return v
}

// requireEmpty verifies that an unused buffer is bounded, and zero up to its capacity.
func requireEmpty(t *testing.T, buffer reflect.Value, name string) {
	require.Zero(t, buffer.Len(), name)
	require.LessOrEqual(t, buffer.Cap(), step.MaxScratch, name)
	for i := range buffer.Cap() {
		require.True(t, buffer.Slice(0, buffer.Cap()).Index(i).IsZero(), "%s, element %d", name, i)
	}
}
