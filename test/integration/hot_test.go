package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// hotCluster is a cluster in this process on which commands are run.
type hotCluster struct {
	*embed.Cluster
	t *testing.T
}

func startHot(t *testing.T, mode hotshard.Mode) *hotCluster {
	t.Helper()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Listen: true, Hot: mode})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		require.NoError(t, c.Stop(stop))
	})
	return &hotCluster{c, t}
}

// hot runs "linchpin hot" through a node.
func (c *hotCluster) hot(node int, args ...string) string {
	c.t.Helper()
	var out, errs bytes.Buffer
	root := cli.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	code := cli.Main(context.Background(), root, append(append([]string{"hot"}, args...), "--addr", c.Addrs()[node-1]))
	require.Zero(c.t, code, errs.String())
	return out.String()
}

// where is the shard that a key is said to be on, -1 if it is not said.
func (c *hotCluster) where(node int, key string) int {
	c.t.Helper()
	for line := range strings.Lines(c.hot(node, "-o", "json", "--limit", "1000")) {
		var o struct {
			Key   string
			Shard int
		}
		require.NoError(c.t, json.Unmarshal([]byte(line), &o))
		if o.Key == key {
			return o.Shard
		}
	}
	return -1
}

// comes waits for a key to be on the hot shard; goes for it to be elsewhere.
func (c *hotCluster) comes(key string) {
	c.t.Helper()
	hot := int(c.Router().HotShard())
	require.Eventually(c.t, func() bool { return c.where(1, key) == hot }, 10*time.Second, 50*time.Millisecond, "%s comes", key)
}

func (c *hotCluster) goes(key string) {
	c.t.Helper()
	hot := int(c.Router().HotShard())
	require.Eventually(c.t, func() bool { return c.where(1, key) != hot }, 10*time.Second, 50*time.Millisecond, "%s goes", key)
}

// TestKeysArePinnedAndBanned: through any node, within seconds, and what they
// hold is the same wherever they are.
func TestKeysArePinnedAndBanned(t *testing.T) {
	t.Parallel()
	c := startHot(t, hotshard.ModeAuto)
	db := proc.Open(t, c.Addrs())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, db.Execute(ctx, client.PutOp("visits", []byte("v")), add("n", 1)))
	holds := func() {
		t.Helper()
		visits, n := client.GetOp("visits"), client.NewCounter("n").GetOp()
		require.NoError(t, db.Execute(ctx, visits, n))
		require.Equal(t, "v", string(visits.Value()))
		require.EqualValues(t, 1, n.Value())
	}
	require.Contains(t, c.hot(2, "pin", "visits"), "rules: visits pinned\n")
	c.hot(3, "pin", "n")
	c.comes("visits")
	c.comes("n")
	holds()
	require.Contains(t, c.hot(3), "rules: visits pinned, n pinned\n")
	require.Regexp(t, `visits +s8 +\S+( [mµ]s)? +\d+s +pinned +.* 0 +moved to the hot shard \d+s ago: pinned by the operator`, c.hot(2, "--wide"))

	c.hot(1, "ban", "visits")
	c.goes("visits")
	holds()
	c.hot(1, "pin", "visits")
	c.comes("visits")

	c.hot(2, "mode", "off")
	c.goes("visits")
	c.goes("n")
	holds()
	c.hot(3, "mode", "pinned")
	c.comes("visits")
	holds()
	// What is not pinned any more is not there in this mode.
	c.hot(1, "unpin", "visits")
	c.goes("visits")
	require.Equal(t, int(c.Router().HotShard()), c.where(2, "n"))
	holds()

	stats, busy := c.Node(c.Router().Node(c.Router().HotShard())).Hot()
	require.Less(t, busy, 0.5)
	require.Equal(t, 1, stats.Moved)
	require.EqualValues(t, 5, stats.Came, "visits three times, n twice")
	require.EqualValues(t, 4, stats.Went)
}

// keyOf is what is said of a key.
func (c *hotCluster) keyOf(node int, key string) (found map[string]any) {
	c.t.Helper()
	for line := range strings.Lines(c.hot(node, "-o", "json", "--limit", "1000")) {
		var o map[string]any
		require.NoError(c.t, json.Unmarshal([]byte(line), &o))
		if o["key"] == key {
			found = o
		}
	}
	return found
}

// keyMetric is a metric of a key on the hot shard's node, -1 if there is none.
func (c *hotCluster) keyMetric(name, key string) float64 {
	c.t.Helper()
	families, err := c.Metrics(c.Router().Node(c.Router().HotShard())).Registry().Gather()
	require.NoError(c.t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if f.GetName() == name && l.GetName() == "key" && l.GetValue() == key {
					return m.Gauge.GetValue()
				}
			}
		}
	}
	return -1
}

// waiting counts the transactions that wait for locks on any shard.
func (c *hotCluster) waiting() (n int) {
	for id := range c.Router().Nodes() {
		for _, s := range c.Node(kv.NodeID(id + 1)).Snapshots(0) {
			n += s.Waiting
		}
	}
	return n
}

// TestWhoWaitsForAKeyIsShown: how many do at the moment, and for what, both
// while the key is at home and while it is on the hot shard.
func TestWhoWaitsForAKeyIsShown(t *testing.T) {
	t.Parallel()
	const writers = 7
	c := startHot(t, hotshard.ModePinned)
	db := proc.Open(t, c.Addrs())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const key = "visits"
	require.NoError(t, db.Put(ctx, key, []byte("v")))
	for round := range 2 {
		if round == 1 {
			c.hot(1, "pin", key)
			c.comes(key)
		}
		// It is older than those that wait for it, so that it keeps the lock. It
		// lets go of it for a moment before: no wait that is over is told
		// of as long as all stand.
		for over := range 2 {
			letGo := hold(t, db, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.GetForUpdate(ctx, key)
				return err
			})
			ended := make(chan error, writers)
			for range writers {
				go func() { ended <- db.Put(ctx, key, []byte("x")) }()
			}
			require.Eventually(t, func() bool { return c.waiting() == writers }, 10*time.Second, time.Millisecond)
			if over == 1 {
				require.Eventually(t, func() bool {
					k := c.keyOf(round+2, key)
					return k != nil && k["waiters"] == float64(writers) && k["lock_wait_us_per_s"].(float64) > 0
				}, 10*time.Second, 50*time.Millisecond, "%v", c.hot(1))
				require.EqualValues(t, writers, c.keyMetric("linchpin_hot_key_queue", key))
				require.EqualValues(t, round, c.keyMetric("linchpin_hot_key_moved", key))
			} else {
				// How long they have waited is what is told of, in real time; where it is
				// next to nothing it is not. Nothing else is expected to happen meanwhile.
				time.Sleep(300 * time.Millisecond)
			}
			require.NoError(t, letGo())
			for range writers {
				require.NoError(t, <-ended)
			}
		}
		require.Eventually(t, func() bool {
			k := c.keyOf(1, key)
			return k == nil || k["waiters"] == 0.0
		}, 10*time.Second, 50*time.Millisecond)
	}
}

// TestDataIsRightWhileKeysArePinned: sums stay what they are while the keys of
// transfers are pinned, banned and freed.
func TestDataIsRightWhileKeysArePinned(t *testing.T) {
	t.Parallel()
	const accounts, each = 4, 1000
	c := startHot(t, hotshard.ModeAuto)
	db := proc.Open(t, c.Addrs())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	account := func(i int) client.Counter { return client.NewCounter(fmt.Sprintf("a/%d", i%accounts)) }
	for i := range accounts {
		require.NoError(t, account(i).Add(ctx, db, each))
	}
	stop := make(chan struct{})
	ended := make(chan error, 8)
	var counted atomic.Int64
	for w := range cap(ended) {
		go func() {
			for i := w; ; i++ {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				from, to := account(i), account(i+1+w%3)
				if err := db.Execute(ctx, from.AddGetOp(-1), to.AddGetOp(1), add("total", 1)); err != nil {
					ended <- err
					return
				}
				counted.Add(1)
			}
		}()
	}
	sum := func() (n int64) {
		t.Helper()
		all := client.ScanOp(client.Prefix("a/"), 0)
		require.NoError(t, db.Execute(ctx, all))
		require.Len(t, all.Value().Entries, accounts)
		for _, e := range all.Value().Entries {
			n += e.Number
		}
		return n
	}
	for round, verbs := range [][]string{{"pin", "a/0"}, {"pin", "a/1"}, {"ban", "a/0"}, {"pin", "--prefix", "a/"},
		{"unpin", "a/0"}, {"mode", "off"}, {"mode", "auto"}} {
		c.hot(1+round%3, verbs...)
		for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
			require.EqualValues(t, accounts*each, sum())
		}
	}
	c.comes("a/1")
	close(stop)
	for range cap(ended) {
		require.NoError(t, <-ended)
	}
	require.EqualValues(t, accounts*each, sum())
	requireCounter(t, db, "total", counted.Load())
}
