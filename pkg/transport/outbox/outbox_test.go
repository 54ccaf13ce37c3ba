package outbox_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

func ref(n int) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: int64(n)}, Attempt: 1} }

func decide(n int) *msg.Envelope {
	e := msg.ToShard(1)
	e.Body = &msg.Decision{Txn: ref(n), Commit: true}
	return e
}

// vote makes a vote of transaction n. Its epoch distinguishes it from its repeats.
func vote(n, epoch int) *msg.Envelope {
	e := msg.ToShard(1)
	e.Body = &msg.Vote{Txn: ref(n), Epoch: kv.Epoch{Incarnation: 1, Count: uint64(epoch)}}
	return e
}

func push(o *outbox.Outbox, envs ...*msg.Envelope) { o.Push(envs, 0) }

// drain takes all messages in batches of ten.
func drain(o *outbox.Outbox) []*msg.Envelope {
	var all, batch []*msg.Envelope
	for next := int64(1); next > 0; {
		batch, next = o.Take(batch[:0], 10, 1<<20, 0)
		all = append(all, batch...)
	}
	return all
}

func TestTakeInOrderAndBounded(t *testing.T) {
	o := outbox.New(outbox.Options{})
	for i := range 25 {
		push(o, decide(i))
	}
	<-o.Ready()
	got, next := o.Take(nil, 10, 1<<20, 0)
	require.Len(t, got, 10)
	require.Positive(t, next, "there is more")
	size := decide(24).Size()
	got, next = o.Take(got, 100, 3*size, 0)
	require.Len(t, got, 13, "three fit")
	require.Positive(t, next)
	got, _ = o.Take(got, 100, 1, 0)
	require.Len(t, got, 14, "at least one, whatever its size")
	got = append(got, drain(o)...)
	for i, e := range got {
		require.EqualValues(t, i, msg.As[msg.Decision](e).Txn.Time)
	}
	require.Equal(t, outbox.Counts{Pushed: 25}, o.Counts())
	select {
	case <-o.Ready():
		t.Fatal("more than one token")
	default:
	}
}

func TestTakeReturnsDueMessages(t *testing.T) {
	o := outbox.New(outbox.Options{})
	o.Push([]*msg.Envelope{decide(1)}, 100)
	o.Push([]*msg.Envelope{decide(2)}, 200)
	got, next := o.Take(nil, 10, 1<<20, 99)
	require.Empty(t, got)
	require.EqualValues(t, 100, next)
	got, next = o.Take(nil, 10, 1<<20, 100)
	require.Len(t, got, 1)
	require.EqualValues(t, 200, next)
	got, next = o.Take(nil, 10, 1<<20, 300)
	require.Len(t, got, 1)
	require.Zero(t, next)
}

func TestRetryReplacesEarlierMessageAtBound(t *testing.T) {
	o := outbox.New(outbox.Options{MaxCount: 100})
	for epoch := range 50 {
		for n := range 5 {
			push(o, vote(n, epoch))
		}
	}
	c := o.Counts()
	require.Zero(t, c.Dropped, "removing repeats suffices")
	require.Positive(t, c.Replaced)
	newest := map[int64]uint64{}
	for _, e := range drain(o) {
		require.Greater(t, msg.As[msg.Vote](e).Epoch.Count+1, newest[msg.As[msg.Vote](e).Txn.Time], "in order")
		newest[msg.As[msg.Vote](e).Txn.Time] = msg.As[msg.Vote](e).Epoch.Count
	}
	for n := range 5 {
		require.EqualValues(t, 49, newest[int64(n)], "the last vote is kept")
	}
}

func TestOldestMessagesAreDroppedAtBound(t *testing.T) {
	o := outbox.New(outbox.Options{MaxCount: 100})
	for i := range 1000 {
		push(o, decide(i))
	}
	got := drain(o)
	require.GreaterOrEqual(t, len(got), 75)
	for i, e := range got {
		require.EqualValues(t, 1000-len(got)+i, msg.As[msg.Decision](e).Txn.Time, "the newest, in order")
	}
	require.EqualValues(t, 1000-len(got), o.Counts().Dropped)
}

func TestBytesAreBounded(t *testing.T) {
	o := outbox.New(outbox.Options{MaxBytes: 10_000})
	big := func(n int) *msg.Envelope {
		e := decide(n)
		e.Body = &msg.CommitResponse{Results: []msg.Result{{Value: make([]byte, 3000)}}}
		return e
	}
	for i := range 20 {
		push(o, big(i))
		require.LessOrEqual(t, o.Counts().WaitingBytes, 10_000)
	}
	huge := decide(99)
	huge.Body = &msg.CommitResponse{Results: []msg.Result{{Value: make([]byte, 50_000)}}}
	push(o, huge)
	got := drain(o)
	require.Equal(t, []*msg.Envelope{huge}, got, "a message above the bound is accepted alone")
}

// Under load, the queue of a connection with a delay is never empty.
func TestNeverEmptyQueueDoesNotGrow(t *testing.T) {
	o := outbox.New(outbox.Options{})
	envs := []*msg.Envelope{decide(1)}
	const many = 200_000
	const limit = 64 << 10 // some dozens are queued; all of them would use 6 MB
	for range 30 {
		push(o, envs...)
	}
	var batch []*msg.Envelope
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range many {
		push(o, envs...)
		batch, _ = o.Take(batch[:0], 1, 1<<20, 0)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, 30, o.Counts().Waiting)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(limit))
}

// The reference model is an unbounded slice: every missing envelope was counted, and the rest is in order.
func TestOutboxMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := outbox.New(outbox.Options{MaxCount: rapid.IntRange(1, 20).Draw(t, "bound")})
		var all []*msg.Envelope
		taken := 0
		at := map[*msg.Envelope]int{}
		last := -1
		check := func(batch []*msg.Envelope) {
			for _, e := range batch {
				if at[e] <= last {
					t.Fatalf("envelope %d after %d", at[e], last)
				}
				last = at[e]
			}
			taken += len(batch)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				e := vote(rapid.IntRange(0, 5).Draw(t, "txn"), len(all))
				at[e] = len(all)
				all = append(all, e)
				push(o, e)
			},
			"take": func(t *rapid.T) {
				batch, _ := o.Take(nil, rapid.IntRange(1, 8).Draw(t, "count"), 1<<20, 0)
				check(batch)
			},
		})
		waiting := o.Counts().Waiting
		rest := drain(o)
		if len(rest) != waiting {
			t.Fatalf("%d queued, %d taken", waiting, len(rest))
		}
		if n := len(all); n > 0 && waiting > 0 && rest[len(rest)-1] != all[n-1] {
			t.Fatalf("the newest is missing")
		}
		check(rest)
		c := o.Counts()
		if got := taken + int(c.Dropped+c.Replaced); got != len(all) || c.Pushed != uint64(len(all)) {
			t.Fatalf("%d pushed, %d accounted for (%+v)", len(all), got, c)
		}
	})
}
