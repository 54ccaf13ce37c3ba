package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// movedKey is a key, gk, that is used while it moves between its home, shard 1, and the hot shard 2.
type movedKey struct {
	*steps
	t           *rapid.T
	here, there kv.ShardID
	txns        int64
}

func (k *movedKey) nextTxn() (kv.TxnRef, kv.CommitID) {
	k.txns++
	return nthTxn(k.txns), kv.CommitID{Gateway: 1, Incarnation: 1, Number: uint64(k.txns)}
}

// run executes an operation as a transaction of one shard.
func (k *movedKey) run(s kv.ShardID, op msg.Op) *msg.CommitResponse {
	x, id := k.nextTxn()
	e := commitMsg(x, id, s, nil, msg.Piece{Ops: []msg.Op{op}})
	msg.As[msg.CommitRequest](e).Piece.Incarnation = k.shards[s].M.Incarnation()
	k.send(e)
	return k.answer()
}

func (k *movedKey) result(op msg.Op) msg.Result {
	a := k.run(k.here, op)
	require.Nil(k.t, a.Failure)
	return a.Results[0]
}

// move moves the key to the other shard, and returns what the source holds. The hot shard is the last agent.
func (k *movedKey) move() msg.Result {
	x, id := k.nextTxn()
	out := msg.Op{Kind: msg.OpMoveOut, Key: []byte("gk"), To: k.there, Type: uint32(entry.TypeMoved)}
	if k.here == 2 {
		out.Type = uint32(entry.TypeDeleted)
	}
	locked := k.lock(x, k.here, 1, out)
	had := locked.Results[0]
	in := msg.Op{Kind: msg.OpMoveIn, Seq: 1, Key: []byte("gk"), Type: had.Type, Value: had.Value, Version: had.Version}
	pieces := map[kv.ShardID]msg.Piece{
		k.here:  {Ops: []msg.Op{out}, ReadSet: &msg.ReadSet{Grants: locked.Grants}},
		k.there: {Ops: []msg.Op{in}},
	}
	p, c := prepareMsg(x, id, 1, 2, pieces[1]), commitMsg(x, id, 2, []kv.ShardID{1}, pieces[2])
	msg.As[msg.Prepare](p).Piece.Incarnation = k.shards[1].M.Incarnation()
	msg.As[msg.Prepare](p).LastIncarnation, msg.As[msg.CommitRequest](c).Piece.Incarnation = k.shards[2].M.Incarnation(),
		k.shards[2].M.Incarnation()
	k.send(p, c)
	require.True(k.t, k.answer().Committed, "%v", k.answer().Failure)
	k.here, k.there = k.there, k.here
	return had
}

// TestVersionsRiseOverMoves writes, deletes, adds to and moves a key at random between its home, where other
// keys are written too, and the hot shard. Tombstones are collected, and shards restart. Each write has a
// later version than all before it. A move changes neither the value nor, if there is one, its version.
func TestVersionsRiseOverMoves(t *testing.T) {
	small := func(c *shard.Config) { c.CacheBytes = 1 }
	rapid.Check(t, func(r *rapid.T) {
		k := &movedKey{steps: newStepsWith(t, 3, small), t: r, here: 1, there: 2}
		get, write := msg.Op{Kind: msg.OpGet, Key: []byte("gk")}, msg.Op{Kind: msg.OpPut, Key: []byte("gk"),
			Value: []byte("x")}
		if rapid.Bool().Draw(r, "a counter") {
			write = addOp("gk", 0)
		}
		var last kv.Version
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"move", "collect", "write", "delete", "restart", "other writes"}).Draw(r, "what") {
			case "write":
				k.result(write)
				now := k.result(get).Version
				require.Positive(r, now.Compare(last), "%v must be later than %v", now, last)
				last = now
			case "move":
				before := k.result(get)
				had := k.move()
				after := k.result(get)
				require.Equal(r, before, after)
				require.Equal(r, before.Found, entry.Type(had.Type) != entry.TypeDeleted)
				if before.Found {
					require.Equal(r, last, had.Version)
				}
				require.GreaterOrEqual(r, had.Version.Compare(last), 0, "%v must not be earlier than %v", had.Version, last)
				last = had.Version
				f := k.run(k.there, write).Failure
				require.Equal(r, msg.ReasonMoved, f.Reason)
				require.Equal(r, k.here, f.MovedTo)
			case "delete":
				k.result(msg.Op{Kind: msg.OpDelete, Key: []byte("gk")})
			case "collect":
				k.tick(time.Duration(k.now) + time.Second)
				k.tick(time.Duration(k.now) + time.Second)
			case "restart":
				k.restart(1)
				k.restart(2)
			case "other writes":
				for range rapid.IntRange(1, 5).Draw(r, "how many") {
					require.Nil(r, k.run(1, msg.Op{Kind: msg.OpPut, Key: []byte("other")}).Failure)
				}
			}
		}
	})
}
