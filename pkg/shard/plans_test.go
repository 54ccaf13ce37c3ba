package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// planning is a machine whose lock plans are counted.
type planning struct {
	driven
	next []msg.Op
}

func newPlanning(locks shard.Locks) *planning {
	p := &planning{driven: driven{id: 1, whole: true}}
	p.m, p.room = shard.New(shard.Config{Lease: -1, Sharing: shard.Sharing{Locks: locks}}, shard.Recovered{}, 0, 0)
	p.piece = func() []msg.Op { return p.next }
	return p
}

// send executes a step with a transaction.
func (p *planning) send(ops ...msg.Op) {
	for i := range ops {
		ops[i].Seq = uint32(i)
	}
	p.next, p.inStep = ops, 1
	p.driven.step(nil)
	p.inStep = 0
}

// settle executes steps without new transactions.
func (p *planning) settle(steps int) {
	for range steps {
		p.driven.step(nil)
	}
}

// answer returns the response to a one-shot whose keys are in memory.
func (p *planning) answer(t require.TestingT, ops ...msg.Op) *msg.CommitResponse {
	p.send(ops...)
	for range 2 { // to read keys
		for _, env := range p.room.Send {
			if msg.Is[msg.CommitResponse](env) {
				return msg.As[msg.CommitResponse](env)
			}
		}
		p.settle(1)
	}
	require.FailNow(t, "no response")
	return nil
}

func (p *planning) planned() int { return int(p.m.Status(0).Stats.Planned) }

func callOn(typ, method, key string, args ...msg.Datum) msg.Op {
	return adt.ByName(typ).MethodByName(method).Op([]byte(key), args...)
}

func text(s string) msg.Datum { return adt.Bytes([]byte(s)) }

// TestEachCallIsPlannedOnce: without concurrent changes there is one plan per call, whatever the locks, the
// number of calls of a piece, and its keys.
func TestEachCallIsPlannedOnce(t *testing.T) {
	var many []msg.Op
	for i := range 40 {
		many = append(many, callOn("set", "add", fmt.Sprint("key-", i%7), text(fmt.Sprint("member-", i))))
	}
	add, size := callOn("set", "add", "a", text("x")), callOn("set", "len", "a")
	bump := callOn("map", "increment", "d", text("f"), adt.Int(1))
	get := msg.Op{Kind: msg.OpGet, Key: []byte("a")}
	for _, c := range []struct {
		name         string
		ops          []msg.Op
		abstract, rw int
	}{
		{"an add", []msg.Op{add}, 1, 1},
		{"a size, whose lock does not depend on the set", []msg.Op{size}, 1, 1},
		{"two adds and two sizes of four sets", []msg.Op{add, callOn("set", "len", "b"), callOn("set", "add", "c", text("y")),
			callOn("set", "len", "e")}, 4, 4},
		{"an add and a size of one set", []msg.Op{add, size}, 2, 2},
		{"an add, a size and another add of one set, and a map", []msg.Op{add, size, bump,
			callOn("set", "add-count", "a", text("x"), text("y"))}, 4, 4},
		{"forty adds to seven sets", many, 40, 40},
		{"an add beside a put", []msg.Op{add, {Kind: msg.OpPut, Key: []byte("p"), Value: []byte("v")}}, 1, 1},
		{"two adds with a get of the set between: the second is planned again", []msg.Op{add, get,
			callOn("set", "add", "a", text("y"))}, 3, 2},
		{"an add after a delete of the set: it is planned again", []msg.Op{{Kind: msg.OpDelete, Key: []byte("a")}, add}, 2,
			1},
		{"beside a scan all are planned again", []msg.Op{add, bump, {Kind: msg.OpScan, Key: []byte("q"), End: []byte("r")}},
			4, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for locks, want := range map[shard.Locks]int{shard.AbstractLocks: c.abstract, shard.RWLocks: c.rw} {
				for _, whole := range []bool{true, false} {
					p := newPlanning(locks)
					p.answer(t, callOn("set", "add", "a", text("z")))
					p.whole = whole
					before := p.planned()
					p.send(slices.Clone(c.ops)...)
					p.settle(2 * decidedAfter) // keys are read, votes decided
					require.Equal(t, want, p.planned()-before, "%v, whole %v", locks, whole)
				}
			}
		})
	}
}

// TestCallIsPlannedAgainAfterConcurrentChange: beside an undecided change of its key, and after it has waited.
func TestCallIsPlannedAgainAfterConcurrentChange(t *testing.T) {
	p := newPlanning(shard.AbstractLocks)
	p.whole = false
	p.send(callOn("set", "add", "a", text("x")))
	p.settle(1) // it votes
	require.Equal(t, 1, p.planned())

	p.send(callOn("set", "add", "a", text("y")))
	require.Equal(t, 3, p.planned(), "an add of another transaction is undecided")

	p.send(callOn("set", "add-count", "b", text("x")), callOn("set", "len", "a"))
	p.settle(1)
	require.Equal(t, 5, p.planned(), "it waits for the adds")
	p.settle(2 * decidedAfter)
	require.Equal(t, 7, p.planned(), "planned again after their decision")
	require.Zero(t, p.waiting, "all are decided")
}

// drawCall draws an operation on one of a few keys of any type.
func drawCall(t *rapid.T) msg.Op {
	field := text(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "part"))
	number := adt.Int(rapid.Int64Range(-4, 4).Draw(t, "number"))
	key := func(kind string) string { return kind + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "key") }
	plain := func(kind msg.OpKind) msg.Op {
		return msg.Op{Kind: kind, Key: []byte(key(rapid.SampledFrom([]string{"set", "map"}).Draw(t, "of"))),
			Value: []byte("v")}
	}
	set := func(method string, args ...msg.Datum) func() msg.Op {
		return func() msg.Op { return callOn("set", method, key("set"), args...) }
	}
	onMap := func(method string, args ...msg.Datum) func() msg.Op {
		return func() msg.Op { return callOn("map", method, key("map"), args...) }
	}
	return rapid.SampledFrom([]func() msg.Op{
		set("add", field), set("remove", field), set("add-count", field), set("contains", field), set("len"),
		onMap("increment", field, number), onMap("increment-get", field, number), onMap("get", field), onMap("delete", field),
		onMap("len"),
		func() msg.Op { return callOn("set", "add", key("map"), field) }, // of the wrong type, mostly
		func() msg.Op { return plain(msg.OpGet) }, func() msg.Op { return plain(msg.OpDelete) },
		func() msg.Op { return plain(msg.OpPut) },
	}).Draw(t, "operation")()
}

// all asks for all that is at the keys of drawCall. Where a key holds something else
// the answer says so.
func (p *planning) all(t *rapid.T) (out []msg.CommitResponse) {
	for _, key := range []string{"1", "2"} {
		out = append(out, *p.answer(t, callOn("set", "members", "set"+key)), *p.answer(t, callOn("map", "all", "map"+key)))
	}
	return out
}

// TestPlansDoNotChangeResults: transactions of many operations on a few keys, one after the other, have the
// same results and effects as without plans before execution. Only the numbers of writes may differ, since a
// piece that lacked a lock is executed again.
func TestPlansDoNotChangeResults(t *testing.T) {
	numberless := func(results []msg.Result) []msg.Result {
		for i := range results {
			results[i].Version.Write = min(results[i].Version.Write, 1)
		}
		return results
	}
	rapid.Check(t, func(t *rapid.T) {
		abstract, rw := newPlanning(shard.AbstractLocks), newPlanning(shard.RWLocks)
		for range rapid.IntRange(1, 6).Draw(t, "transactions") {
			ops := rapid.SliceOfN(rapid.Custom(drawCall), 1, 2*rapid.SampledFrom([]int{2, 4, 16}).Draw(t, "length")).Draw(t,
				"operations")
			got, want := abstract.answer(t, slices.Clone(ops)...), rw.answer(t, slices.Clone(ops)...)
			require.Equal(t, want.Committed, got.Committed)
			require.Equal(t, want.Failure, got.Failure)
			require.Equal(t, numberless(want.Results), numberless(got.Results))
			require.Equal(t, rw.all(t), abstract.all(t))
		}
	})
}
