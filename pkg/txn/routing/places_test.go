package routing

import (
	"fmt"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/stretchr/testify/require"
)

// oneHome places all keys at home on shard 0, except those with the prefix h; shard 2 is the hot shard.
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

// A redirect of one transaction also changes the known moves, but not the redirects of others.
func TestOwnRedirectsPrecedeKnownMovesAndHome(t *testing.T) {
	p := New(env.New(env.Config{Node: 1, Router: oneHome{}}))
	a, b := &Redirects{}, &Redirects{}
	at := func(r *Redirects) kv.ShardID { return p.Shard(r, []byte("k")) }
	require.EqualValues(t, 0, at(a))

	require.False(t, p.Redirect(a, &msg.Failure{Reason: msg.ReasonWounded, Key: []byte("k"), MovedTo: 2}, false))
	require.EqualValues(t, 0, at(a), "another failure")

	require.True(t, p.Redirect(a, movedTo("k", 2), false))
	require.EqualValues(t, 2, at(a))
	require.EqualValues(t, 2, at(b))
	require.EqualValues(t, 0, p.Shard(a, []byte("other")))

	require.True(t, p.Redirect(b, movedTo("k", 0), false), "moved back")
	require.EqualValues(t, 0, at(b))
	require.EqualValues(t, 0, at(&Redirects{}))
	require.Empty(t, p.moved)
	require.EqualValues(t, 2, at(a), "its own redirect counts until the next one")
}

// The shard of a key at a snapshot is not its current one.
func TestRedirectsInThePastAffectOneTransaction(t *testing.T) {
	p := New(env.New(env.Config{Node: 1, Router: oneHome{}}))
	now, then := &Redirects{}, &Redirects{}
	require.True(t, p.Redirect(then, movedTo("k", 2), true))
	require.EqualValues(t, 2, p.Shard(then, []byte("k")))
	require.EqualValues(t, 0, p.Shard(now, []byte("k")))
	ops := []msg.Op{{Key: []byte("k")}, {Key: []byte("l")}}
	redirected := then.MarkRedirected(ops)
	require.True(t, redirected[0].Redirected, "redirected by its home shard")
	require.False(t, redirected[1].Redirected)
	require.False(t, ops[0].Redirected, "an earlier request may use these")

	require.True(t, p.Redirect(then, movedTo("k", 0), true))
	require.EqualValues(t, 0, p.Shard(then, []byte("k")))
	require.False(t, then.MarkRedirected(ops)[0].Redirected)

	p.store([]byte("k"), 2, false)
	require.EqualValues(t, 0, p.Shard(then, []byte("k")))
	require.EqualValues(t, 2, p.Shard(now, []byte("k")))
}

func TestNewerListReplacesKnownMoves(t *testing.T) {
	p := New(env.New(env.Config{Node: 1, Router: oneHome{}}))
	at := func(key string) kv.ShardID { return p.Shard(&Redirects{}, []byte(key)) }
	learn := func(epoch uint64, keys ...string) {
		var moved [][]byte
		for _, k := range keys {
			moved = append(moved, []byte(k))
		}
		p.Learn(epoch, moved)
	}
	learn(3, "a", "b", "h")
	require.EqualValues(t, 2, at("a"))
	require.EqualValues(t, 2, at("b"))
	require.Len(t, p.moved, 2, "h is at home on the hot shard")
	learn(3)
	require.EqualValues(t, 2, at("a"), "the same epoch")
	learn(2, "c")
	require.EqualValues(t, 0, at("c"), "an older epoch")
	learn(4, "b")
	require.EqualValues(t, 0, at("a"))
	require.EqualValues(t, 2, at("b"))
}

// This holds for redirects and for the hot shard's list.
func TestKnownMovesAreBounded(t *testing.T) {
	p := New(env.New(env.Config{Node: 1, Router: oneHome{}}))
	var moved [][]byte
	for i := range 2*maxMoved + 1 {
		key := fmt.Sprintf("k%d", i)
		require.True(t, p.Redirect(&Redirects{}, movedTo(key, 2), false))
		require.LessOrEqual(t, len(p.moved), maxMoved)
		require.EqualValues(t, 2, p.Shard(&Redirects{}, []byte(key)), "the newest one")
		moved = append(moved, []byte(key))
	}
	p.Learn(1, moved)
	require.Len(t, p.moved, maxMoved)
}
