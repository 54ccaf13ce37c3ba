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
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

// dying is a shard on an engine in memory, and a gateway that deletes what is due,
// unless it is idle.
type dying struct {
	t     *testing.T
	m     *shard.Machine
	store *memstore.Store
	now   time.Duration
	// wrong is by how much the time of day is off.
	wrong time.Duration
	id    int64
	idle  bool
	cfg   shard.Config
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
		in.Now, in.Wall, in.IDTime = int64(d.now), int64(d.now+d.wrong), 1 // no id is too old
		out := d.m.Step(in)
		_, err := d.store.Append([]entry.Group{{Shard: 0, Entries: out.Entries}})
		require.NoError(d.t, err)
		in = shard.Input{}
		for _, r := range out.Reads {
			in.Reads = append(in.Reads, d.store.Read(0, r))
		}
		for _, env := range out.Send {
			if !msg.Is[msg.Due](env) || msg.As[msg.Due](env).ExpireKey == nil {
				continue
			}
			k := msg.As[msg.Due](env).ExpireKey
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
	env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: d.id}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Ops: []msg.Op{op}, Incarnation: d.m.Incarnation()}}
	return env
}

func die(t *testing.T) *dying {
	d := &dying{t: t, store: memstore.NewAutoSync(), cfg: shard.Config{Node: 1, Lease: -1}}
	d.restart(0)
	return d
}

// restart begins a new incarnation with a time of day that is off.
func (d *dying) restart(wrong time.Duration) {
	var rec shard.Recovered
	require.NoError(d.t, d.store.Recover(0, rec.Add))
	d.wrong = wrong
	var out shard.Output
	d.m, out = shard.New(d.cfg, rec, int64(d.now), int64(d.now+wrong))
	_, err := d.store.Append([]entry.Group{{Shard: 0, Entries: out.Entries}})
	require.NoError(d.t, err)
}

// pass lets time pass, and returns the keys that the shard deletes meanwhile.
func (d *dying) pass(by time.Duration) (deleted []string) {
	for end := d.now + by; d.now < end; {
		d.now += min(time.Second, end-d.now)
		d.step()
		deleted = append(deleted, d.asked...)
	}
	return deleted
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
// been looked at, when the time of day is relied on.
func TestADeadlineInThePast(t *testing.T) {
	d := die(t)
	d.now = time.Minute
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("later"), Expiry: -1000})
	d.now += 500 * time.Millisecond
	d.step()
	d.step(msg.Op{Kind: msg.OpPut, Stored: true, Key: []byte("past"), Expiry: 1})
	require.Empty(t, d.asked)
	require.Equal(t, []string{"later"}, d.pass(8*time.Minute))
	require.Equal(t, []string{"past"}, d.pass(2*time.Minute))
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("later"), Expiry: -1000})
	d.now += 500 * time.Millisecond
	d.step(msg.Op{Kind: msg.OpPut, Stored: true, Key: []byte("past"), Expiry: 1})
	require.Equal(t, []string{"past"}, d.asked)
	require.Equal(t, []string{"later"}, d.pass(time.Second))
	require.EqualValues(t, 4, d.m.Snapshot(0).Stats.Expired)
}

func ttl(key string, of time.Duration) msg.Op {
	return msg.Op{Kind: msg.OpPut, Key: []byte(key), Expiry: -of.Milliseconds()}
}

const day = 24 * time.Hour

// TestStartWithAWrongClockDeletesNothingEarly: the time of day is wrong when the shard starts,
// and set right some minutes later. What was written before the start is deleted when it is
// due, and not before; so is what is written with the wrong clock, after any number of starts.
func TestStartWithAWrongClockDeletesNothingEarly(t *testing.T) {
	for _, wrong := range []time.Duration{-40 * 365 * day, -day, -time.Hour, time.Hour, day, 40 * 365 * day} {
		for _, alsoRestarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("by %v, %v", wrong, alsoRestarted), func(t *testing.T) {
				d := die(t)
				d.now = 50 * 365 * day
				d.restart(0)
				require.Empty(t, d.pass(20*time.Minute))
				d.step(ttl("minute", time.Minute), ttl("hours", 3*time.Hour))
				begun := d.now

				d.restart(wrong)
				d.step(ttl("second", time.Second), ttl("forty minutes", 40*time.Minute))
				require.Equal(t, []string{"second"}, d.pass(58*time.Second))
				require.Equal(t, []string{"minute"}, d.pass(5*time.Minute), "it has been there for its minute")
				require.NotEqual(t, timeofday.None, d.m.Snapshot(0).ExpirySuspended)
				late := begun + 40*time.Minute
				if alsoRestarted {
					late = d.now + 40*time.Minute
					d.restart(0)
				}
				d.wrong = 0
				require.Empty(t, d.pass(late-d.now-2*time.Second))
				require.Equal(t, timeofday.None, d.m.Snapshot(0).ExpirySuspended)
				require.Equal(t, []string{"forty minutes"}, d.pass(3*time.Second))
				require.Empty(t, d.pass(begun+3*time.Hour-d.now-2*time.Second))
				require.Equal(t, []string{"hours"}, d.pass(3*time.Second))
			})
		}
	}
}

// TestStartAfterMonthsDeletesWhenAnOperatorVouches: the time of day is right, but a month
// beyond the newest time in the store.
func TestStartAfterMonthsDeletesWhenAnOperatorVouches(t *testing.T) {
	d := die(t)
	d.now = 50 * 365 * day
	d.restart(0)
	require.Empty(t, d.pass(20*time.Minute))
	d.step(ttl("k", 10*day))
	d.now += 30 * day
	d.restart(0)
	require.Empty(t, d.pass(time.Hour))
	require.Equal(t, timeofday.Ahead, d.m.Snapshot(0).ExpirySuspended)
	d.cfg.TrustClock = true
	d.restart(0)
	require.Equal(t, []string{"k"}, d.pass(time.Second))
	d.cfg.TrustClock = false
	d.restart(0)
	require.Empty(t, d.pass(10*time.Minute-time.Second))
	require.Equal(t, timeofday.Young, d.m.Snapshot(0).ExpirySuspended)
	d.step()
	d.pass(2 * time.Second)
	require.Equal(t, timeofday.None, d.m.Snapshot(0).ExpirySuspended)
}

// TestManyKeysThatAreNotDueYetDelayNoOthers: thousands of keys whose time has passed by a wrong
// clock are passed over on the way to one that is due.
func TestManyKeysThatAreNotDueYetDelayNoOthers(t *testing.T) {
	d := die(t)
	d.now = 365 * day
	d.restart(0)
	for i := range 5000 {
		d.step(ttl(fmt.Sprintf("k%d", i), time.Hour))
	}
	d.restart(2 * time.Hour)
	d.step(ttl("own", time.Second))
	require.Equal(t, []string{"own"}, d.pass(7*time.Second))
	require.Empty(t, d.pass(time.Minute))
}
