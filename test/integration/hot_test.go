package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
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

// hot runs "linchpin hot" through a node and returns its output.
func (c *hotCluster) hot(node int, args ...string) string {
	c.t.Helper()
	var out, errs bytes.Buffer
	root := cli.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	code := cli.Main(context.Background(), root, append(append([]string{"hot"}, args...), "--addr", c.Addrs()[node-1]))
	require.Zero(c.t, code, errs.String())
	return out.String()
}

// shardOf returns the shard of a key according to "linchpin hot", -1 if the key is not listed.
func (c *hotCluster) shardOf(node int, key string) int {
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

// awaitOnHotShard waits until a key is on the hot shard, awaitOffHotShard until it is not.
func (c *hotCluster) awaitOnHotShard(key string) {
	c.t.Helper()
	hot := int(c.Router().HotShard())
	require.Eventually(c.t, func() bool { return c.shardOf(1, key) == hot }, 10*time.Second, 50*time.Millisecond,
		"%s is on the hot shard", key)
}

func (c *hotCluster) awaitOffHotShard(key string) {
	c.t.Helper()
	hot := int(c.Router().HotShard())
	require.Eventually(c.t, func() bool { return c.shardOf(1, key) != hot }, 10*time.Second, 50*time.Millisecond,
		"%s is off the hot shard", key)
}

// TestKeysArePinnedAndBanned: rules are accepted by any node and take effect within seconds. Moves do not
// change values.
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
	c.awaitOnHotShard("visits")
	c.awaitOnHotShard("n")
	holds()
	require.Contains(t, c.hot(3), "rules: visits pinned, n pinned\n")
	require.Regexp(t,
		`visits +s8 +\S+( [mµ]s)? +\d+s +pinned +.* 0 +moved to the hot shard \d+s ago: pinned by the operator`,
		c.hot(2, "--wide"))

	c.hot(1, "ban", "visits")
	c.awaitOffHotShard("visits")
	holds()
	c.hot(1, "pin", "visits")
	c.awaitOnHotShard("visits")

	c.hot(2, "mode", "off")
	c.awaitOffHotShard("visits")
	c.awaitOffHotShard("n")
	holds()
	c.hot(3, "mode", "pinned")
	c.awaitOnHotShard("visits")
	holds()
	// In this mode only pinned keys are on the hot shard.
	c.hot(1, "unpin", "visits")
	c.awaitOffHotShard("visits")
	require.Equal(t, int(c.Router().HotShard()), c.shardOf(2, "n"))
	holds()

	stats, busy := c.Node(c.Router().Node(c.Router().HotShard())).HotShardStats()
	require.Less(t, busy, 0.5)
	require.Equal(t, 1, stats.Moved)
	require.EqualValues(t, 5, stats.MovedIn, "visits three times, n twice")
	require.EqualValues(t, 4, stats.MovedOut)
}

// hotKeyRow returns the row of a key in the output of "linchpin hot", nil if there is none.
func (c *hotCluster) hotKeyRow(node int, key string) (found map[string]any) {
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

// keyMetric returns a metric of a key on the node of the hot shard, -1 if there is none.
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

// lockWaiters returns the number of transactions that wait for locks on any shard.
func (c *hotCluster) lockWaiters() (n int) {
	for id := range c.Router().Nodes() {
		for _, s := range c.Node(kv.NodeID(id + 1)).ShardStats(0) {
			n += s.Waiting
		}
	}
	return n
}

// TestWaitersOfKeyAreReported: "linchpin hot" and the metrics report the current number of waiters and the
// wait time of a key, on its home shard and on the hot shard.
func TestWaitersOfKeyAreReported(t *testing.T) {
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
			c.awaitOnHotShard(key)
		}
		// The holder is older than the waiters, so it keeps its lock. The first iteration releases it, because
		// wait times are reported when waits end: while all waiters are blocked, none has ended.
		for second := range 2 {
			_, commit := proc.Hold(t, db, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.GetForUpdate(ctx, key)
				return err
			})
			ended := make(chan error, writers)
			for range writers {
				go func() { ended <- db.Put(ctx, key, []byte("x")) }()
			}
			require.Eventually(t, func() bool { return c.lockWaiters() == writers }, 10*time.Second, time.Millisecond)
			if second == 1 {
				require.Eventually(t, func() bool {
					k := c.hotKeyRow(round+2, key)
					return k != nil && k["waiters"] == float64(writers) && k["lock_wait_us_per_s"].(float64) > 0
				}, 10*time.Second, 50*time.Millisecond, "%v", c.hot(1))
				require.EqualValues(t, writers, c.keyMetric("linchpin_hot_key_queue", key))
				require.EqualValues(t, round, c.keyMetric("linchpin_hot_key_moved", key))
			} else {
				// The reported wait time is in real time, and a tiny one is not reported. So let the waiters wait; no
				// event marks the end of this.
				time.Sleep(300 * time.Millisecond)
			}
			require.NoError(t, commit())
			for range writers {
				require.NoError(t, <-ended)
			}
		}
		require.Eventually(t, func() bool {
			k := c.hotKeyRow(1, key)
			return k == nil || k["waiters"] == 0.0
		}, 10*time.Second, 50*time.Millisecond)
	}
}
