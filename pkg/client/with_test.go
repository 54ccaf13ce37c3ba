package client_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/snapshot"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// noted is a store that notes how it is requested to read.
type noted struct {
	servertest.Noted
	mu  sync.Mutex
	how []txn.TxnOptions
}

func (b *noted) note(h txn.TxnOptions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.MaxResponse = 0
	b.how = append(b.how, h)
}

// take returns what was noted since the last time.
func (b *noted) take() []txn.TxnOptions {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.how
	b.how = nil
	return h
}

func openNoted(t *testing.T) (*client.DB, *noted) {
	t.Helper()
	s := new(noted)
	s.Noted = servertest.Noted{Store: servertest.New(), Note: s.note}
	return open(t, []string{startNode(t, s, "", server.Options{}).addr}), s
}

// reads are the calls of a reader that read key k, and return its value.
var reads = map[string]func(ctx context.Context, r client.Reader) (string, error){
	"Get": func(ctx context.Context, r client.Reader) (string, error) {
		v, _, err := r.Get(ctx, "k")
		return string(v), err
	},
	"Execute": func(ctx context.Context, r client.Reader) (string, error) {
		op := client.EntryOp("k")
		err := r.Execute(ctx, op)
		return string(op.Value().Value), err
	},
	"Scan": func(ctx context.Context, r client.Reader) (value string, _ error) {
		for e, err := range r.Scan(ctx, client.Range{Start: "k"}) {
			if err != nil {
				return "", err
			}
			value = string(e.Value)
		}
		return value, nil
	},
	"data type": func(ctx context.Context, r client.Reader) (string, error) {
		v, _, err := client.NewValue("k", client.String).Get(ctx, r)
		return v, err
	},
}

func put(t *testing.T, db *client.DB, key, value string) {
	t.Helper()
	require.NoError(t, db.Put(within(t, 10*time.Second), key, b(value)))
}

func TestASnapshotIsOneState(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	put(t, db, "k", "old")
	s, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	put(t, db, "k", "new")
	for name, read := range reads {
		var report client.Report
		for _, at := range []*client.Snapshot{s, db.AtSnapshot("s"), db.AtSnapshot(s.Info().ID)} {
			value, err := read(ctx, at)
			require.NoError(t, err, name)
			require.Equal(t, "old", value, name)
			require.Equal(t, s.Info(), at.Info(), name)
		}
		value, err := read(ctx, db.With(client.ReportTo(&report)).AtSnapshot("s"))
		require.NoError(t, err, name)
		require.Equal(t, "old", value, name)
		require.Equal(t, s.Info(), report.Snapshot, name)
		require.NotEmpty(t, report.Token, name)
		require.Equal(t, 1, report.Attempts, name)
		value, err = read(ctx, db.With(client.ReportTo(&report)))
		require.NoError(t, err, name)
		require.Equal(t, "new", value, name)
		require.Zero(t, report.Snapshot, name)
		_, err = read(ctx, db.AtSnapshot("none"))
		requireKind(t, client.KindNotFound, err)
		_, err = read(ctx, db.AtSnapshot("@other-1"))
		e := requireKind(t, client.KindInvalid, err)
		require.Contains(t, e.Message, "another cluster")
	}
}

// TestANameIsResolvedOnce: a snapshot stays the same state if its name is used again.
func TestANameIsResolvedOnce(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	put(t, db, "k", "old")
	_, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	s := db.AtSnapshot("s")
	require.Equal(t, client.SnapshotInfo{Name: "s"}, s.Info())
	require.Equal(t, "old", value(t, s, "k"))
	require.NoError(t, db.DropSnapshot(ctx, "s"))
	put(t, db, "k", "new")
	_, err = db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	_, _, err = s.Get(ctx, "k")
	requireKind(t, client.KindNotFound, err)
	require.Equal(t, "new", value(t, db.AtSnapshot("s"), "k"))
}

func TestCallOptionsReachTheNode(t *testing.T) {
	db, s := openNoted(t)
	ctx := within(t, 10*time.Second)
	token := vclock.EncodeOne(vclock.Entry{Shard: 2, CSN: 7})
	clock, err := vclock.Decode(token)
	require.NoError(t, err)
	at := time.Unix(1234, 5678)
	for name, read := range reads {
		for _, c := range []struct {
			r    client.Reader
			want txn.TxnOptions
		}{
			{db, txn.TxnOptions{}},
			{db.With(), txn.TxnOptions{}},
			{db.AsOf(at), txn.TxnOptions{At: txn.SnapshotRef{AsOf: at.UnixNano()}}},
			{db.With(client.After(token)), txn.TxnOptions{After: clock}},
			{db.With(client.After(token)).AsOf(at), txn.TxnOptions{At: txn.SnapshotRef{AsOf: at.UnixNano()}, After: clock}},
			{db.With(byPlan(pb.ReadPlan_PLAN_SNAPSHOT)), txn.TxnOptions{Plan: txn.PlanSnapshot}},
		} {
			_, err := read(ctx, c.r)
			require.NoError(t, err, name)
			if name == "Scan" {
				c.want.Plan = txn.PlanAny // there is one way to scan
			}
			require.Equal(t, []txn.TxnOptions{c.want}, s.take(), name)
		}
		_, err := read(ctx, db.With(client.After(client.CausalityToken("noise"))))
		requireKind(t, client.KindInvalid, err)
		_, err = read(ctx, db.AsOf(time.Unix(-1, 0)))
		requireKind(t, client.KindInvalid, err)
		require.Empty(t, s.take())
	}
}

// TestCallOptionsReachTheNodeOfATransaction, with its beginning.
func TestCallOptionsReachTheNodeOfATransaction(t *testing.T) {
	db, s := openNoted(t)
	ctx := within(t, 10*time.Second)
	token := vclock.EncodeOne(vclock.Entry{Shard: 2, CSN: 7})
	clock, err := vclock.Decode(token)
	require.NoError(t, err)
	put(t, db, "k", "v")
	for name, run := range map[string]func(db *client.DB) error{
		"View": func(db *client.DB) error {
			return db.View(ctx, func(ctx context.Context, v *client.View) error {
				require.Equal(t, "v", value(t, v, "k"))
				return nil
			})
		},
		"Update": func(db *client.DB) error {
			return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				require.Equal(t, "v", value(t, tx, "k"))
				return nil
			})
		},
	} {
		for _, c := range []struct {
			db   *client.DB
			want txn.TxnOptions
		}{
			{db, txn.TxnOptions{}},
			{db.With(client.After(token)), txn.TxnOptions{After: clock}},
			{db.With(byPlan(pb.ReadPlan_PLAN_SNAPSHOT)), txn.TxnOptions{Plan: txn.PlanSnapshot}},
			{db.With(client.After(token)).With(byPlan(pb.ReadPlan_PLAN_SNAPSHOT)),
				txn.TxnOptions{After: clock, Plan: txn.PlanSnapshot}},
		} {
			s.take()
			require.NoError(t, run(c.db), name)
			require.Equal(t, []txn.TxnOptions{c.want}, s.take(), name)
		}
	}
	err = db.With(client.After(client.CausalityToken("noise"))).View(ctx, func(ctx context.Context, v *client.View) error {
		_, _, err := v.Get(ctx, "k")
		return err
	})
	requireKind(t, client.KindInvalid, err)
	require.Empty(t, s.take())
}

// TestCallOptionsAreNotTheNextRequests: requests use buffers again.
func TestCallOptionsAreNotTheNextRequests(t *testing.T) {
	db, s := openNoted(t)
	ctx := within(t, 30*time.Second)
	put(t, db, "k", "old")
	_, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	put(t, db, "k", "new")
	s.take()
	past := db.With(client.After(vclock.EncodeOne(vclock.Entry{CSN: 1})), byPlan(pb.ReadPlan_PLAN_SNAPSHOT))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				for name, read := range reads {
					want, r := "new", client.Reader(db.With())
					if i%2 == 0 {
						want, r = "old", past.AtSnapshot("s")
					}
					if got, err := read(ctx, r); err != nil || got != want {
						t.Errorf("%s: %q, want %q, %v", name, got, want, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	said := 0
	for _, h := range s.take() {
		if h.At.IsZero() {
			require.Equal(t, txn.TxnOptions{}, h)
			continue
		}
		require.Equal(t, "s", h.At.Name)
		require.NotNil(t, h.After)
		said++
	}
	require.Equal(t, 4*50*len(reads), said)
}

func TestASnapshotRejectsWrites(t *testing.T) {
	db, s := openNoted(t)
	ctx := within(t, 10*time.Second)
	at := db.AtSnapshot("s")
	read, write := client.GetOp("k"), client.PutOp("k", b("v"))
	e := requireKind(t, client.KindInvalid, at.Execute(ctx, read, write))
	require.Equal(t, 1, e.Op)
	require.Equal(t, "put", e.Operation)
	require.Equal(t, "k", e.Key)
	require.Equal(t, e, write.Err())
	require.NoError(t, read.Err())
	require.Empty(t, s.take(), "nothing is sent")
}

func TestAnUpdateReportsItsToken(t *testing.T) {
	db, _ := openStore(t)
	var report client.Report
	x := db.With(client.ReportTo(&report))
	require.NoError(t, x.Update(within(t, 10*time.Second),
		func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, "k", b("v")) }))
	require.False(t, report.TxID.IsZero())
	require.NotEmpty(t, report.Token)
	require.Zero(t, report.Snapshot)
	require.Equal(t, "Update", report.Call)
	require.NoError(t, report.Err)
	require.Positive(t, report.Duration)
	err := x.Execute(within(t, 10*time.Second), client.RequireOp("k", client.IfAbsent()))
	e := requireKind(t, client.KindConditionFailed, err)
	require.Equal(t, err, report.Err)
	require.Equal(t, e.TxID, report.TxID)
	require.Empty(t, report.Token, "a transaction that failed has made no state")
}

func TestAScanReportsItsStateBeforeTheFirstEntry(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 20)
	ctx := within(t, 10*time.Second)
	s, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	var report client.Report
	x := db.With(client.ReportTo(&report)).AtSnapshot("s")
	for _, err := range x.Scan(ctx, client.Range{}, client.PageSize(3)) {
		require.NoError(t, err)
		require.Equal(t, s.Info(), report.Snapshot)
		break
	}
	report = client.Report{}
	for range x.Scan(ctx, client.Prefix("z")) {
		t.Fatal("there is no such key")
	}
	require.Equal(t, s.Info(), report.Snapshot, "also without entries")
	require.Equal(t, "Scan", report.Call)
}

func TestObserversAreCalledAfterEachCall(t *testing.T) {
	var calls []string
	db, _ := openStore(t, client.WithObserver(func(_ context.Context, r client.Report) { calls = append(calls, r.Call) }))
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Put(ctx, "k", nil))
	require.NoError(t, client.NewCounter("n").Add(ctx, db, 1))
	require.NoError(t, client.NewSet("s", client.String).Add(ctx, db, "m"))
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		_, _, err := v.Get(ctx, "k")
		return err
	}))
	for range db.Scan(ctx, client.Range{}) {
		break
	}
	require.Error(t, db.Execute(ctx))
	require.Equal(t, []string{"Put", "add", "set.add", "View", "Scan", "Execute"}, calls)
}

func TestSnapshotsAreCreatedListedAndDropped(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	begin := time.Now()
	l, err := db.Snapshots(ctx)
	require.NoError(t, err)
	require.Empty(t, l)
	var all []client.SnapshotInfo
	for i, c := range []struct {
		opts []client.SnapshotOption
		want time.Duration
	}{
		{nil, snapshot.DefaultTTL},
		{[]client.SnapshotOption{client.TTL(time.Hour)}, time.Hour},
		{[]client.SnapshotOption{client.TTL(time.Hour + time.Microsecond)}, time.Hour + time.Millisecond},
		{[]client.SnapshotOption{client.TTL(time.Nanosecond)}, time.Millisecond},
	} {
		s, err := db.CreateSnapshot(ctx, fmt.Sprint("s", i), c.opts...)
		require.NoError(t, err)
		info := s.Info()
		require.Equal(t, fmt.Sprintf("@serverte-%d", i+1), info.ID)
		require.WithinDuration(t, begin, info.Time, 10*time.Second)
		require.WithinDuration(t, info.Time.Add(c.want), info.Expires, time.Second)
		all = append(all, info)
	}
	l, err = db.Snapshots(ctx)
	require.NoError(t, err)
	require.Equal(t, all, l)
	_, err = db.CreateSnapshot(ctx, "s1")
	requireKind(t, client.KindConditionFailed, err)
	_, err = db.CreateSnapshot(ctx, "s 9")
	requireKind(t, client.KindInvalid, err)
	for _, ttl := range []time.Duration{-time.Hour, 0, snapshot.MaxTTL + 1} {
		_, err = db.CreateSnapshot(ctx, "s9", client.TTL(ttl))
		requireKind(t, client.KindInvalid, err)
	}
	for _, name := range []string{"s0", all[1].ID} {
		require.NoError(t, db.DropSnapshot(ctx, name))
		requireKind(t, client.KindNotFound, db.DropSnapshot(ctx, name))
	}
	l, err = db.Snapshots(ctx)
	require.NoError(t, err)
	require.Equal(t, all[2:], l)
}

// byPlan has read-only transactions read by a plan.
func byPlan(p pb.ReadPlan) client.CallOption { return clientlink.ByPlan(p).(client.CallOption) }
