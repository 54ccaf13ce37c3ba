package shard_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestRowsPerTransactionOnAHotKey counts the rows that adds to one set write, for several numbers of
// transactions per step: an outcome for each, and one row of the set per step if combining is on, else one per
// transaction.
func TestRowsPerTransactionOnAHotKey(t *testing.T) {
	for _, inStep := range []int{1, 2, 4, 8, 32} {
		for _, off := range []shard.Off{false, true} {
			t.Run(fmt.Sprintf("%d in a step, combining %s", inStep, off.String()), func(t *testing.T) {
				versions, outcomes := rowsOf(inStep, off)
				want := stepsCounted
				if off {
					want *= inStep
				}
				require.Equal(t, inStep*stepsCounted, outcomes)
				require.Equal(t, want, versions)
				t.Logf("%.2f rows a transaction", float64(versions+outcomes)/float64(inStep*stepsCounted))
			})
		}
	}
}

const stepsCounted = 50

func rowsOf(inStep int, combining shard.Off) (versions, outcomes int) {
	d := newCombined(combining)
	d.step(1) // the key is loaded, and is made
	d.step(0)
	for range stepsCounted {
		for _, e := range d.step(inStep) {
			switch {
			case e.Table == entry.TableVersion && e.Action != entry.Delete:
				versions++
			case e.Table == entry.TableOutcome:
				outcomes++
			}
		}
	}
	return versions, outcomes
}

// combined is a machine that executes one-shot transactions, each of which adds another member to the same
// set.
type combined struct {
	driven
	added int
}

func newCombined(combining shard.Off) *combined {
	c := &combined{driven: driven{id: 1}}
	c.m, c.room = shard.New(shard.Config{Lease: -1, Sharing: shard.Sharing{Combining: combining}}, shard.Recovered{}, 0, 0)
	c.piece = func() []msg.Op {
		c.added++
		return []msg.Op{adt.Lookup(adt.Set).MethodByName("add").Op([]byte("hot"),
			adt.Bytes(fmt.Appendf(nil, "member-%d", c.added)))}
	}
	return c
}

func (c *combined) step(transactions int) []entry.Entry {
	c.now += 1000
	in := shard.Input{Now: c.now, Wall: c.now, Reads: c.answers()}
	for range transactions {
		in.Messages = append(in.Messages, c.request())
	}
	out := c.m.Step(in)
	c.take(&out)
	return out.Entries
}
