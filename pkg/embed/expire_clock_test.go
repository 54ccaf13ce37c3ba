package embed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

func (c *timed) putFor(key string, ttl time.Duration) {
	c.t.Helper()
	r := execute(c.t, c.Cluster, 1, msg.Op{Kind: msg.OpPut, Key: []byte(key), Expiry: -ttl.Milliseconds()})
	require.Nil(c.t, r.Err, "%v", r.Err)
}

func (c *timed) exists(key string) bool {
	c.t.Helper()
	r := execute(c.t, c.Cluster, 1, msg.Op{Kind: msg.OpGet, Key: []byte(key)})
	require.Nil(c.t, r.Err, "%v", r.Err)
	return r.Results[0].Found
}

// goes waits until a key that is due is deleted.
func (c *timed) goes(key string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return !c.exists(key) }, lateness, 10*time.Millisecond, "%s is not deleted", key)
}

// doubts waits until every shard doubts the time of day for a reason.
func (c *timed) doubts(want timeofday.Doubt) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		for id := range c.clocks {
			for _, s := range c.Node(id).ShardStats(0) {
				if s.ExpirySuspended != want {
					return false
				}
			}
			c.Node(id).CheckPeers()
		}
		c.write()
		return true
	}, lateness, 10*time.Millisecond, "no shard says %v", want)
}

// TestStartWithAWrongClockDeletesNoKeys: the times of day of one node, or of all, are wrong
// when they start, and are set right soon after. No key is deleted early that has a time to
// live, whether it was written before the start, or after it with the wrong clock; and each is
// deleted when it is due.
func TestStartWithAWrongClockDeletesNoKeys(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, by := range []time.Duration{24 * time.Hour, 40 * 365 * 24 * time.Hour, -24 * time.Hour} {
			t.Run(fmt.Sprintf("%d nodes, by %v", nodes, by), func(t *testing.T) {
				t.Parallel()
				c := startTimed(t, nodes, false)
				c.pass(11 * time.Minute)
				c.doubts(timeofday.None)
				for i := range 8 {
					c.putFor(fmt.Sprintf("before%d", i), 2*time.Hour)
				}
				c.set(by)
				c.restart()
				for i := range 8 {
					c.putFor(fmt.Sprintf("after%d", i), 2*time.Hour)
				}
				c.pass(time.Minute)
				c.set(0)
				c.pass(5 * time.Minute)
				c.restart()
				c.pass(11 * time.Minute)
				c.doubts(timeofday.None)
				c.pass(90 * time.Minute)
				for i := range 8 {
					require.True(t, c.exists(fmt.Sprintf("before%d", i)))
					require.True(t, c.exists(fmt.Sprintf("after%d", i)))
				}
				c.pass(30 * time.Minute)
				for i := range 8 {
					c.goes(fmt.Sprintf("before%d", i))
					c.goes(fmt.Sprintf("after%d", i))
				}
			})
		}
	}
}

// TestClockThatDisagreesWithOtherNodesDeletesNoKeys: one node of three starts with a clock that
// is ahead, and stays ahead.
func TestClockThatDisagreesWithOtherNodesDeletesNoKeys(t *testing.T) {
	c := startTimed(t, 3, false)
	c.pass(11 * time.Minute)
	for i := range 8 {
		c.putFor(fmt.Sprintf("k%d", i), 2*time.Hour)
	}
	c.set(12*time.Hour, 2)
	c.restart()
	c.pass(40 * time.Minute)
	for i := range 8 {
		require.True(t, c.exists(fmt.Sprintf("k%d", i)))
	}
	for _, s := range c.Node(2).ShardStats(0) {
		require.Equal(t, timeofday.Differs, s.ExpirySuspended)
	}
	c.set(0)
	c.pass(15 * time.Minute)
	c.doubts(timeofday.None)
}

// TestStoreThatWasOffForMonths: the nodes of a cluster that agree delete what is due; a node
// alone does when an operator vouches for its clock. Snapshots expire likewise.
func TestStoreThatWasOffForMonths(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			c := startTimed(t, nodes, false)
			c.pass(11 * time.Minute)
			c.doubts(timeofday.None)
			c.putFor("k", 48*time.Hour)
			_, err := c.Node(1).Gateway().CreateSnapshot(t.Context(), "s", 48*time.Hour)
			require.NoError(t, err)
			c.set(60 * 24 * time.Hour)
			c.restart()
			c.pass(15 * time.Minute)
			if nodes == 1 {
				c.doubts(timeofday.Ahead)
				require.True(t, c.exists("k"))
				require.Len(t, snapshots(t, c), 1)
				c.opt.TrustClock = true
				c.restart()
			}
			c.goes("k")
			c.pass(11 * time.Minute)
			require.Eventually(t, func() bool { c.write(); return len(snapshots(t, c)) == 0 }, lateness, 10*time.Millisecond)
		})
	}
}

func snapshots(t *testing.T, c *timed) []msg.Snapshot {
	t.Helper()
	list, err := c.Node(1).Gateway().Snapshots(t.Context())
	require.NoError(t, err)
	return list
}
