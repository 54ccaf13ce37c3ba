package embed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// expiring is a cluster of three nodes with keys that live on the hot shard, too.
func expiring(t *testing.T) *client.DB {
	t.Helper()
	c := start(t, embed.ClusterOptions{NoSync: true, Shards: 5, Listen: true, HotKeys: [][]byte{[]byte("hot")}})
	return connect(t, c.Addrs()...)
}

// holds returns what a key holds, as r reads it.
func holds(t *testing.T, r client.Reader, key string) (e client.Entry, ok bool) {
	t.Helper()
	e, ok, err := r.Entry(t.Context(), key)
	require.NoError(t, err)
	return e, ok
}

// lateness is the bound on how late an idle cluster deletes what is due: 100 ms to
// look for it, and the rest for a machine on which much else is going on.
const lateness = 10 * time.Second

// goneBy waits until a key is gone, and returns how long that took.
func goneBy(t *testing.T, db *client.DB, key string, since time.Time) time.Duration {
	t.Helper()
	for {
		if _, found := holds(t, db, key); !found {
			break
		}
		require.Less(t, time.Since(since), lateness, "%s does not expire", key)
	}
	return time.Since(since)
}

// TestKeysExpire, of every kind, on every shard, and not before their time.
func TestKeysExpire(t *testing.T) {
	db := expiring(t)
	const ttl = 300 * time.Millisecond
	keys := []string{"hot", "a", "b", "c", "counter", "set", "later"}
	begun := time.Now()
	value, expires := []byte("1"), client.TTL(ttl)
	ctx := t.Context()
	require.NoError(t, db.Execute(ctx, client.PutOp("hot", value, expires), client.PutOp("a", value, expires),
		client.PutOp("b", nil, expires), client.PutOp("c", nil), client.ExpireOp("c", ttl),
		client.NewCounter("counter").AddOp(5), client.ExpireOp("counter", ttl),
		client.NewSet("set", client.String).AddOp("x"), client.ExpireOp("set", ttl),
		client.PutOp("later", nil), client.PutOp("stays", nil, expires)))
	require.NoError(t, db.Execute(ctx, client.ExpireOp("later", ttl), client.PersistOp("stays")))
	reads := []*client.Result[client.Entry]{client.EntryOp("hot"), client.EntryOp("set"), client.EntryOp("counter")}
	require.NoError(t, db.Execute(ctx, reads[0], reads[1], reads[2]))
	for _, r := range reads {
		if time.Since(begun) < ttl {
			require.True(t, r.Found())
			require.False(t, r.Value().Expires.IsZero())
			// The time is in whole milliseconds of the time of day at the shard.
			require.LessOrEqual(t, time.Until(r.Value().Expires), ttl+time.Millisecond)
		}
	}
	for _, key := range keys {
		require.GreaterOrEqual(t, goneBy(t, db, key, begun), ttl, key)
	}
	e, found := holds(t, db, "stays")
	require.True(t, found)
	require.Zero(t, e.Expires)
}

// TestExpiryInOpenTransactions: they see the deadlines that they set, and what they
// commit expires.
func TestExpiryInOpenTransactions(t *testing.T) {
	db := expiring(t)
	n, s := client.NewCounter("n"), client.NewSet("s", client.String)
	require.NoError(t, db.Execute(t.Context(), n.AddOp(1), s.AddOp("x")))
	expires := func(tx *client.Tx, key string) time.Time {
		e, found := holds(t, tx, key)
		require.True(t, found, key)
		return e.Expires
	}
	var begun time.Time
	require.NoError(t, db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
		begun = time.Now()
		for _, key := range []string{"n", "s"} {
			require.NoError(t, tx.Expire(ctx, key, time.Hour))
			require.Greater(t, time.Until(expires(tx, key)), 59*time.Minute)
		}
		require.NoError(t, tx.Execute(ctx, s.AddOp("y"), n.AddGetOp(1), client.PutOp("p", nil, client.TTL(time.Hour))))
		for _, key := range []string{"n", "s", "p"} {
			require.Greater(t, time.Until(expires(tx, key)), 59*time.Minute, key)
		}
		require.NoError(t, tx.Put(ctx, "p", []byte("for good")))
		require.Zero(t, expires(tx, "p"))
		const ttl = 50 * time.Millisecond
		ops := []*client.Result[bool]{client.ExpireOp("nothing", ttl), client.ExpireOp("n", ttl), client.ExpireOp("s", ttl)}
		require.NoError(t, tx.Execute(ctx, ops[0], ops[1], ops[2]))
		require.Equal(t, []bool{false, true, true}, []bool{ops[0].Value(), ops[1].Value(), ops[2].Value()})
		return nil
	}))
	goneBy(t, db, "n", begun)
	goneBy(t, db, "s", begun)
	_, found := holds(t, db, "p")
	require.True(t, found)
}

// TestWhatWasDueWhileANodeWasDown is deleted when it is back.
func TestWhatWasDueWhileANodeWasDown(t *testing.T) {
	dir := t.TempDir()
	o := embed.ClusterOptions{Dir: dir, Nodes: 1, Shards: 3, Listen: true}
	c, err := embed.StartCluster(o)
	require.NoError(t, err)
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	ops := []client.Op{client.PutOp("hour", nil, client.TTL(time.Hour))}
	for i := range 20 {
		ops = append(ops, client.PutOp(fmt.Sprintf("k%d", i), nil, client.TTL(time.Duration(i+1)*time.Millisecond)))
	}
	require.NoError(t, db.Execute(t.Context(), ops...))
	require.NoError(t, db.Close())
	require.NoError(t, c.Stop(t.Context()))

	c, err = embed.StartCluster(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Stop(t.Context())) }()
	db, err = client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	begun := time.Now()
	for i := range 20 {
		goneBy(t, db, fmt.Sprintf("k%d", i), begun)
	}
	e, found := holds(t, db, "hour")
	require.True(t, found)
	require.Greater(t, time.Until(e.Expires), 50*time.Minute)
}

// TestExpiryAndTheTimeOfDay: while a node runs its time of day decides nothing.
func TestExpiryAndTheTimeOfDay(t *testing.T) {
	clk := &jumping{}
	c := start(t, embed.ClusterOptions{NoSync: true, Nodes: 1, Shards: 2,
		Clock: func(kv.NodeID) clock.Clock { return clk }})
	put := func(key string, ttl time.Duration) {
		require.Nil(t, execute(t, c, 1, msg.Op{Kind: msg.OpPut, Key: []byte(key), Expiry: -ttl.Milliseconds()}).Err)
	}
	get := func(key string) msg.Result {
		r := execute(t, c, 1, msg.Op{Kind: msg.OpGet, Key: []byte(key)})
		require.Nil(t, r.Err)
		return r.Results[0]
	}
	put("hour", time.Hour)
	clk.by.Store(int64(5 * time.Hour))
	put("soon", 200*time.Millisecond)
	for begun := time.Now(); get("soon").Found; {
		require.Less(t, time.Since(begun), lateness)
	}
	require.True(t, get("hour").Found, "it is 5 hours later, and not")
	clk.by.Store(int64(-5 * time.Hour))
	put("soon", 200*time.Millisecond)
	for begun := time.Now(); get("soon").Found; {
		require.Less(t, time.Since(begun), lateness)
	}
	require.InDelta(t, time.Hour.Milliseconds(), get("hour").TtlMillis, float64(time.Minute.Milliseconds()))
}
