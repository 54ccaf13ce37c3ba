package embed_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// written is a write, and when it was begun and answered.
type written struct{ begun, answered int64 }

// TestAsOfReadsTheStateOfItsTime: what is read as of a time was begun before
// it, and is no older than the state that the answer names, which is the newest
// of the history.
func TestAsOfReadsTheStateOfItsTime(t *testing.T) {
	c := remembering(t, time.Minute)
	var all []written
	states, begin := map[uint64]bool{}, time.Now()
	for i := 0; i < 20 || len(states) < 10; i++ {
		require.Less(t, time.Since(begin), waitTimeout, "there is a history")
		x := written{begun: time.Now().UnixNano()}
		write(t, c, kv.NodeID(i%3+1), strconv.Itoa(i))
		x.answered = time.Now().UnixNano()
		all = append(all, x)
		if r := readAs(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{AsOf: time.Now().UnixNano()}}); r.Err == nil {
			states[r.Snapshot.Number] = true
		}
	}
	clear(states)
	for i := range all {
		at := all[i].answered
		r := readAs(t, c, kv.NodeID(i%3+1), txn.TxnOptions{At: txn.SnapshotRef{AsOf: at}})
		if r.Err != nil { // no state had been fixed yet
			failsWith(t, r, kv.KindTooOld, "is before the history, which begins at ")
			require.Empty(t, states, "later times have one")
			continue
		}
		states[r.Snapshot.Number] = true
		require.LessOrEqual(t, r.Snapshot.Time, at)
		n, err := strconv.Atoi(cmp.Or(same(t, r.Results), "-1")) // -1: it is from before the first
		require.NoError(t, err)
		if n >= 0 {
			require.Less(t, all[n].begun, at, "it was written later")
		}
		for j := n + 1; j < len(all) && all[j].answered < r.Snapshot.Time; j++ {
			t.Fatalf("write %d was answered before the state's time, and %d was read", j, n)
		}
		again := readAs(t, c, kv.NodeID((i+1)%3+1), txn.TxnOptions{At: txn.SnapshotRef{Number: r.Snapshot.Number}})
		require.Nil(t, again.Err, "%v", again.Err)
		require.Equal(t, r.Results, again.Results, "the state can be read again by its number")
	}
	require.Greater(t, len(states), 3, "there is a history")
	last := strconv.Itoa(len(all) - 1)
	require.Eventually(t, func() bool {
		r := readAs(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{AsOf: time.Now().UnixNano()}})
		return r.Err == nil && same(t, r.Results) == last
	}, waitTimeout, grain, "the last state is fixed although there are no more writes")
	quiet(t, c)
}

func TestTimesThatCannotBeRead(t *testing.T) {
	c := remembering(t, 10*grain)
	asOf := func(at time.Time) gateway.Response {
		return readAs(t, c, 2, txn.TxnOptions{At: txn.SnapshotRef{AsOf: at.UnixNano()}})
	}
	begin := time.Now()
	write(t, c, 1, "0")
	failsWith(t, asOf(begin.Add(-time.Hour)), kv.KindTooOld, "is before the history, which ")
	r := asOf(time.Now().Add(time.Hour))
	failsWith(t, r, kv.KindInvalid, "is in the future: the server's clock shows ")
	require.Eventually(t, func() bool {
		r := asOf(time.Now())
		return r.Err == nil && same(t, r.Results) == "0"
	}, waitTimeout, grain)
	mid := time.Now()
	require.Eventually(t, func() bool { // writes move the history on
		write(t, c, 3, "1")
		r = asOf(mid)
		if r.Err == nil {
			require.Equal(t, "0", same(t, r.Results))
			return false
		}
		// It may go after it was found, and before it is read.
		return r.Err.Kind != kv.KindTooOld || strings.Contains(r.Err.Text, "is before the history")
	}, waitTimeout, grain/4)
	require.Greater(t, time.Since(mid), 10*grain, "it was given up too early")
	failsWith(t, r, kv.KindTooOld, "is before the history, which begins at ")
	quiet(t, c)
}

func TestWithoutHistoryThereIsNoAsOf(t *testing.T) {
	c := start(t, embed.ClusterOptions{Protocol: embed.Protocol{History: -1, HistoryEvery: grain}})
	write(t, c, 1, "0")
	failsWith(t, readAs(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{AsOf: time.Now().UnixNano()}}), kv.KindInvalid,
		"history is off on this server")
}
