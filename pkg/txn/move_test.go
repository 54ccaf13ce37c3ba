package txn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// oneHome has every key at home on s0, but for those that begin with h; s2 is the hot
// shard.
type oneHome struct{}

func (oneHome) Shard(key []byte) kv.ShardID {
	if len(key) > 0 && key[0] == 'h' {
		return 2
	}
	return 0
}

func (oneHome) Shards() int                 { return 3 }
func (oneHome) HotShard() kv.ShardID        { return 2 }
func (oneHome) Hotter(a, b kv.ShardID) bool { return a > b }
func (oneHome) Node(s kv.ShardID) kv.NodeID { return 1 }

func movedTo(key string, to kv.ShardID) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonMoved, Key: []byte(key), MovedTo: to}
}

// TestWhereACallLooksForAKey: where it was told itself; else where the gateway has been
// told; else at home. What one call is told counts for those that come after it, and
// for others only as long as they have not been told otherwise.
func TestWhereACallLooksForAKey(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}})
	a, b := &call{}, &call{}
	at := func(c *call) kv.ShardID { return g.place(c, []byte("k")) }
	require.EqualValues(t, 0, at(a))

	require.False(t, g.redirected(a, &msg.Failure{Reason: msg.ReasonWounded, Key: []byte("k"), MovedTo: 2}))
	require.EqualValues(t, 0, at(a), "it failed for another reason")

	require.True(t, g.redirected(a, movedTo("k", 2)))
	require.EqualValues(t, 2, at(a))
	require.EqualValues(t, 2, at(b))
	require.EqualValues(t, 0, g.place(a, []byte("other")))

	require.True(t, g.redirected(b, movedTo("k", 0)), "it has gone home")
	require.EqualValues(t, 0, at(b))
	require.EqualValues(t, 0, at(&call{}))
	require.Empty(t, g.moved)
	require.EqualValues(t, 2, at(a), "what it was told itself; it will be told better where it asks")
}

// TestAReaderOfThePastKeepsItsPlacesToItself: where a key was then says nothing about now.
func TestAReaderOfThePastKeepsItsPlacesToItself(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}})
	now, then := &call{}, &call{past: &past{}}
	require.True(t, g.redirected(then, movedTo("k", 2)))
	require.EqualValues(t, 2, g.place(then, []byte("k")))
	require.EqualValues(t, 0, g.place(now, []byte("k")))
	ops := []msg.Op{{Key: []byte("k")}, {Key: []byte("l")}}
	said := then.past.say(ops)
	require.True(t, said[0].Marked, "the home has sent it there")
	require.False(t, said[1].Marked)
	require.False(t, ops[0].Marked, "an earlier request may have these")

	require.True(t, g.redirected(then, movedTo("k", 0)))
	require.EqualValues(t, 0, g.place(then, []byte("k")))
	require.False(t, then.past.say(ops)[0].Marked)

	g.learnPlace([]byte("k"), 2, false)
	require.EqualValues(t, 0, g.place(then, []byte("k")))
	require.EqualValues(t, 2, g.place(now, []byte("k")))
}

// TestTheHotShardsListReplacesWhatAGatewayKnows, if it is news.
func TestTheHotShardsListReplacesWhatAGatewayKnows(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}})
	at := func(key string) kv.ShardID { return g.place(&call{}, []byte(key)) }
	tell := func(epoch uint64, keys ...string) {
		m := &msg.HeatMap{Epoch: epoch}
		for _, k := range keys {
			m.Moved = append(m.Moved, []byte(k))
		}
		g.SetHeat(0, NewHeat(m))
	}
	tell(3, "a", "b", "h")
	require.EqualValues(t, 2, at("a"))
	require.EqualValues(t, 2, at("b"))
	require.Len(t, g.moved, 2, "h is at home there")
	tell(3)
	require.EqualValues(t, 2, at("a"), "nothing new")
	tell(2, "c")
	require.EqualValues(t, 0, at("c"), "older")
	tell(4, "b")
	require.EqualValues(t, 0, at("a"))
	require.EqualValues(t, 2, at("b"))
}

// TestKnownPlacesAreBounded, whoever tells of them; what is forgotten is told again.
func TestKnownPlacesAreBounded(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}})
	m := &msg.HeatMap{Epoch: 1}
	for i := range 2*maxMoved + 1 {
		key := fmt.Sprintf("k%d", i)
		require.True(t, g.redirected(&call{}, movedTo(key, 2)))
		require.LessOrEqual(t, len(g.moved), maxMoved)
		require.EqualValues(t, 2, g.place(&call{}, []byte(key)), "the newest is known")
		m.Moved = append(m.Moved, []byte(key))
	}
	g.SetHeat(0, NewHeat(m))
	require.Len(t, g.moved, maxMoved)
}

// TestWhatIsLargeStaysAtHome: the move ends, what it had locked is released, and
// nothing is sent to the hot shard. What is there already may go home.
func TestWhatIsLargeStaysAtHome(t *testing.T) {
	for _, test := range []struct {
		from, to kv.ShardID
		bytes    int
		moves    bool
	}{{0, 2, kv.MaxMovedBytes, true}, {0, 2, kv.MaxMovedBytes + 1, false}, {2, 0, kv.MaxMovedBytes + 1, true}} {
		g := NewGateway(Config{Node: 1, Router: oneHome{}})
		g.Move(0, "token", kv.TxnID{Time: 1}, []byte("k"), test.from, test.to, 1e9)
		ask := g.Flush().Send[0].Lock
		g.onLockReply(&msg.LockReply{Txn: ask.Txn, Number: ask.Number, Shard: test.from, Incarnation: 1,
			Grants: []msg.Grant{{Start: ask.Ops[0].Key, Number: 1}}, Results: []msg.Result{{Found: true, Type: 2, Value: make([]byte, test.bytes)}}})
		out := g.Flush()
		sent := ""
		for _, env := range out.Send {
			sent += env.Name() + " "
		}
		if test.moves {
			require.Contains(t, sent, "Park")
			continue
		}
		require.Equal(t, "Release ", sent)
		require.Len(t, out.Done, 1)
		require.ErrorContains(t, out.Done[0].Failure.Error(), "more than 1048576 stays at home")
		require.NoError(t, g.Quiet())
	}
}
