package embed_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// jumping is a clock whose time of day is set by the test, and which moves on faster
// than others.
type jumping struct {
	clock.Real
	by, passed atomic.Int64
}

func (j *jumping) Now() int64 { return j.Real.Now() + j.passed.Load() }

func (j *jumping) Wall() int64 { return j.Real.Wall() + j.passed.Load() + j.by.Load() }

// TestTimeOfDayJumps: the time of day of each node jumps, by seconds, minutes
// and hours, ahead and back, and transactions go through all nodes meanwhile. None fails,
// and each counts once: nothing is decided by the time of day. A node whose clock
// is late refuses ids that clients have made from theirs, and says why.
func TestTimeOfDayJumps(t *testing.T) {
	clocks := map[kv.NodeID]*jumping{1: {}, 2: {}, 3: {}}
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), NoSync: true, Shards: 5,
		Clock: func(id kv.NodeID) clock.Clock { return clocks[id] }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(t.Context())) })
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("e"), []byte("f")}
	var added int64
	run := func() {
		for id := range kv.NodeID(3) {
			for i := range keys {
				r := execute(t, c, id+1, msg.Op{Kind: msg.OpAdd, Key: keys[i], Delta: 1},
					msg.Op{Kind: msg.OpAdd, Key: keys[(i+1)%len(keys)], Delta: 1})
				require.Nil(t, r.Err, "%v", r.Err)
				added += 2
			}
		}
	}
	for _, by := range []time.Duration{3 * time.Second, -3 * time.Second, 9 * time.Minute, -9 * time.Minute, 5 * time.Hour,
		-5 * time.Hour} {
		for _, clk := range clocks {
			clk.by.Store(int64(by))
			run()
			clk.by.Store(0)
			run()
		}
	}
	clocks[2].by.Store(int64(-time.Hour)) // a client whose clock is right learns that one is wrong
	r := c.Node(2).Gateway().Execute(t.Context(), gateway.Request{ID: kv.TxnID{Time: time.Now().UnixNano(), Rand: 1},
		Ops: []msg.Op{{Kind: msg.OpGet, Key: keys[0]}}})
	require.Equal(t, kv.KindInvalid, r.Err.Kind)
	require.Contains(t, r.Err.Hint, "check the clock of the client")
	clocks[2].by.Store(0)

	sum := int64(0)
	for _, k := range keys {
		r := execute(t, c, 1, msg.Op{Kind: msg.OpGet, Key: k})
		require.Nil(t, r.Err)
		n, err := adt.DecodeCounter(r.Results[0].Value)
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, added, sum)
}
