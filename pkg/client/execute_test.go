package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

func TestEveryOperationDoesWhatItSays(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	var report client.Report
	n := client.NewCounter("n")
	before, put, after := client.GetOp("a"), client.PutOp("a", b("1")), client.EntryOp("a")
	sum, number, page := n.AddGetOp(2), client.EntryOp("n"), client.ScanOp(client.Range{Start: "a"}, 2)
	deleted, missing, many := client.DeleteOp("b"), client.DeleteOp("c"), client.DeleteRangeOp(client.Prefix("a"))
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(ctx,
		before, put, after,
		client.PutOp("b", b("2"), client.IfAbsent()),
		client.RequireOp("b", client.IfExists()),
		client.RequireOp("c", client.IfAbsent()),
		client.RequireOp("a", client.IfValue(b("1"))),
		client.PutOp("a", nil, client.IfValue(b("1"))),
		n.AddOp(40), sum, number, page, deleted, missing, many,
	))
	require.Equal(t, 1, report.Attempts)
	require.Equal(t, "Execute", report.Call)
	require.False(t, report.TxID.IsZero())
	require.False(t, before.Found())
	require.True(t, after.Found())
	require.Equal(t, "1", string(after.Value().Value))
	require.Equal(t, put.Value(), after.Value().Version)
	require.Equal(t, int64(42), sum.Value())
	require.Equal(t, client.TypeCounter, number.Value().Type)
	require.Equal(t, int64(42), number.Value().Number)
	require.Len(t, page.Value().Entries, 2)
	require.Equal(t, "b", page.Value().Entries[1].Key)
	require.Equal(t, client.Range{Start: "n"}, page.Value().Rest)
	require.True(t, page.Value().More)
	require.True(t, deleted.Value())
	require.False(t, missing.Value())
	require.Equal(t, 1, many.Value())

	put = client.PutOp("a", b("x"))
	require.NoError(t, db.Execute(ctx, put))
	v := put.Value()
	require.NoError(t, db.Execute(ctx, client.RequireOp("a", client.IfVersion(v)),
		client.PutOp("a", b("y"), client.IfVersion(v)),
		client.DeleteOp("a", client.IfValue(b("y")))))
	err := db.Execute(ctx, client.RequireOp("a", client.IfVersion(v)))
	requireKind(t, client.KindConditionFailed, err)
}

func TestFailedConditionReportsCurrentValue(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	err := db.Execute(ctx, client.PutOp("k", b("held")))
	require.NoError(t, err)
	err = db.Execute(ctx, client.PutOp("other", b("v")), client.PutOp("k", b("new"), client.IfAbsent()))
	e := requireKind(t, client.KindConditionFailed, err)
	require.Equal(t, 1, e.Op)
	require.Equal(t, "k", e.Key)
	require.Equal(t, "put", e.Operation)
	require.NotNil(t, e.Current)
	require.Equal(t, "held", string(e.Current.Value))
	require.Contains(t, err.Error(), `the key holds "held", version 0.0.1`)
	require.Empty(t, value(t, db, "other"), "all or nothing")
}

func TestWhatNoServerWouldTakeIsRefusedBeforeItIsSent(t *testing.T) {
	f := newFaulty()
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		t.Error("a request was sent")
		done(refuse(req, kv.KindInvalid))
	})
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	many := make([]client.Op, kv.MaxTxnOps+1)
	large := make([]client.Op, 17)
	for i := range many {
		many[i] = client.GetOp("k")
	}
	for i := range large {
		large[i] = client.PutOp("k", make([]byte, kv.MaxValueBytes))
	}
	for name, ops := range map[string][]client.Op{
		"no operations":               {},
		"an empty key":                {client.GetOp("")},
		"a long key":                  {client.PutOp(strings.Repeat("k", kv.MaxKeyBytes+1), nil)},
		"a large value":               {client.PutOp("k", make([]byte, kv.MaxValueBytes+1))},
		"a large expected value":      {client.RequireOp("k", client.IfValue(make([]byte, kv.MaxValueBytes+1)))},
		"an empty range":              {client.ScanOp(client.Range{Start: "b", End: "a"}, 0)},
		"a negative limit":            {client.ScanOp(client.Range{}, -1)},
		"a great limit":               {client.ScanOp(client.Range{}, kv.MaxScanLimit+1)},
		"a long bound":                {client.ScanOp(client.Range{Start: strings.Repeat("k", kv.MaxKeyBytes+2)}, 0)},
		"deleting everything":         {client.DeleteRangeOp(client.Range{})},
		"a nil operation":             {nil},
		"no condition":                {client.RequireOp("k", nil)},
		"the zero version":            {client.PutOp("k", nil, client.IfVersion(client.Version{}))},
		"a short time to live":        {client.PutOp("k", nil, client.TTL(-1))},
		"no time to live":             {client.ExpireOp("k", 0)},
		"a dump of nothing":           {client.RestoreOp("k", client.Dump{})},
		"an argument of a call":       {client.CallOp[int]("k", "set", "add", nil, struct{}{})},
		"too many operations":         many,
		"too many bytes in all":       large,
		"the second of several wrong": {client.GetOp("k"), client.GetOp("")},
	} {
		err := db.Execute(context.Background(), ops...)
		e := requireKind(t, client.KindInvalid, err)
		require.NotEmpty(t, e.Hint, name)
		require.Zero(t, e.Attempts, name)
		if strings.HasPrefix(name, "the second") {
			require.Equal(t, 1, e.Op)
			require.NoError(t, ops[0].Err())
			require.Equal(t, e, ops[1].Err())
		}
	}
}

func TestEachAttemptHasAnIDOfItsOwn(t *testing.T) {
	f := newFaulty()
	var ids []kv.TxnID
	kinds := []kv.Kind{kv.KindAborted, kv.KindUnavailable, kv.KindResourceExhausted}
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		ids = append(ids, req.ID)
		if len(ids) <= len(kinds) {
			done(refuse(req, kinds[len(ids)-1]))
			return
		}
		f.Store.Submit(req, done)
	})
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	var report client.Report
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(within(t, 10*time.Second), add("n", 1)))
	require.Equal(t, 4, report.Attempts)
	require.Len(t, ids, 4)
	require.Equal(t, id(ids[3]), report.TxID)
	seen := make(map[kv.TxnID]bool)
	for _, id := range ids {
		require.False(t, seen[id], "a transaction that has ended was sent again under its id")
		seen[id] = true
	}
}

// TestRetryAfter: the client waits for as long as the node asks, and without retries the error has it.
func TestRetryAfter(t *testing.T) {
	const pause = 300 * time.Millisecond // far above the client's own first pause
	f := newFaulty()
	var times []time.Time
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		times = append(times, time.Now())
		if len(times) == 1 {
			r := refuse(req, kv.KindResourceExhausted)
			r.Err.RetryAfter = pause
			done(r)
			return
		}
		f.Store.Submit(req, done)
	})
	node := startNode(t, f, "", server.Options{}).addr
	err := open(t, []string{node}).Execute(within(t, 10*time.Second), add("n", 1))
	require.NoError(t, err)
	require.Len(t, times, 2)
	require.GreaterOrEqual(t, times[1].Sub(times[0]), pause)

	times = nil
	err = hasty(open(t, []string{node})).Execute(within(t, 10*time.Second), add("n", 1))
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, pause, e.RetryAfter)
}

func TestOtherKindsAreNotTriedAgain(t *testing.T) {
	for _, k := range kv.Kinds() {
		if k == kv.KindOK || k == kv.KindOutcomeUnknown || k == kv.KindInternal || k.Retryable() {
			continue
		}
		f := newFaulty()
		n := 0
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { n++; done(refuse(req, k)) })
		db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
		err := db.Execute(within(t, 10*time.Second), add("n", 1))
		e := requireKind(t, client.Kind(k.String()), err)
		require.Equal(t, 1, n, k)
		require.Equal(t, 1, e.Attempts)
		require.False(t, e.TxID.IsZero())
		require.Equal(t, client.NotApplied, e.Outcome)
	}
}

func TestIdsCarryTheServersTime(t *testing.T) {
	db, _ := openStore(t)
	before := time.Now().Add(-time.Second).UnixNano()
	var report client.Report
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(within(t, 10*time.Second), client.GetOp("k")))
	require.Greater(t, report.TxID.Time().UnixNano(), before)
	require.Less(t, report.TxID.Time().UnixNano(), time.Now().Add(time.Second).UnixNano())
}

func TestWaitingShowsInTheReceipt(t *testing.T) {
	f := newFaulty()
	holder := kv.TxnID{Time: 1, Rand: 2}
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		f.Store.Submit(req, func(r gateway.Response) {
			r.Receipt = msg.Receipt{Key: b("k"), WaitedNanos: 3_000_000, Cause: msg.CauseLock, Others: 1,
				Mode: uint64(adt.ModeWrite), Methods: uint64(adt.MethodPut.Set()), HolderMode: uint64(adt.ModeAdd),
				HolderMethods: uint64(adt.MethodAdd.Set())}
			r.Receipt.Holder.TxnID = holder
			by := msg.Receipt{Cause: msg.CauseChanged, Key: b("j")}
			r.Ended.Count, r.Ended.Reason, r.Ended.By = 2, msg.ReasonStaleRead, &by
			done(r)
		})
	})
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	var report client.Report
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(within(t, 10*time.Second), client.GetOp("k")))
	got := report.Receipt
	require.Equal(t, 3*time.Millisecond, got.Waited)
	require.Equal(t, 2, got.Aborted)
	require.Equal(t, "stale-read", got.Reason)
	require.Equal(t, &client.Conflict{Cause: "lock", Key: "k", Holder: id(holder), Others: 1, Lock: "write",
		HolderLock: "add",
		Operations: []string{"put"}, HolderOperations: []string{"add"}, Advice: &client.Advice{Instead: "add"}}, got.Wait)
	require.Equal(t, &client.Conflict{Cause: "changed", Key: "j"}, got.Abort)
	require.False(t, got.IsZero())
	require.Equal(t, `Waited 3 ms for key "k": the put conflicts with an add of transaction `+
		`00000000000000010000000000000002, and with 1 more. `+
		`2 attempts were aborted, the last one because another transaction changed key "j" after this one had read it. `+
		`Replace the put with an add if the key is only incremented: adds commute.`, got.String())
	require.Empty(t, client.Receipt{}.String())
	failed := &client.Error{Kind: client.KindDeadlineExceeded, Message: "too late", Op: -1, Hint: "allow more time",
		Receipt: got}
	require.Equal(t, "DeadlineExceeded: too late; allow more time. "+got.String(), failed.Error())
}

// TestAPastDeadlineSendsNothing, however fast the sender is.
func TestAPastDeadlineSendsNothing(t *testing.T) {
	db, _ := openStore(t)
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for range 5000 {
		err := db.Execute(past, client.PutOp("k", []byte("late")))
		requireKind(t, client.KindDeadlineExceeded, err)
	}
	require.Empty(t, value(t, db, "k"))
}
