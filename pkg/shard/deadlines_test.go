package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// dying is a shard on an engine in memory, and a gateway that deletes what is due,
// unless it is idle.
type dying struct {
	t     *testing.T
	m     *shard.Machine
	store *memstore.Store
	now   time.Duration
	id    int64
	idle  bool
	// asked are the keys that the last step has asked for.
	asked []string
}

// step takes a step with operations, each a transaction, and what follows from it at
// the same time.
func (d *dying) step(ops ...msg.Op) {
	d.asked = d.asked[:0]
	var in shard.Input
	for _, op := range ops {
		in.Messages = append(in.Messages, d.park(op))
	}
	for again := true; again; {
		in.Now, in.Wall = int64(d.now), int64(d.now)
		out := d.m.Step(in)
		_, err := d.store.Append([]entry.Group{{Shard: 0, Entries: out.Entries}})
		require.NoError(d.t, err)
		in = shard.Input{}
		for _, r := range out.Reads {
			in.Reads = append(in.Reads, d.store.Read(0, r))
		}
		for _, env := range out.Send {
			if env.Due == nil || env.Due.ExpireKey == nil {
				continue
			}
			k := env.Due.ExpireKey
			require.GreaterOrEqual(d.t, d.now.Milliseconds(), k.Expires)
			d.asked = append(d.asked, string(k.Key))
			if !d.idle {
				in.Messages = append(in.Messages, d.park(msg.Op{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}))
			}
		}
		again = len(in.Reads)+len(in.Messages) > 0
	}
}

func (d *dying) park(op msg.Op) *msg.Envelope {
	d.id++
	env := msg.ToShard(0)
	env.Park = &msg.Park{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: d.id}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Ops: []msg.Op{op}, Incarnation: d.m.Incarnation()}}
	return env
}

func die(t *testing.T) *dying {
	d := &dying{t: t, store: memstore.NewAutoSync()}
	d.m, _ = shard.New(shard.Config{Node: 1, Lease: -1}, shard.Recovered{}, 0, 0)
	return d
}

// TestManyThatAreDueAtOnceAreDeletedByAndBy: a hundred every 100 ms, all of them, each
// asked for once.
func TestManyThatAreDueAtOnceAreDeletedByAndBy(t *testing.T) {
	const keys = 3456
	d := die(t)
	for i := range keys {
		d.step(msg.Op{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%d", i), Expiry: -50})
	}
	gone, steps := map[string]bool{}, 0
	for d.now = 50 * time.Millisecond; len(gone) < keys; d.now += 5 * time.Millisecond {
		d.step()
		require.LessOrEqual(t, len(d.asked), 100)
		require.LessOrEqual(t, len(gone), 100*int(d.now/(100*time.Millisecond)+1))
		for _, k := range d.asked {
			require.False(t, gone[k], "%s is asked for again", k)
			gone[k] = true
		}
		steps++
		require.Less(t, d.now, 5*time.Second)
	}
	s := d.m.Snapshot(0)
	require.EqualValues(t, keys, s.Stats.Expired)
	require.Zero(t, s.Due)
	require.Zero(t, s.Overdue)
	require.Empty(t, d.store.Read(0, entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(nil, nil)}).Rows)
	require.NoError(t, d.m.Quiet())
}

// TestADeletionThatDoesNotHappenIsAskedForAgain, and how late that is can be seen.
func TestADeletionThatDoesNotHappenIsAskedForAgain(t *testing.T) {
	d := die(t)
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("k"), Expiry: -1000})
	d.idle = true
	d.now = 1500 * time.Millisecond
	d.step()
	require.Equal(t, []string{"k"}, d.asked)
	s := d.m.Snapshot(0)
	require.Equal(t, 1, s.Due)
	require.Equal(t, 500*time.Millisecond, s.Overdue)
	d.now = 11 * time.Second
	d.step()
	require.Empty(t, d.asked)
	d.now, d.idle = 12*time.Second, false
	d.step()
	require.Equal(t, []string{"k"}, d.asked)
	s = d.m.Snapshot(0)
	require.EqualValues(t, 1, s.Stats.Expired)
	require.EqualValues(t, 11*time.Second, s.Stats.ExpiredLateNanos)
	require.Zero(t, s.Due)
}

// TestADeadlineInThePast, as a restore may bring one, is met although later ones have
// been looked at.
func TestADeadlineInThePast(t *testing.T) {
	d := die(t)
	d.now = time.Minute
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("later"), Expiry: -1000})
	d.now += 500 * time.Millisecond
	d.step()
	d.step(msg.Op{Kind: msg.OpPut, Stored: true, Key: []byte("past"), Expiry: 1})
	require.Equal(t, []string{"past"}, d.asked)
	d.now += 500 * time.Millisecond
	d.step()
	require.Equal(t, []string{"later"}, d.asked)
	require.EqualValues(t, 2, d.m.Snapshot(0).Stats.Expired)
}
