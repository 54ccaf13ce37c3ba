// Package logtest tests the contract of shard logs: a suite that every implementation of shardlog.Log has to
// pass.
package logtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Logs are the logs of some shards with the store of their rows.
type Logs interface {
	// Log is the log of a shard of the present incarnation.
	Log(s kv.ShardID) shardlog.Log
	// Proceed does a part of the work that makes entries durable and applied, or all of it.
	Proceed(r *rand.Rand, all bool)
	// Crash is a failure that the logs tolerate. Afterwards all logs are of a new incarnation, and the store
	// has the rows of what was not lost.
	Crash(r *rand.Rand)
	// Read returns the value of a row of TableOutcome, nil if there is none.
	Read(s kv.ShardID, key []byte) []byte
}

const (
	shards = 3
	runs   = 100
	rounds = 60
)

// Run runs the suite; open makes independent, empty logs.
func Run(t *testing.T, open func() Logs) {
	for seed := range uint64(runs) {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := &checker{logs: open(), r: rand.New(rand.NewPCG(seed, 1))}
			for range rounds {
				c.round(t)
			}
			c.logs.Proceed(c.r, true)
			for s := range kv.ShardID(shards) {
				l := c.logs.Log(s)
				require.Equal(t, l.Last(), l.Durable(), "all work is done")
				require.Equal(t, l.Last(), l.Applied(), "all work is done")
				c.check(t, s)
			}
		}) {
			return
		}
	}
}

// checker compares logs with what was appended to them.
type checker struct {
	logs Logs
	r    *rand.Rand
	// shards is what is known of each shard.
	shards [shards]appended
}

// appended is what a shard has appended. Append number i sets the row "last" to i, and the row i as well.
type appended struct {
	// before is the number of appends of earlier incarnations that were not lost.
	before int
	// last is the number of all appends.
	last             int
	durable, applied shardlog.Position
}

func number(i int) []byte { return fmt.Appendf(nil, "%d", i) }

func (c *checker) round(t *testing.T) {
	s := kv.ShardID(c.r.IntN(shards))
	a := &c.shards[s]
	switch c.r.IntN(10) {
	case 0:
		c.crash(t)
	case 1, 2, 3, 4:
		c.logs.Proceed(c.r, false)
	default:
		a.last++
		at := c.logs.Log(s).Append([]entry.Entry{
			{Table: entry.TableOutcome, Key: []byte("last"), Value: number(a.last)},
			{Table: entry.TableOutcome, Key: number(a.last), Value: []byte("x")}})
		require.EqualValues(t, a.last-a.before, at, "positions count the appends of the incarnation")
		require.Equal(t, at, c.logs.Log(s).Last())
	}
	for s := range kv.ShardID(shards) {
		c.check(t, s)
	}
}

// check checks that positions do not decrease, and that the store has the rows up to the applied one.
func (c *checker) check(t *testing.T, s kv.ShardID) {
	a, l := &c.shards[s], c.logs.Log(s)
	durable, applied := l.Durable(), l.Applied()
	require.GreaterOrEqual(t, durable, a.durable)
	require.GreaterOrEqual(t, applied, a.applied)
	require.LessOrEqual(t, max(durable, applied), l.Last())
	a.durable, a.applied = durable, applied
	require.GreaterOrEqual(t, c.stored(t, s), a.before+int(applied))
}

// stored returns the number of appends whose rows the store has, which are those of a prefix.
func (c *checker) stored(t *testing.T, s kv.ShardID) (n int) {
	for c.logs.Read(s, number(n+1)) != nil {
		n++
	}
	for i := n + 1; i <= c.shards[s].last; i++ {
		require.Nil(t, c.logs.Read(s, number(i)), "append %d is in the store, and %d is not", i, n+1)
	}
	if n > 0 {
		require.Equal(t, number(n), c.logs.Read(s, []byte("last")), "appends are applied in order")
	}
	return n
}

// crash checks that a failure loses nothing durable.
func (c *checker) crash(t *testing.T) {
	c.logs.Crash(c.r)
	for s := range kv.ShardID(shards) {
		a := &c.shards[s]
		n := c.stored(t, s)
		require.GreaterOrEqual(t, n, a.before+int(a.durable), "what is durable is not lost")
		require.Zero(t, c.logs.Log(s).Last(), "positions begin with the incarnation")
		*a = appended{before: n, last: n}
	}
}
