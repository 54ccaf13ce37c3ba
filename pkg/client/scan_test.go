package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func fill(t *testing.T, db *client.DB, n int) {
	t.Helper()
	var ops []client.Op
	for i := range n {
		ops = append(ops, client.PutOp(fmt.Sprintf("k%03d", i), fmt.Appendf(nil, "v%d", i)))
	}
	err := db.Execute(within(t, 10*time.Second), ops...)
	require.NoError(t, err)
}

func TestScanKeepsItsBounds(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 30)
	ctx := within(t, 10*time.Second)
	keys := func(start, end string, o ...client.ScanOption) (ks []string) {
		for p, err := range db.Scan(ctx, client.Range{Start: start, End: end}, o...) {
			require.NoError(t, err)
			ks = append(ks, p.Key)
		}
		return ks
	}
	require.Len(t, keys("", "", client.PageSize(4)), 30)
	require.Equal(t, []string{"k005", "k006"}, keys("k005", "k007"))
	require.Equal(t, []string{"k005", "k006", "k007"}, keys("k005", "", client.Limit(3), client.PageSize(2)))
	require.Empty(t, keys("z", ""))
}

func TestLeavingTheLoopEndsTheScan(t *testing.T) {
	db, s := openStore(t)
	fill(t, db, 30)
	for p, err := range db.Scan(within(t, 10*time.Second), client.Range{}, client.PageSize(1)) {
		require.NoError(t, err)
		require.Equal(t, "v0", string(p.Value))
		break
	}
	require.Zero(t, s.Open())
}

func TestFailuresOfScansAreYieldedOnce(t *testing.T) {
	n := startNode(t, servertest.New(), "", server.Options{})
	db := hasty(open(t, []string{n.addr}))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	count := func(ctx context.Context, start, end string) (n int, last error) {
		for _, err := range db.Scan(ctx, client.Range{Start: start, End: end}) {
			n, last = n+1, err
		}
		return n, last
	}
	times, err := count(context.Background(), "b", "a")
	requireKind(t, client.KindInvalid, err)
	require.Equal(t, 1, times)
	times, err = count(cancelled, "", "")
	requireKind(t, client.KindCancelled, err)
	require.Equal(t, 1, times)
	n.stop()
	times, err = count(context.Background(), "", "")
	requireKind(t, client.KindUnavailable, err)
	require.Equal(t, 1, times)
}

// TestScansGoBothWays, with limits, on each kind of reader.
func TestScansGoBothWays(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 30)
	ctx := within(t, 20*time.Second)
	past, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	check := func(ctx context.Context, r client.Reader) {
		keys := func(rg client.Range, o ...client.ScanOption) (ks []string) {
			for e, err := range r.Scan(ctx, rg, o...) {
				require.NoError(t, err)
				require.Equal(t, client.TypeValue, e.Type)
				require.NotEmpty(t, e.Value)
				ks = append(ks, e.Key)
			}
			return ks
		}
		require.Equal(t, []string{"k029", "k028", "k027"}, keys(client.Prefix("k"), client.Reverse(), client.Limit(3)))
		require.Equal(t, []string{"k006", "k005"}, keys(client.Range{Start: "k005", End: "k007"}, client.Reverse()))
		require.Equal(t, []string{"k005", "k006", "k007"}, keys(client.Range{Start: "k005"}, client.Limit(3),
			client.PageSize(2)))
		require.Len(t, keys(client.Range{}, client.PageSize(7)), 30)
		require.Empty(t, keys(client.Prefix("z")))
		n := 0
		for range r.Scan(ctx, client.Range{}, client.Reverse()) {
			if n++; n == 2 {
				break
			}
		}
		require.Equal(t, 2, n)
		for _, bad := range [][]client.ScanOption{{client.Limit(-1)}, {client.PageSize(-1)}, {client.PageSize(10_001)}} {
			for _, err := range r.Scan(ctx, client.Range{}, bad...) {
				requireKind(t, client.KindInvalid, err)
			}
		}
	}
	check(ctx, db)
	check(ctx, past)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { check(ctx, tx); return nil }))
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error { check(ctx, v); return nil }))
}

// scanCounter is a store that counts the pages of scans that the node has sent, and reports their ends.
type scanCounter struct {
	*faulty
	pages atomic.Int64
	ended chan error
}

func (s *scanCounter) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	err := s.Store.Scan(ctx, o, func(p []msg.Pair) error {
		s.pages.Add(1)
		return page(p)
	})
	s.ended <- err
	return err
}

// TestASlowLoopContinues: the node ends scans whose client takes nothing for longer than it waits, and
// the client takes pages in time though the loop does not.
func TestASlowLoopContinues(t *testing.T) {
	const slowReader = 400 * time.Millisecond
	s := &scanCounter{faulty: newFaulty(), ended: make(chan error, 2)}
	n := startNode(t, s, "", server.Options{SlowReader: slowReader})
	db := open(t, []string{n.addr}, client.ReadEvery(slowReader/4))
	ctx := within(t, 60*time.Second)
	var ops []client.Op
	for i := range 60 { // far more than a connection takes without being read
		ops = append(ops, client.PutOp(fmt.Sprintf("k%03d", i), make([]byte, 200_000)))
	}
	require.NoError(t, db.Execute(ctx, ops...))
	read := 0
	for e, err := range db.Scan(ctx, client.Range{}, client.PageSize(1)) {
		require.NoError(t, err)
		require.Len(t, e.Value, 200_000)
		if read++; read <= 2 { // the loop is slow: it waits for pages that the client takes one by one
			before := s.pages.Load()
			require.Eventually(t, func() bool { return s.pages.Load() >= before+2 }, 20*time.Second, time.Millisecond)
		}
	}
	require.Equal(t, 60, read)
	require.NoError(t, <-s.ended)

	hasty := open(t, []string{n.addr}, client.ReadEvery(time.Hour))
	var failed, ended error
	for _, err := range hasty.Scan(ctx, client.Range{}, client.PageSize(1)) {
		failed = err
		if err != nil {
			break
		}
		if ended == nil {
			ended = <-s.ended // the node ends the scan, which is not read
		}
	}
	require.Error(t, ended)
	require.ErrorIs(t, failed, client.ErrResourceExhausted)
}

// TestScansOfASnapshotContinue where they were when the connection broke; those of the present state
// cannot.
func TestScansOfASnapshotContinue(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	ctx := within(t, 20*time.Second)
	var ops []client.Op
	for i := range 30 {
		ops = append(ops, client.PutOp(fmt.Sprintf("k%03d", i), make([]byte, 100_000)))
	}
	require.NoError(t, db.Execute(ctx, ops...))
	past, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	require.NoError(t, db.Put(ctx, "k0005", nil), "not in the snapshot")
	for _, o := range [][]client.ScanOption{{}, {client.Reverse()}, {client.Limit(29)},
		{client.Reverse(), client.Limit(25)}} {
		var keys []string
		for e, err := range past.Scan(ctx, client.Prefix("k"), append(o, client.PageSize(1))...) {
			require.NoError(t, err)
			keys = append(keys, e.Key)
			if n := len(keys); n == 3 || n == 11 {
				w.cut()
			}
		}
		var want []string
		for e, err := range past.Scan(ctx, client.Prefix("k"), o...) {
			require.NoError(t, err)
			want = append(want, e.Key)
		}
		require.Equal(t, want, keys)
	}
	n, failed := 0, error(nil)
	for _, err := range db.Scan(ctx, client.Prefix("k"), client.PageSize(1)) {
		if n++; n == 3 {
			w.cut()
		}
		failed = err
	}
	requireKind(t, client.KindUnavailable, failed)
	require.Less(t, n, 31)
}

func TestPrefix(t *testing.T) {
	for p, end := range map[string]string{"": "", "a": "b", "user:": "user;", "a\xff": "b", "\xff\xff": "",
		"a\x00": "a\x01"} {
		require.Equal(t, client.Range{Start: p, End: end}, client.Prefix(p))
	}
}

// pagesBack reads a range in reverse by ScanOp, at most limit keys at a time.
func pagesBack(t *testing.T, ctx context.Context, r client.Reader, from client.Range, limit int) (keys []string) {
	for more := true; more; {
		op := client.ScanOp(from, limit, client.Reverse())
		require.NoError(t, r.Execute(ctx, op))
		page := op.Value()
		require.LessOrEqual(t, len(page.Entries), limit)
		for _, e := range page.Entries {
			keys = append(keys, e.Key)
		}
		from, more = page.Rest, page.More
	}
	return keys
}

// TestPagesInReverse: the pages together have the keys of the range in descending order, of all shards
// and with the transaction's own writes.
func TestPagesInReverse(t *testing.T) {
	db := linchpintest.StartCluster(t, 2).DB()
	ctx := within(t, 20*time.Second)
	fill(t, db, 30)
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("k%03d", 29-i))
	}
	middle := client.Range{Start: "k005", End: "k025"}
	check := func(ctx context.Context, r client.Reader, want []string) {
		t.Helper()
		for _, limit := range []int{1, 4, 30, 100} {
			require.Equal(t, want, pagesBack(t, ctx, r, client.Prefix("k"), limit))
		}
		require.Len(t, pagesBack(t, ctx, r, middle, 7), 20)
		var scanned []string
		for e, err := range r.Scan(ctx, client.Prefix("k"), client.Reverse(), client.PageSize(7)) {
			require.NoError(t, err)
			scanned = append(scanned, e.Key)
		}
		require.Equal(t, want, scanned)
	}
	check(ctx, db, want)
	past, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	check(ctx, past, want)
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error { check(ctx, v, want); return nil }))
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Put(ctx, "k0295", b("v")))
		require.NoError(t, tx.Delete(ctx, "k029"))
		require.NoError(t, tx.Delete(ctx, "k004"))
		own := append([]string{"k0295"}, want[1:]...)
		check(ctx, tx, slices.DeleteFunc(own, func(k string) bool { return k == "k004" }))
		require.Len(t, pagesBack(t, ctx, tx, middle, 7), 20)
		return nil
	}))
}

// TestAReverseScanOfATransactionReadsNoMoreThanItsPages: keys before them stay unlocked.
func TestAReverseScanOfATransactionReadsNoMoreThanItsPages(t *testing.T) {
	db := linchpintest.Start(t)
	fill(t, db, 30)
	ctx := within(t, 20*time.Second)
	require.NoError(t, db.Update(ctx, func(inner context.Context, tx *client.Tx) error {
		n := 0
		for e, err := range tx.Scan(inner, client.Prefix("k"), client.Reverse(), client.Limit(2)) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("k%03d", 29-n), e.Key)
			n++
		}
		require.Equal(t, 2, n)
		for _, key := range []string{"k000", "k015"} {
			require.NoError(t, db.Put(ctx, key, b("w")), "%s is not locked", key)
		}
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		err := db.Put(short, "k028", b("w"))
		requireKind(t, client.KindDeadlineExceeded, err)
		return nil
	}))
}

// TestAReverseScanIsTheSameFromTheStore: the response is lost, and the result is the one that the store
// has kept.
func TestAReverseScanIsTheSameFromTheStore(t *testing.T) {
	c := linchpintest.StartCluster(t, 2)
	ctx := within(t, 20*time.Second)
	fill(t, c.DB(), 10)
	for _, limit := range []int{3, 100} {
		scan := func() ([]string, client.Range) {
			op := client.ScanOp(client.Range{Start: "k002", End: "k009"}, limit, client.Reverse())
			require.NoError(t, c.DB().Execute(ctx, op, add("n", 1)))
			var keys []string
			for _, e := range op.Value().Entries {
				keys = append(keys, e.Key)
			}
			return keys, op.Value().Rest
		}
		want, rest := scan()
		require.Equal(t, "k008", want[0])
		c.LoseAnswers(1)
		got, left := scan()
		require.Equal(t, want, got)
		require.Equal(t, rest, left)
	}
}
