package embed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// expiring is a cluster of three nodes with keys that live on the hot shard, too.
func expiring(t *testing.T) (*embed.Cluster, *client.DB) {
	t.Helper()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), NoSync: true, Shards: 5, Listen: true, HotKeys: [][]byte{[]byte("hot")}})
	require.NoError(t, err)
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, c.Stop(context.Background()))
	})
	return c, db
}

func run(t *testing.T, db *client.DB, ops ...client.Op) []client.Result {
	t.Helper()
	out, err := db.Execute(t.Context(), ops...)
	require.NoError(t, err)
	return out.Results
}

// lateness is the bound on how late an idle cluster deletes what is due: 100 ms to
// look for it, and the rest for a machine on which much else is going on.
const lateness = 10 * time.Second

// goneBy waits until a key is gone, and returns how long that took.
func goneBy(t *testing.T, db *client.DB, key string, since time.Time) time.Duration {
	t.Helper()
	for run(t, db, client.Get([]byte(key)))[0].Found {
		require.Less(t, time.Since(since), lateness, "%s does not expire", key)
	}
	return time.Since(since)
}

// TestKeysExpire, of every kind, on every shard, and not before their time.
func TestKeysExpire(t *testing.T) {
	_, db := expiring(t)
	const ttl = 300 * time.Millisecond
	keys := []string{"hot", "a", "b", "c", "counter", "set", "later"}
	begun := time.Now()
	run(t, db, client.Put([]byte("hot"), []byte("1")).WithTTL(ttl), client.Put([]byte("a"), []byte("1")).WithTTL(ttl), client.Put([]byte("b"), nil).WithTTL(ttl),
		client.Put([]byte("c"), nil), client.Expire([]byte("c"), ttl), client.Add([]byte("counter"), 5), client.Expire([]byte("counter"), ttl),
		client.Call([]byte("set"), "set", "add", "x"), client.Expire([]byte("set"), ttl), client.Put([]byte("later"), nil), client.Put([]byte("stays"), nil).WithTTL(ttl))
	run(t, db, client.Expire([]byte("later"), ttl), client.Persist([]byte("stays")))
	for _, r := range run(t, db, client.Get([]byte("hot")), client.Get([]byte("set")), client.Get([]byte("counter"))) {
		if time.Since(begun) < ttl {
			require.True(t, r.Found)
			_, expires := r.Expires()
			require.True(t, expires)
			require.LessOrEqual(t, r.TTL, ttl)
		}
	}
	for _, key := range keys {
		require.GreaterOrEqual(t, goneBy(t, db, key, begun), ttl, key)
	}
	r := run(t, db, client.Get([]byte("stays")))[0]
	require.True(t, r.Found)
	_, expires := r.Expires()
	require.False(t, expires)
}

// TestExpiryInOpenTransactions: they see the deadlines that they set, and what they
// commit expires.
func TestExpiryInOpenTransactions(t *testing.T) {
	_, db := expiring(t)
	run(t, db, client.Add([]byte("n"), 1), client.Call([]byte("s"), "set", "add", "x"))
	ttl := func(tx *client.Tx, key string) time.Duration {
		v, err := tx.Get([]byte(key))
		require.NoError(t, err)
		require.True(t, v.Found, key)
		return v.TTL
	}
	var begun time.Time
	require.NoError(t, db.Update(t.Context(), func(tx *client.Tx) error {
		begun = time.Now()
		for _, key := range []string{"n", "s"} {
			require.NoError(t, tx.Expire([]byte(key), time.Hour))
			require.Greater(t, ttl(tx, key), 59*time.Minute)
		}
		_, err := tx.Do(client.Call([]byte("s"), "set", "add", "y"), client.AddGet([]byte("n"), 1), client.Put([]byte("p"), nil).WithTTL(time.Hour))
		require.NoError(t, err)
		for _, key := range []string{"n", "s", "p"} {
			require.Greater(t, ttl(tx, key), 59*time.Minute, key)
		}
		require.NoError(t, tx.Put([]byte("p"), []byte("for good")))
		require.Zero(t, ttl(tx, "p"))
		r, err := tx.Do(client.Expire([]byte("nothing"), time.Hour), client.Expire([]byte("n"), 50*time.Millisecond), client.Expire([]byte("s"), 50*time.Millisecond))
		require.NoError(t, err)
		require.Equal(t, []bool{false, true, true}, []bool{r[0].Found, r[1].Found, r[2].Found})
		return nil
	}))
	goneBy(t, db, "n", begun)
	goneBy(t, db, "s", begun)
	require.True(t, run(t, db, client.Get([]byte("p")))[0].Found)
}

// TestWhatWasDueWhileANodeWasDown is deleted when it is back.
func TestWhatWasDueWhileANodeWasDown(t *testing.T) {
	dir := t.TempDir()
	o := embed.ClusterOptions{Dir: dir, Nodes: 1, Shards: 3, Listen: true}
	c, err := embed.StartCluster(o)
	require.NoError(t, err)
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	var ops []client.Op
	for i := range 20 {
		ops = append(ops, client.Put(fmt.Appendf(nil, "k%d", i), nil).WithTTL(time.Duration(i+1)*time.Millisecond))
	}
	ops = append(ops, client.Put([]byte("hour"), nil).WithTTL(time.Hour))
	run(t, db, ops...)
	require.NoError(t, db.Close())
	require.NoError(t, c.Stop(t.Context()))

	c, err = embed.StartCluster(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { require.NoError(t, c.Stop(t.Context())) }()
	db, err = client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	begun := time.Now()
	for i := range 20 {
		goneBy(t, db, fmt.Sprintf("k%d", i), begun)
	}
	r := run(t, db, client.Get([]byte("hour")))[0]
	require.True(t, r.Found)
	require.Greater(t, r.TTL, 50*time.Minute)
}

// TestExpiryAndTheTimeOfDay: while a node runs its time of day decides nothing.
func TestExpiryAndTheTimeOfDay(t *testing.T) {
	clk := &jumping{}
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), NoSync: true, Nodes: 1, Shards: 2, Clock: func(kv.NodeID) clock.Clock { return clk }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
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
