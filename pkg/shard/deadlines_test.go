package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
	"github.com/linchpindb/linchpin/test/world"
)

// expiring is a shard on an engine in memory, and a gateway that deletes expired keys unless it is idle.
type expiring struct {
	*world.Single
	t   *testing.T
	now time.Duration
	// wrong is by how much the time of day is off.
	wrong time.Duration
	id    int64
	idle  bool
	// requested are the keys whose deletion the last step has requested.
	requested []string
}

// step executes a step with operations, each a transaction, and what follows at the same time.
func (d *expiring) step(ops ...msg.Op) {
	d.requested = d.requested[:0]
	var in []*msg.Envelope
	for _, op := range ops {
		in = append(in, d.request(op))
	}
	for first := true; first || len(in) > 0; first = false {
		d.setTime()
		sent, err := d.StepWith(shard.Input{IDTime: 1, Messages: in}) // no id is too old
		require.NoError(d.t, err)
		in = nil
		for _, env := range sent {
			if !msg.Is[msg.Due](env) || msg.As[msg.Due](env).ExpireKey == nil {
				continue
			}
			k := msg.As[msg.Due](env).ExpireKey
			d.requested = append(d.requested, string(k.Key))
			if !d.idle {
				in = append(in, d.request(msg.Op{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}))
			}
		}
	}
}

func (d *expiring) setTime() { d.Now, d.Wall = int64(d.now), int64(d.now+d.wrong) }

func (d *expiring) request(op msg.Op) *msg.Envelope {
	d.id++
	env := msg.ToShard(0)
	env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: d.id}, Attempt: 1},
		CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Ops: []msg.Op{op}, Incarnation: d.M.Incarnation()}}
	return env
}

func newExpiring(t *testing.T) *expiring {
	d := &expiring{t: t, Single: world.NewSingle(shard.Config{Node: 1, Lease: -1})}
	d.restart(0)
	return d
}

// restart begins a new incarnation with a time of day that is wrong by a duration.
func (d *expiring) restart(wrong time.Duration) {
	d.wrong = wrong
	d.setTime()
	_, err := d.Restart(nil)
	require.NoError(d.t, err)
}

// pass advances the time, and returns the keys that the shard deletes meanwhile.
func (d *expiring) pass(by time.Duration) (deleted []string) {
	for end := d.now + by; d.now < end; {
		d.now += min(time.Second, end-d.now)
		d.step()
		deleted = append(deleted, d.requested...)
	}
	return deleted
}

// TestExpiredKeysAreDeletedInBatches: 100 every 100 ms, each requested once.
func TestExpiredKeysAreDeletedInBatches(t *testing.T) {
	const keys = 3456
	d := newExpiring(t)
	for i := range keys {
		d.step(msg.Op{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%d", i), Expiry: -50})
	}
	gone, steps := map[string]bool{}, 0
	for d.now = 50 * time.Millisecond; len(gone) < keys; d.now += 5 * time.Millisecond {
		d.step()
		require.LessOrEqual(t, len(d.requested), 100)
		require.LessOrEqual(t, len(gone), 100*int(d.now/(100*time.Millisecond)+1))
		for _, k := range d.requested {
			require.False(t, gone[k], "%s is requested for again", k)
			gone[k] = true
		}
		steps++
		require.Less(t, d.now, 5*time.Second)
	}
	s := d.M.Status(0)
	require.EqualValues(t, keys, s.Stats.Expired)
	require.Zero(t, s.Due)
	require.Zero(t, s.Overdue)
	require.Empty(t, d.Read(entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline,
		Span: kv.Range(nil, nil)}).Rows)
	require.NoError(t, d.M.CheckIdle())
}

// TestMissingDeletionIsRequestedAgain, and the status shows for how long the key has been expired.
func TestMissingDeletionIsRequestedAgain(t *testing.T) {
	d := newExpiring(t)
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("k"), Expiry: -1000})
	d.idle = true
	d.now = 1500 * time.Millisecond
	d.step()
	require.Equal(t, []string{"k"}, d.requested)
	s := d.M.Status(0)
	require.Equal(t, 1, s.Due)
	require.Equal(t, 500*time.Millisecond, s.Overdue)
	d.now = 11 * time.Second
	d.step()
	require.Empty(t, d.requested)
	d.now, d.idle = 12*time.Second, false
	d.step()
	require.Equal(t, []string{"k"}, d.requested)
	s = d.M.Status(0)
	require.EqualValues(t, 1, s.Stats.Expired)
	require.EqualValues(t, 11*time.Second, s.Stats.ExpiredLateNanos)
	require.Zero(t, s.Due)
}

// TestKeyWithDeadlineInThePastIsDeleted: a restore may write one. It is deleted although later deadlines have
// been examined before, once the time of day is trusted.
func TestKeyWithDeadlineInThePastIsDeleted(t *testing.T) {
	d := newExpiring(t)
	d.now = time.Minute
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("later"), Expiry: -1000})
	d.now += 500 * time.Millisecond
	d.step()
	d.step(msg.Op{Kind: msg.OpPut, Stored: true, Key: []byte("past"), Expiry: 1})
	require.Empty(t, d.requested)
	require.Equal(t, []string{"later"}, d.pass(8*time.Minute))
	require.Equal(t, []string{"past"}, d.pass(2*time.Minute))
	d.step(msg.Op{Kind: msg.OpPut, Key: []byte("later"), Expiry: -1000})
	d.now += 500 * time.Millisecond
	d.step(msg.Op{Kind: msg.OpPut, Stored: true, Key: []byte("past"), Expiry: 1})
	require.Equal(t, []string{"past"}, d.requested)
	require.Equal(t, []string{"later"}, d.pass(time.Second))
	require.EqualValues(t, 4, d.M.Status(0).Stats.Expired)
}

func ttl(key string, of time.Duration) msg.Op {
	return msg.Op{Kind: msg.OpPut, Key: []byte(key), Expiry: -of.Milliseconds()}
}

const day = 24 * time.Hour

// TestWrongClockAtStartDeletesNothingEarly: the time of day is wrong when the shard starts, and is corrected
// minutes later. Keys from before the start are deleted at their deadline, and not earlier; so are keys that
// were written with the wrong clock, also after further starts.
func TestWrongClockAtStartDeletesNothingEarly(t *testing.T) {
	for _, wrong := range []time.Duration{-40 * 365 * day, -day, -time.Hour, time.Hour, day, 40 * 365 * day} {
		for _, alsoRestarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("by %v, %v", wrong, alsoRestarted), func(t *testing.T) {
				d := newExpiring(t)
				d.now = 50 * 365 * day
				d.restart(0)
				require.Empty(t, d.pass(20*time.Minute))
				d.step(ttl("minute", time.Minute), ttl("hours", 3*time.Hour))
				begun := d.now

				d.restart(wrong)
				d.step(ttl("second", time.Second), ttl("forty minutes", 40*time.Minute))
				require.Equal(t, []string{"second"}, d.pass(58*time.Second))
				require.Equal(t, []string{"minute"}, d.pass(5*time.Minute), "it has been there for its minute")
				require.NotEqual(t, timeofday.None, d.M.Status(0).ExpirySuspended)
				late := begun + 40*time.Minute
				if alsoRestarted {
					late = d.now + 40*time.Minute
					d.restart(0)
				}
				d.wrong = 0
				require.Empty(t, d.pass(late-d.now-2*time.Second))
				require.Equal(t, timeofday.None, d.M.Status(0).ExpirySuspended)
				require.Equal(t, []string{"forty minutes"}, d.pass(3*time.Second))
				require.Empty(t, d.pass(begun+3*time.Hour-d.now-2*time.Second))
				require.Equal(t, []string{"hours"}, d.pass(3*time.Second))
			})
		}
	}
}

// TestStartAfterMonthsDeletesWhenClockIsTrusted: the time of day is right, but a month beyond the newest time
// in the store.
func TestStartAfterMonthsDeletesWhenClockIsTrusted(t *testing.T) {
	d := newExpiring(t)
	d.now = 50 * 365 * day
	d.restart(0)
	require.Empty(t, d.pass(20*time.Minute))
	d.step(ttl("k", 10*day))
	d.now += 30 * day
	d.restart(0)
	require.Empty(t, d.pass(time.Hour))
	require.Equal(t, timeofday.Ahead, d.M.Status(0).ExpirySuspended)
	d.Config.TrustClock = true
	d.restart(0)
	require.Equal(t, []string{"k"}, d.pass(time.Second))
	d.Config.TrustClock = false
	d.restart(0)
	require.Empty(t, d.pass(10*time.Minute-time.Second))
	require.Equal(t, timeofday.Unsteady, d.M.Status(0).ExpirySuspended)
	d.step()
	d.pass(2 * time.Second)
	require.Equal(t, timeofday.None, d.M.Status(0).ExpirySuspended)
}

// TestKeysOfUntrustedDeadlinesDelayNoOthers: thousands of keys that have expired by a wrong clock only are
// skipped in the search for expired ones.
func TestKeysOfUntrustedDeadlinesDelayNoOthers(t *testing.T) {
	d := newExpiring(t)
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
