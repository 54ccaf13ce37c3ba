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
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// timed is a cluster whose clocks are set, and moved on, by a test.
type timed struct {
	*embed.Cluster
	t      *testing.T
	opt    embed.ClusterOptions
	clocks map[kv.NodeID]*jumping
	puts   int
}

func startTimed(t *testing.T, nodes int, listen bool) *timed {
	c := &timed{t: t, clocks: map[kv.NodeID]*jumping{}}
	for i := range nodes {
		c.clocks[kv.NodeID(i+1)] = &jumping{}
	}
	c.opt = embed.ClusterOptions{Dir: t.TempDir(), NoSync: true, Nodes: nodes, Shards: 3, Listen: listen,
		Clock: func(id kv.NodeID) clock.Clock { return c.clocks[id] }}
	c.start()
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	return c
}

func (c *timed) start() {
	var err error
	c.Cluster, err = embed.StartCluster(c.opt)
	require.NoError(c.t, err)
}

func (c *timed) restart() {
	require.NoError(c.t, c.Stop(c.t.Context()))
	c.start()
}

// set sets the times of day of some nodes, of all if none is named.
func (c *timed) set(by time.Duration, nodes ...kv.NodeID) {
	for id := range c.clocks {
		if len(nodes) == 0 || id == nodes[0] {
			c.clocks[id].by.Store(int64(by))
		}
	}
}

// pass advances all clocks. Nodes exchange theirs meanwhile, as they do by
// themselves, and there is a write on each shard once in a while.
func (c *timed) pass(d time.Duration) {
	const slice = 20 * time.Second
	for ; d > 0; d -= slice {
		for _, clk := range c.clocks {
			clk.passed.Add(int64(min(d, slice)))
		}
		for id := range c.clocks {
			c.Node(id).CheckPeers()
		}
		c.write()
	}
}

// write writes to all shards, through every node, each time under a new id that the node
// makes, and to other keys, as a shard has no writes any more if its only key moves. Nothing may fail.
func (c *timed) write() (last kv.TxnID) {
	c.t.Helper()
	for id := range kv.NodeID(len(c.clocks)) {
		c.puts++
		var ops []msg.Op
		for k := range 8 {
			key := fmt.Appendf(nil, "key%d", k+8*(c.puts%16))
			ops = append(ops, msg.Op{Kind: msg.OpPut, Key: key, Value: fmt.Append(nil, c.puts)})
		}
		r := execute(c.t, c.Cluster, id+1, ops...)
		require.Nil(c.t, r.Err, "through node %d: %v", id+1, r.Err)
		last = r.ID
	}
	return last
}

var jumps = []time.Duration{660 * time.Second, 24 * time.Hour, 40 * 365 * 24 * time.Hour, -660 * time.Second,
	-24 * time.Hour, -40 * 365 * 24 * time.Hour}

// TestATimeOfDayThatWasWrongForSeconds: the time of day of one node, or of all, is wrong for
// some seconds, on a node that has run for a while or only just begun, and is set right
// again. Writes go on all the time, on all shards and through all nodes, and after a
// restart: nothing has been forgotten by the wrong time.
func TestATimeOfDayThatWasWrongForSeconds(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, age := range []time.Duration{0, 11 * time.Minute} {
			for _, by := range jumps {
				t.Run(fmt.Sprintf("%d nodes, after %v, by %v", nodes, age, by), func(t *testing.T) {
					t.Parallel()
					c := startTimed(t, nodes, false)
					c.write()
					c.pass(age)
					before := c.write()
					c.set(by, 1)
					c.pass(time.Minute)
					c.set(0)
					c.write()
					_, err := c.Node(1).Gateway().Outcome(t.Context(), before, 0)
					require.NoError(t, err, "what was committed a minute ago is forgotten")
					c.restart()
					c.write()
				})
			}
		}
	}
}

// TestATimeOfDayThatIsWrongAtAStart: the same for a clock that is wrong when the node
// starts, and right soon after.
func TestATimeOfDayThatIsWrongAtAStart(t *testing.T) {
	for _, by := range jumps {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			c := startTimed(t, 1, false)
			c.pass(11 * time.Minute)
			c.set(by)
			c.restart()
			c.write()
			c.pass(time.Minute)
			c.set(0)
			c.write()
			c.restart()
			c.write()
		})
	}
}

// TestATimeOfDayThatWasWrongForLong: it was wrong for so long that it had to be believed,
// and outcomes were forgotten by it; so is that of a store that an older version has left
// with such a floor. When it is set right, and after a restart, writes go on; what was
// forgotten is reported as that, and nothing else.
func TestATimeOfDayThatWasWrongForLong(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, by := range jumps {
			t.Run(fmt.Sprintf("%d nodes, by %v", nodes, by), func(t *testing.T) {
				t.Parallel()
				c := startTimed(t, nodes, false)
				c.pass(11 * time.Minute)
				forgotten := c.write()
				c.set(by)
				c.pass(25 * time.Minute)
				kept := c.write()
				c.set(0)
				for range 3 {
					last := c.write()
					tooOld(t, c, forgotten)
					known(t, c, kept)
					known(t, c, last)
					c.restart()
				}
				c.pass(15 * time.Minute)
				c.write()
				tooOld(t, c, kept)
				if by > 0 {
					require.Positive(t, c.Node(1).ClockStats().IDsAhead)
				}
			})
		}
	}
}

func tooOld(t *testing.T, c *timed, id kv.TxnID) {
	t.Helper()
	_, err := c.Node(1).Gateway().Outcome(t.Context(), id, 0)
	require.Equal(t, kv.KindTooOld, kv.KindOf(err), "%v", err)
}

func known(t *testing.T, c *timed, id kv.TxnID) {
	t.Helper()
	o, err := c.Node(1).Gateway().Outcome(t.Context(), id, 0)
	require.NoError(t, err)
	require.True(t, o.Committed)
}

// TestOneClockOfThreeIsNotBelieved: the clock of one node is wrong for long. The others go
// by their own, and no shard forgets by it.
func TestOneClockOfThreeIsNotBelieved(t *testing.T) {
	for _, by := range jumps {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			c := startTimed(t, 3, false)
			c.pass(11 * time.Minute)
			c.set(by, 2)
			c.pass(30 * time.Minute)
			for _, id := range []kv.NodeID{1, 3} {
				made := c.Node(id).Gateway().NewID().Time
				require.InDelta(t, float64(c.clocks[1].Wall()), float64(made), float64(time.Minute))
			}
			// The last times that they have exchanged may be from between one clock's moving
			// on and another's.
			require.Eventually(t, func() bool {
				for id := range c.clocks {
					c.Node(id).CheckPeers()
				}
				wrong, right := c.Node(2).ClockStats().Apart-by, c.Node(1).ClockStats().Apart
				return wrong.Abs() < time.Second && right.Round(time.Second) == 0
			}, 10*time.Second, time.Millisecond)
			c.set(0)
			c.write()
			require.Zero(t, c.Node(2).ClockStats().IDsAhead)
		})
	}
}

// TestClientsSetTheirClocksAgain: a client's ids are made by the clock of the node, as it
// was when they met. When that has been set since, either way, the node refuses the next
// id, which nothing has been done for, and the client goes by the new time.
func TestClientsSetTheirClocksAgain(t *testing.T) {
	c := startTimed(t, 1, true)
	const key = "k"
	clients := []*client.DB{connect(t, c.Addrs()...), connect(t, c.Addrs()...)}
	// Each of them is some client's first after the clock was set.
	ways := []func(*client.DB) error{
		func(db *client.DB) error { return db.Put(t.Context(), key, []byte("v")) },
		func(db *client.DB) error {
			return db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
				return tx.Put(ctx, key, []byte("blind"))
			})
		},
		func(db *client.DB) error {
			return db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
				if _, _, err := tx.Get(ctx, key); err != nil {
					return err
				}
				return tx.Put(ctx, key, []byte("w"))
			})
		},
	}
	write := func() {
		t.Helper()
		clients = append(clients, connect(t, c.Addrs()...))
		for i, db := range clients {
			for j := range ways {
				way := (i + j) % len(ways)
				require.NoError(t, ways[way](db), "way %d", way)
			}
		}
	}
	write()
	for _, by := range jumps {
		c.set(by)
		write()
		c.set(0)
		write()
	}
	c.set(24 * time.Hour)
	c.pass(25 * time.Minute)
	c.set(0)
	write()
	// The error for a client that makes ids by its own clock has a hint.
	get := []msg.Op{{Kind: msg.OpGet, Key: []byte(key)}}
	id := kv.TxnID{Time: c.clocks[1].Wall(), Rand: 1}
	r := c.Node(1).Gateway().Execute(t.Context(), gateway.Request{ID: id, Ops: get})
	require.Equal(t, kv.KindInvalid, r.Err.Kind)
	require.Contains(t, r.Err.Hint, "let the node create them")
}
