package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// TestOutcomeFillsOperations with the results that the store has kept.
func TestOutcomeFillsOperations(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	fill(t, db, 5)
	var report client.Report
	sum, page := client.NewCounter("n").AddGetOp(7), client.ScanOp(client.Prefix("k"), 2)
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(ctx, sum, page, add("n", 1)))
	again, pageAgain := client.NewCounter("n").AddGetOp(7), client.ScanOp(client.Prefix("k"), 2)
	outcome, err := db.Outcome(ctx, report.TxID, again, pageAgain, add("n", 1))
	require.NoError(t, err)
	require.Equal(t, client.Committed, outcome)
	require.Equal(t, sum.Value(), again.Value())
	require.Equal(t, page.Value(), pageAgain.Value())
	outcome, err = db.Outcome(ctx, report.TxID)
	require.NoError(t, err)
	require.Equal(t, client.Committed, outcome)
	outcome, err = db.Outcome(ctx, report.TxID, again)
	e := requireKind(t, client.KindInvalid, err)
	require.Equal(t, client.Committed, outcome)
	require.Equal(t, client.Committed, e.Outcome)
	require.Zero(t, again.Value(), "of the call before")
}

// forgetful is a store that keeps outcomes without results.
type forgetful struct{ *faulty }

func (f forgetful) Outcome(ctx context.Context, id kv.TxnID, user kv.Account) (gateway.Outcome, error) {
	o, err := f.Store.Outcome(ctx, id, user)
	if o.Committed {
		o.Results, o.ResultsLost = nil, true
	}
	return o, err
}

// TestResultsThatAreLostAreAnError, but of transactions without results.
func TestResultsThatAreLostAreAnError(t *testing.T) {
	f, w := newFaulty(), new(wires)
	db := open(t, []string{startNode(t, forgetful{f}, "", server.Options{}).addr}, client.WithDialer(w.dial))
	lose := func() {
		var once sync.Once
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
			f.Store.Submit(req, func(r gateway.Response) {
				once.Do(w.cut)
				done(r)
			})
		})
	}
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Put(ctx, "k", b("v")))
	lose()
	get := client.GetOp("k")
	err := db.Execute(ctx, get, add("n", 1))
	e := requireKind(t, client.KindResultsLost, err)
	require.Equal(t, client.Committed, e.Outcome)
	require.Equal(t, 1, e.Attempts)
	require.Empty(t, get.Value())
	require.NoError(t, get.Err())
	require.EqualValues(t, 1, counter(t, db, "n"))
	outcome, err := db.Outcome(ctx, e.TxID, get, add("n", 1))
	requireKind(t, client.KindResultsLost, err)
	require.Equal(t, client.Committed, outcome)
	lose()
	require.NoError(t, db.Put(ctx, "k", b("w")), "it has no result")
	lose()
	require.NoError(t, db.Execute(ctx, add("n", 1)), "nor has this")
	require.EqualValues(t, 2, counter(t, db, "n"))
}

// TestADeleteReportsWhetherTheKeyExisted, in a transaction as well.
func TestADeleteReportsWhetherTheKeyExisted(t *testing.T) {
	onCluster(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		set := client.NewSet("set", client.String)
		require.NoError(t, w.Put(ctx, "k", b("v")))
		require.NoError(t, set.Add(ctx, w, "m"))
		there, missing, typed, last := client.DeleteOp("k"), client.DeleteOp("none"), client.DeleteOp("set"),
			client.EntryOp("k")
		require.NoError(t, w.Execute(ctx, there, missing, typed, last))
		require.True(t, there.Value())
		require.False(t, missing.Value())
		require.True(t, typed.Value())
		require.False(t, last.Found())
		require.NoError(t, w.Delete(ctx, "k"))
		require.NoError(t, w.Put(ctx, "k", b("v")))
		conditional := client.DeleteOp("k", client.IfValue(b("v")))
		require.NoError(t, w.Execute(ctx, conditional))
		require.True(t, conditional.Value())
	})
}

func TestKeysExpireAndPersist(t *testing.T) {
	db := linchpintest.Start(t)
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Put(ctx, "k", b("v"), client.TTL(time.Hour)))
	e, ok, err := db.Entry(ctx, "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.WithinDuration(t, time.Now().Add(time.Hour), e.Expires, time.Minute)
	require.NoError(t, db.Persist(ctx, "k"))
	e, _, err = db.Entry(ctx, "k")
	require.NoError(t, err)
	require.Zero(t, e.Expires)
	there, missing := client.ExpireOp("k", time.Minute), client.ExpireOp("none", time.Minute)
	require.NoError(t, db.Execute(ctx, there, missing))
	require.True(t, there.Value())
	require.False(t, missing.Value())
	require.NoError(t, db.Expire(ctx, "none", time.Minute))
	for _, ttl := range []time.Duration{0, -1, 11 * 365 * 24 * time.Hour} {
		requireKind(t, client.KindInvalid, db.Expire(ctx, "k", ttl))
	}
}

// TestDumpAndRestore copy a key of any type, with when it expires.
func TestDumpAndRestore(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Put(ctx, "k", b("v"), client.TTL(time.Hour)))
	require.NoError(t, db.Execute(ctx, client.NewSet("s", client.String).AddOp("a", "b"), add("n", 7)))
	for _, key := range []string{"k", "s", "n"} {
		dump := client.DumpOp(key)
		require.NoError(t, db.Execute(ctx, dump))
		was, _, err := db.Entry(ctx, key)
		require.NoError(t, err)
		require.Equal(t, was.Type, dump.Value().Type())
		require.NoError(t, db.Put(ctx, "copy of "+key, nil))
		restore := client.RestoreOp("copy of "+key, dump.Value())
		require.NoError(t, db.Execute(ctx, restore))
		is, _, err := db.Entry(ctx, "copy of "+key)
		require.NoError(t, err)
		require.Equal(t, restore.Value(), is.Version)
		was.Key, was.Version = is.Key, is.Version
		require.Equal(t, was, is)
	}
	members, err := client.NewSet("copy of s", client.String).Members(ctx, db)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, members)
	requireKind(t, client.KindInvalid, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		return tx.Execute(ctx, client.DumpOp("k"))
	}))
}

// TestErrorsOfATransactionNameTheOperation: that of the caller's call if it is one of them, and no
// number if it was buffered.
func TestErrorsOfATransactionNameTheOperation(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Put(ctx, "taken", b("v")))
	err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Put(ctx, "a", nil))
		read, fails := client.GetOp("a"), client.PutOp("taken", nil, client.IfAbsent())
		err := tx.Execute(ctx, read, fails)
		e := requireKind(t, client.KindConditionFailed, err)
		require.Equal(t, 1, e.Op)
		require.Equal(t, err, fails.Err())
		require.NoError(t, read.Err())
		require.False(t, read.Found())
		return err
	})
	e := requireKind(t, client.KindConditionFailed, err)
	require.Equal(t, "put", e.Operation)
	require.Equal(t, "taken", e.Key)
	require.False(t, e.TxID.IsZero())
	require.Equal(t, 1, e.Attempts)
	for _, flush := range []bool{true, false} {
		err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			require.NoError(t, tx.Put(ctx, "taken", nil, client.IfAbsent()))
			if flush {
				return tx.Execute(ctx)
			}
			return nil
		})
		e = requireKind(t, client.KindConditionFailed, err)
		require.Equal(t, -1, e.Op)
		require.Equal(t, "put", e.Operation)
		require.Equal(t, "taken", e.Key)
	}
	_, ok, err := db.Get(ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
}

// TestAnErrorOfADeleteIsAttributedToIt: in a transaction, the node reads a key that a delete with a result
// deletes. An error of that read is one of the delete, behind buffered operations as well.
func TestAnErrorOfADeleteIsAttributedToIt(t *testing.T) {
	db := open(t, []string{startNode(t, lockless{servertest.New()}, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	for _, buffered := range []bool{false, true} {
		ops := []client.Op{client.GetOp("a"), client.DeleteOp("b"), client.DeleteOp("locked"), client.DeleteOp("c")}
		err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if buffered {
				require.NoError(t, tx.Put(ctx, "buffered", nil))
			}
			return tx.Execute(ctx, ops...)
		})
		e := requireKind(t, client.KindPermissionDenied, err)
		require.Equal(t, 2, e.Op)
		require.Equal(t, "delete", e.Operation)
		require.Equal(t, "locked", e.Key)
		for i, op := range ops {
			require.Equal(t, i == 2, op.Err() != nil)
		}
	}
}

// lockless is a backend whose transactions cannot lock one key that they delete.
type lockless struct{ *servertest.Store }

func (l lockless) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	tx, err := l.Store.Begin(ctx, o)
	return locklessTx{tx}, err
}

type locklessTx struct{ server.Tx }

func (l locklessTx) Do(ctx context.Context, ops []msg.Op) ([]msg.Result, error) {
	for i, op := range ops {
		if op.ReturnFound && string(op.Key) == "locked" {
			return nil, &kv.Error{Kind: kv.KindPermissionDenied, Op: i, Key: op.Key, Text: "it cannot be locked"}
		}
	}
	return l.Tx.Do(ctx, ops)
}

// TestAnOperationCanBeUsedAgain, and forgets what it had.
func TestAnOperationCanBeUsedAgain(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	op := client.GetOp("k")
	require.NoError(t, db.Execute(ctx, op))
	require.False(t, op.Found())
	put(t, db, "k", "v")
	require.NoError(t, db.Execute(ctx, op))
	require.Equal(t, "v", string(op.Value()))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, db.Execute(ended, op))
	require.Nil(t, op.Value())
	require.False(t, op.Found())
}

// TestAFailedNestedPartMayIgnoreItsError: what has failed is undone nevertheless.
func TestAFailedNestedPartMayIgnoreItsError(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	put(t, db, "taken", "v")
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		err := tx.Nested(ctx, func(ctx context.Context) error {
			require.NoError(t, tx.Put(ctx, "a", nil))
			_ = tx.Execute(ctx, client.PutOp("taken", nil, client.IfAbsent()))
			return nil
		})
		requireKind(t, client.KindConditionFailed, err)
		return tx.Put(ctx, "b", nil)
	}))
	_, ok, err := db.Get(ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = db.Get(ctx, "b")
	require.NoError(t, err)
	require.True(t, ok)
}

func TestIdsAndVersionsAreText(t *testing.T) {
	id := anID()
	again, err := client.ParseTxID(id.String())
	require.NoError(t, err)
	require.Equal(t, id, again)
	db, _ := openStore(t)
	put := client.PutOp("k", nil)
	require.NoError(t, db.Execute(t.Context(), put))
	first := put.Value()
	require.NoError(t, db.Execute(t.Context(), put))
	require.Negative(t, first.Compare(put.Value()))
	type both struct {
		ID client.TxID
		V  client.Version
	}
	text, err := json.Marshal(both{id, first})
	require.NoError(t, err)
	var back both
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, both{id, first}, back)
	for _, bad := range []string{"", "x", strings.Repeat("0", 31), "1.2"} {
		_, err := client.ParseTxID(bad)
		requireKind(t, client.KindInvalid, err)
		_, err = client.ParseVersion(bad)
		requireKind(t, client.KindInvalid, err)
		require.Error(t, json.Unmarshal([]byte(`"`+bad+`"`), new(client.TxID)))
	}
}

func TestKinds(t *testing.T) {
	require.Len(t, client.Kinds(), len(sentinels))
	for _, k := range client.Kinds() {
		require.NotNil(t, sentinels[k], k)
		require.Equal(t, string(k), sentinels[k].Error())
		require.ErrorIs(t, &client.Error{Kind: k}, sentinels[k])
	}
	require.True(t, client.KindAborted.Retryable())
	require.False(t, client.KindOutcomeUnknown.Retryable())
	require.Empty(t, client.KindOf(nil))
	require.Empty(t, client.KindOf(errStep))
	require.ErrorIs(t, &client.Error{Kind: client.KindCancelled}, context.Canceled)
	require.ErrorIs(t, &client.Error{Kind: client.KindDeadlineExceeded}, context.DeadlineExceeded)
	require.Equal(t, []string{"not applied", "committed", "unknown"},
		[]string{client.NotApplied.String(), client.Committed.String(), client.OutcomeUnknown.String()})
}
