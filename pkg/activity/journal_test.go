package activity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

func TestABucketIsAsWideAsIsSaid(t *testing.T) {
	before := -1
	for d := time.Duration(0); d < 2*kv.MaxTxnAge; d += d/16 + 500 {
		b := bucketOf(d)
		require.GreaterOrEqual(t, b, before)
		before = b
		if b == numBuckets-1 {
			continue // all above
		}
		require.Less(t, d, upper(b), "bucket %d", b)
		if b > 0 {
			require.GreaterOrEqual(t, d, upper(b-1), "bucket %d", b)
		}
		if d >= 16*time.Microsecond {
			require.LessOrEqual(t, float64(upper(b)-upper(b-1)), 0.26*float64(d), "bucket %d", b)
		}
	}
	require.Less(t, bucketOf(kv.MaxTxnAge), numBuckets-1, "every transaction has a bucket with an end")
	require.Zero(t, bucketOf(-1))
}

// ended is a transaction that did not wait.
func ended(took time.Duration, outcome kv.Kind) *Ended {
	return &Ended{Kind: metrics.OneShot, Took: took, Outcome: outcome, Contention: &txn.Contention{}}
}

func waited(key string, nanos int64) *Ended {
	return &Ended{Kind: metrics.OneShot, Took: time.Duration(nanos),
		Contention: &txn.Contention{Receipt: msg.Receipt{WaitedNanos: nanos, Key: []byte(key), Mode: 3, HolderMode: 2}}}
}

func TestASecondHasWhatEndedInIt(t *testing.T) {
	j, at := New(), time.Unix(1000, 0)
	j.Ended(ended(time.Millisecond, kv.KindOK))
	j.Ended(ended(time.Millisecond, kv.KindUnavailable))
	j.Ended(ended(time.Millisecond, kv.KindAborted))
	j.Ended(ended(time.Millisecond, kv.KindConditionFailed))
	j.Ended(ended(time.Millisecond, kv.KindOutOfRange))
	j.Ended(ended(time.Millisecond, kv.KindNotFound))
	j.Seal(at)
	j.Seal(at.Add(time.Second)) // nothing has ended since
	j.Ended(ended(time.Second, kv.KindOK))
	j.Seal(at.Add(2 * time.Second))

	got := j.Seconds(0)
	require.Len(t, got, 2, "there is none of a second without an end")
	require.Equal(t, pb.ActivitySecond{TimeS: 1000, Classes: []pb.ActivityClass{{Kind: "one_shot", Ended: 6, Committed: 1,
		Retried: 1, Failed: 1, UpperUs: []uint64{1048}, Counts: []uint32{6}}}}, got[0])
	require.EqualValues(t, 1002, got[1].TimeS)
	require.Len(t, j.Seconds(1000), 1)
	require.Empty(t, j.Seconds(1002))

	j.Ended(ended(time.Second, kv.KindOK))
	j.Seal(at) // a clock that was set back
	got = j.Seconds(1002)
	require.Len(t, got, 1)
	require.EqualValues(t, 1003, got[0].TimeS)

	j.Seal(at.Add(Kept * time.Second))
	require.EqualValues(t, 1002, j.Seconds(0)[0].TimeS, "what is older than is kept is gone")
}

func TestOfASecondTheLongestReceiptsAreKept(t *testing.T) {
	var rs receipts
	for i := range int64(100) {
		rs.add(5e9, waited("k", 1+(i*37)%100))
	}
	require.Len(t, rs.all, perSecond)
	for _, r := range rs.all {
		require.Greater(t, r.Receipt.WaitedNanos, int64(100-perSecond))
	}
	rs.add(6e9, waited("next", 1))
	require.Equal(t, "next", string(rs.newest(1)[0].Receipt.Key), "another second has room of its own")
	for i := range int64(1000) {
		rs.add(i*1e9, waited("k", 1))
	}
	require.Len(t, rs.all, keptReceipts)
	require.EqualValues(t, 999e9, rs.newest(2)[0].At)
}

func TestAReceiptIsNotKeptByReference(t *testing.T) {
	j, e := New(), waited("key", 5000)
	e.Contention.Ended = txn.Ended{Count: 1, By: &msg.Receipt{Key: []byte("key")}}
	j.Ended(e)
	e.Receipt.Key[0], e.Contention.Ended.By.Key[0] = 'x', 'x'
	r := j.Receipts(10)[0]
	require.Equal(t, "key", string(r.Receipt.Key))
	require.Equal(t, "key", string(r.Contention.Ended.By.Key))
	for _, c := range j.Conflicts() {
		require.Equal(t, "key", string(c.Key))
	}
}

func TestAWaitTooShortToShowIsNone(t *testing.T) {
	j := New()
	j.Ended(waited("key", 999))
	require.Empty(t, j.Receipts(1))
	require.Empty(t, j.Conflicts())
}

func TestConflictsAreOfTheLastMinutes(t *testing.T) {
	c := newConflicts()
	r := &waited("key", 10).Receipt
	c.add(10*minute, r, sums{Waits: 1, Nanos: 10})
	c.add(12*minute, r, sums{Waits: 1, Nanos: 10})
	got := c.list()
	require.Len(t, got, 1)
	require.Equal(t, Conflict{Key: []byte("key"), Pair: PairOf(r), Waits: 2, Nanos: 20, Since: 10 * minute,
		Last: 12 * minute}, got[0])

	c.rotate(16 * minute)
	require.EqualValues(t, 1, c.list()[0].Waits, "the first has been forgotten")
	require.EqualValues(t, 10*minute, c.list()[0].Since, "and that it has been hot since then has not")
	c.rotate(18 * minute)
	require.Empty(t, c.list())
	require.Empty(t, c.keys)
	c.add(100*minute, r, sums{Waits: 1, Nanos: 10}) // after a long time without any
	require.EqualValues(t, 100*minute, c.list()[0].Since)
}

func TestAHotKeyStaysInAFullTableAndSumsAreExact(t *testing.T) {
	c, r := newConflicts(), rand.New(rand.NewPCG(1, 2))
	sum, hot := int64(0), int64(0)
	for i := range 20_000 {
		key, nanos := fmt.Sprint("cold", r.IntN(5000)), int64(10)
		if i%20 == 0 {
			key, nanos = "hot", 1000
			hot += nanos
		}
		sum += nanos
		c.add(minute+int64(i), &waited(key, nanos).Receipt, sums{Waits: 1, Nanos: nanos})
	}
	got := c.list()
	at := slices.IndexFunc(got, func(x Conflict) bool { return string(x.Key) == "hot" })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, hot, got[at].Nanos)
	require.LessOrEqual(t, len(c.keys), maxKeys)
	total, waits := int64(0), uint64(0)
	for _, x := range got {
		total, waits = total+x.Nanos, waits+x.Waits
	}
	require.Equal(t, sum, total)
	require.EqualValues(t, 20_000, waits)
}

func TestPairsOfAKeyAreBounded(t *testing.T) {
	c := newConflicts()
	for i := range uint64(100) {
		r := &waited("key", 10).Receipt
		r.Mode = 4 + i
		c.add(minute, r, sums{Waits: 1, Nanos: 10})
	}
	got := c.list()
	require.Len(t, got, maxPairs)
	require.Equal(t, Pair{}, got[0].Pair, "the rest is of none that is told")
	require.EqualValues(t, 100-(maxPairs-1), got[0].Waits)
}

func TestManyAtOnce(t *testing.T) {
	j := New()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				j.Ended(waited(fmt.Sprint("k", g, i%100), int64(5*time.Millisecond)))
				if i%100 == 0 {
					j.Seal(time.Now())
					j.Conflicts()
					j.Receipts(10)
				}
			}
		})
	}
	wg.Wait()
	j.Seal(time.Now())
	n, waits := uint32(0), uint64(0)
	for _, s := range j.Seconds(0) {
		n += s.Classes[0].Ended
	}
	for _, c := range j.Conflicts() {
		waits += c.Waits
	}
	require.EqualValues(t, 16_000, n)
	require.EqualValues(t, 16_000, waits)
}
