package snapshotqueue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

func named(t *testing.T, name string) kv.TxnRef {
	txn, err := golden.Txn(name)
	require.NoError(t, err)
	return txn
}

func need(key string, mode adt.Mode) []Need { return []Need{{Span: kv.Point([]byte(key)), Mode: mode}} }

// Each case breaks one invariant of valid queues, in which A and B are sealed, R waits for A, and S holds C.
func TestCheckFindsBrokenInvariants(t *testing.T) {
	a, b, c, r, s := named(t, "A"), named(t, "B"), named(t, "C"), named(t, "R"), named(t, "S")
	for _, test := range []struct {
		name   string
		damage func(q *Queue)
		text   string
	}{
		{"two updates share an epoch", func(q *Queue) { q.updates[b].epoch = q.updates[a].epoch }, "share epoch 3.1"},
		{"an epoch of an earlier incarnation", func(q *Queue) {
			q.updates[b].epoch = kv.Epoch{Incarnation: 2, Count: 9}
		}, "in incarnation 3"},
		{"an update is sealed under a registered reader", func(q *Queue) { q.seal(q.updates[c]) }, "invariant 2"},
		{"a reader is registered and does not wait", func(q *Queue) { q.updates[a].waiting = nil }, "invariant 2"},
		{"a deregistered reader has not freed its update", func(q *Queue) { delete(q.readers, s) }, "invariant 3"},
		{"an update is held without a reader", func(q *Queue) { q.updates[b].state = Held }, "invariant 3"},
		{"a piece is held without a reader", func(q *Queue) {
			q.addUpdate(&update{txn: named(t, "P"), needs: need("z", adt.ModeWrite), piece: true})
		}, "invariant 3"},
		{"a read waits and its reader is not registered", func(q *Queue) { delete(q.readers, r) }, "invariant 4"},
		{"a read waits for nothing", func(q *Queue) { q.waitingReads[0].waits = nil }, "invariant 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := New(Options{Incarnation: 3})
			q.Prepared(1, a, need("k", adt.ModeWrite))
			q.Prepared(1, b, need("n", adt.ModeWrite))
			require.False(t, q.Enter(1, &Read{Reader: r, Needs: need("k", adt.ModeRead), Until: 100}))
			require.True(t, q.Enter(1, &Read{Reader: s, Needs: need("m", adt.ModeRead), Until: 100, Lasting: true}))
			q.Prepared(1, c, need("m", adt.ModeAdd))
			q.Tick(1)
			require.NoError(t, q.Check())
			test.damage(q)
			require.ErrorContains(t, q.Check(), test.text)
		})
	}
}

func TestCountersCountEachEvent(t *testing.T) {
	a, r, s := named(t, "A"), named(t, "R"), named(t, "S")
	q := New(Options{Incarnation: 1, UnsealAfter: 10, CloseAfter: 10})
	q.Prepared(0, a, need("k", adt.ModeWrite))
	read := &Read{Reader: r, Needs: need("k", adt.ModeRead), Lasting: true, Until: 40}
	require.False(t, q.Enter(5, read))
	_, epoch := q.State(a)
	q.Unsealed(15, a, epoch, 0)
	q.Done(15, read)
	require.Equal(t, Counters{Reads: 1, Waits: 1, Unseals: 1, Holds: 1}, q.Counters(),
		"the read was still registered when A was unsealed")

	late := &Read{Reader: s, Needs: need("k", adt.ModeRead), Lasting: true, Until: 40}
	require.False(t, q.Enter(30, late))
	require.True(t, late.Refused())
	require.EqualValues(t, 1, q.Counters().Refusals, "A is held for more than 10")
	q.Tick(40)
	require.EqualValues(t, 1, q.Counters().Expirations)
	require.EqualValues(t, 25, q.Counters().HeldNanos, "from 15 to 40")
}

// If snapshot rounds and registered readers hold an update, the receipt names the readers.
func TestReceiptOfUpdateHeldByRoundNamesSnapshot(t *testing.T) {
	for _, c := range []struct {
		reader bool
		want   msg.Cause
	}{{false, msg.CauseSnapshot}, {true, msg.CauseReaders}} {
		a, r, s := named(t, "A"), named(t, "R"), named(t, "S")
		q := New(Options{Incarnation: 1, UnsealAfter: 10, CloseAfter: 10})
		all := []Need{{Span: kv.Range([]byte("a"), nil), Mode: adt.ModeRead}}
		require.True(t, q.Enter(1, &Read{Reader: r, Needs: all, UntilDone: true, WholeShard: true, Until: 40}))
		if c.reader { // on the second key that A writes
			require.True(t, q.Enter(1, &Read{Reader: s, Needs: need("k", adt.ModeRead), Lasting: true, Until: 40}))
		}
		q.Prepared(2, a, append(need("b", adt.ModeWrite), need("k", adt.ModeWrite)...))
		receipt := q.Receipt(5, a)
		require.Equal(t, c.want, receipt.Cause)
		require.EqualValues(t, 3, receipt.WaitedNanos)
	}
}
