package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

func TestEveryOperationDoesWhatItSays(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	out, err := db.Execute(ctx,
		client.Get(b("a")),
		client.Put(b("a"), b("1")),
		client.Get(b("a")),
		client.PutIfAbsent(b("b"), b("2")),
		client.RequireExists(b("b")),
		client.RequireAbsent(b("c")),
		client.RequireEquals(b("a"), b("1")),
		client.CompareAndSet(b("a"), b("1"), b("")),
		client.Add(b("n"), 40),
		client.AddGet(b("n"), 2),
		client.GetForUpdate(b("n")),
		client.ScanRange(b("a"), nil, 2),
		client.Delete(b("b")),
		client.Delete(b("c")),
		client.DeleteRange(b("a"), b("b")),
	)
	require.NoError(t, err)
	require.Equal(t, 1, out.Attempts)
	require.False(t, out.ID.IsZero())
	rs := out.Results
	require.Len(t, rs, 15)
	require.False(t, rs[0].Found)
	require.True(t, rs[2].Found)
	require.Equal(t, "1", string(rs[2].Value))
	require.Equal(t, rs[1].Version, rs[2].Version)
	require.Equal(t, int64(42), rs[9].Number)
	require.Equal(t, client.TypeCounter, rs[10].Type)
	require.Equal(t, int64(42), rs[10].Number)
	require.Len(t, rs[11].Pairs, 2)
	require.Equal(t, "b", string(rs[11].Pairs[1].Key))
	require.Equal(t, "n", string(rs[11].Resume))
	require.True(t, rs[12].Found)
	require.False(t, rs[13].Found)
	require.Equal(t, uint64(1), rs[14].Count)

	out, err = db.Execute(ctx, client.Put(b("a"), b("x")))
	require.NoError(t, err)
	v := out.Results[0].Version
	_, err = db.Execute(ctx, client.RequireVersion(b("a"), v), client.CompareVersionAndSet(b("a"), v, b("y")),
		client.Delete(b("a")).IfValue(b("y")))
	require.NoError(t, err)
	_, err = db.Execute(ctx, client.RequireVersion(b("a"), v))
	requireKind(t, kv.KindConditionFailed, err)
}

func TestAFailedConditionTellsWhatTheKeyHolds(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	_, err := db.Execute(ctx, client.Put(b("k"), b("held")))
	require.NoError(t, err)
	_, err = db.Execute(ctx, client.Put(b("other"), b("v")), client.PutIfAbsent(b("k"), b("new")))
	e := requireKind(t, kv.KindConditionFailed, err)
	require.Equal(t, 1, e.Op)
	require.Equal(t, "k", string(e.Key))
	require.NotNil(t, e.Current)
	require.Equal(t, "held", string(e.Current.Value))
	require.Contains(t, err.Error(), `the key holds "held", version 0.0.1`)
	out, err := db.Execute(ctx, client.Get(b("other")))
	require.NoError(t, err)
	require.False(t, out.Results[0].Found, "all or nothing")
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
		many[i] = client.Get(b("k"))
	}
	for i := range large {
		large[i] = client.Put(b("k"), make([]byte, kv.MaxValueBytes))
	}
	for name, ops := range map[string][]client.Op{
		"no operations":               {},
		"an empty key":                {client.Get(nil)},
		"a long key":                  {client.Put(make([]byte, kv.MaxKeyBytes+1), nil)},
		"a large value":               {client.Put(b("k"), make([]byte, kv.MaxValueBytes+1))},
		"a large expected value":      {client.RequireEquals(b("k"), make([]byte, kv.MaxValueBytes+1))},
		"an empty range":              {client.ScanRange(b("b"), b("a"), 0)},
		"a negative limit":            {client.ScanRange(nil, nil, -1)},
		"a great limit":               {client.ScanRange(nil, nil, kv.MaxScanLimit+1)},
		"a long bound":                {client.ScanRange(make([]byte, kv.MaxKeyBytes+2), nil, 0)},
		"deleting everything":         {client.DeleteRange(nil, nil)},
		"a delete of what is absent":  {client.Delete(b("k")).IfAbsent()},
		"a condition on a read":       {client.Get(b("k")).IfExists()},
		"too many operations":         many,
		"too many bytes in all":       large,
		"the second of several wrong": {client.Get(b("k")), client.Get(nil)},
	} {
		_, err := db.Execute(context.Background(), ops...)
		e := requireKind(t, kv.KindInvalid, err)
		require.NotEmpty(t, e.Hint, name)
		if strings.HasPrefix(name, "the second") {
			require.Equal(t, 1, e.Op)
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
	out, err := db.Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
	require.NoError(t, err)
	require.Equal(t, 4, out.Attempts)
	require.Len(t, ids, 4)
	require.Equal(t, ids[3], out.ID)
	seen := make(map[kv.TxnID]bool)
	for _, id := range ids {
		require.False(t, seen[id], "a transaction that has ended was sent again under its id")
		seen[id] = true
	}
}

// TestTheServerSaysWhenToComeBack: a refusal that does is followed by a pause of that
// length, and without retries the caller is told.
func TestTheServerSaysWhenToComeBack(t *testing.T) {
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
	_, err := open(t, []string{node}).Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
	require.NoError(t, err)
	require.Len(t, times, 2)
	require.GreaterOrEqual(t, times[1].Sub(times[0]), pause)

	times = nil
	_, err = open(t, []string{node}, client.WithRetries(false)).Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
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
		_, err := db.Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
		e := requireKind(t, k, err)
		require.Equal(t, 1, n, k)
		require.Equal(t, 1, e.Attempts)
		require.False(t, e.ID.IsZero())
	}
}

func TestWithoutRetriesTheFirstFailureIsTold(t *testing.T) {
	f := newFaulty()
	n := 0
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { n++; done(refuse(req, kv.KindAborted)) })
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr}, client.WithRetries(false))
	_, err := db.Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
	requireKind(t, kv.KindAborted, err)
	require.Equal(t, 1, n)
}

func TestRetriesEndWithTheContext(t *testing.T) {
	f := newFaulty()
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { done(refuse(req, kv.KindAborted)) })
	// The pause is so long that the context ends in it, and not while an
	// attempt is under way, which would be another story.
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr}, client.WithPauses(time.Hour, time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := db.Execute(ctx, client.Add(b("n"), 1))
	e := requireKind(t, kv.KindAborted, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, e.Attempts)
}

func TestTheServerIsToldADeadlineBeforeTheCallers(t *testing.T) {
	f := newFaulty()
	var at time.Time
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { at = req.Deadline; f.Store.Submit(req, done) })
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	_, err := db.Execute(ctx, client.Get(b("k")))
	require.NoError(t, err)
	deadline, _ := ctx.Deadline()
	require.WithinRange(t, at, deadline.Add(-200*time.Millisecond), deadline)
}

func TestIdsCarryTheServersTime(t *testing.T) {
	db, _ := openStore(t)
	before := time.Now().Add(-time.Second).UnixNano()
	out, err := db.Execute(within(t, 10*time.Second), client.Get(b("k")))
	require.NoError(t, err)
	require.Greater(t, out.ID.Time, before)
	require.Less(t, out.ID.Time, time.Now().Add(time.Second).UnixNano())
}

func TestWaitingShowsInTheReceipt(t *testing.T) {
	f := newFaulty()
	holder := kv.TxnID{Time: 1, Rand: 2}
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		f.Store.Submit(req, func(r gateway.Response) {
			r.Receipt = msg.Receipt{Key: b("k"), WaitedNanos: 3_000_000, Cause: msg.CauseLock, Others: 1,
				Mode: uint64(adt.ModeWrite), Methods: uint64(adt.MethodPut.Set()), HolderMode: uint64(adt.ModeAdd), HolderMethods: uint64(adt.MethodAdd.Set())}
			r.Receipt.Holder.TxnID = holder
			by := msg.Receipt{Cause: msg.CauseChanged, Key: b("j")}
			r.Ended.Count, r.Ended.Reason, r.Ended.By = 2, msg.ReasonStaleRead, &by
			done(r)
		})
	})
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	out, err := db.Execute(within(t, 10*time.Second), client.Get(b("k")))
	require.NoError(t, err)
	want := client.Receipt{Waited: 3 * time.Millisecond, Key: b("k"), Holder: holder, Aborted: 2, Reason: "stale-read",
		Wait: &client.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: b("k"), Holder: holder, Others: 1, Lock: "write", HolderLock: "add",
			Operations: []string{"put"}, HolderOperations: []string{"add"}, Advice: &pb.Advice{Instead: "add"}},
		Abort: &client.Conflict{Cause: pb.Cause_CAUSE_CHANGED, Key: b("j")}}
	require.Equal(t, want, out.Receipt)
	require.Equal(t, `Waited 3 ms for key "k": the put conflicts with an add of transaction 00000000000000010000000000000002, and with 1 more. `+
		`2 attempts were aborted, the last one because another transaction changed key "j" after this one had read it. `+
		`Replace the put with an add if the key is only incremented: adds commute.`, out.Receipt.String())
	require.Empty(t, client.Receipt{}.String())
	failed := &client.Error{Kind: kv.KindDeadlineExceeded, Text: "too late", Op: -1, Hint: "allow more time", Receipt: want}
	require.Equal(t, "DeadlineExceeded: too late; allow more time. "+want.String(), failed.Error())
}

// TestAPastDeadlineSendsNothing: however quick the sender is.
func TestAPastDeadlineSendsNothing(t *testing.T) {
	db, _ := openStore(t)
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for range 5000 {
		_, err := db.Execute(past, client.Put([]byte("k"), []byte("late")))
		requireKind(t, kv.KindDeadlineExceeded, err)
	}
	out, err := db.Execute(t.Context(), client.Get([]byte("k")))
	require.NoError(t, err)
	require.False(t, out.Results[0].Found)
}
