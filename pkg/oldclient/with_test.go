package client_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/pins"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// told is a store that keeps how it was told to read.
type told struct {
	servertest.Told
	mu  sync.Mutex
	how []txn.How
}

func (b *told) note(h txn.How) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.MaxResponse = 0
	b.how = append(b.how, h)
}

// take gives what was noted since the last time.
func (b *told) take() []txn.How {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.how
	b.how = nil
	return h
}

func openTold(t *testing.T) (*client.DB, *told) {
	t.Helper()
	s := new(told)
	s.Told = servertest.Told{Store: servertest.New(), Note: s.note}
	return open(t, []string{startNode(t, s, "", server.Options{}).addr}), s
}

// reads are the calls of a handle that read key k, and give its value.
var reads = map[string]func(ctx context.Context, x *client.Handle) (string, error){
	"execute": func(ctx context.Context, x *client.Handle) (string, error) {
		out, err := x.Execute(ctx, client.Get(b("k")))
		if err != nil {
			return "", err
		}
		return string(out.Results[0].Value), nil
	},
	"view": func(ctx context.Context, x *client.Handle) (value string, err error) {
		err = x.View(ctx, func(ro *client.ReadTx) error {
			v, err := ro.Get(b("k"))
			value = string(v.Value)
			return err
		})
		return value, err
	},
	"scan": func(ctx context.Context, x *client.Handle) (value string, _ error) {
		for p, err := range x.Scan(ctx, b("k"), nil, client.ScanOptions{}) {
			if err != nil {
				return "", err
			}
			value = string(p.Value)
		}
		return value, nil
	},
}

func put(t *testing.T, db *client.DB, key, value string) *client.Outcome {
	t.Helper()
	out, err := db.Execute(within(t, 10*time.Second), client.Put(b(key), b(value)))
	require.NoError(t, err)
	return out
}

func TestAHandleReadsAtASnapshot(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	put(t, db, "k", "old")
	s, err := db.CreateSnapshot(ctx, "s", 0)
	require.NoError(t, err)
	put(t, db, "k", "new")
	for name, read := range reads {
		for _, at := range []string{"s", s.ID} {
			var out client.Outcome
			value, err := read(ctx, db.With(client.AtSnapshot(at), client.Into(&out)))
			require.NoError(t, err, name)
			require.Equal(t, "old", value, name)
			require.Equal(t, s, out.Snapshot, name)
			require.NotEmpty(t, out.Token, name)
			require.Equal(t, 1, out.Attempts, name)
		}
		var out client.Outcome
		value, err := read(ctx, db.With(client.Into(&out)))
		require.NoError(t, err, name)
		require.Equal(t, "new", value, name)
		require.Nil(t, out.Snapshot, name)
		_, err = read(ctx, db.With(client.AtSnapshot("none")))
		requireKind(t, kv.KindNotFound, err)
		_, err = read(ctx, db.With(client.AtSnapshot("@other-1")))
		e := requireKind(t, kv.KindInvalid, err)
		require.Contains(t, e.Text, "another cluster")
	}
}

func TestWhatAHandleSaysReachesTheServer(t *testing.T) {
	db, s := openTold(t)
	ctx := within(t, 10*time.Second)
	token := vclock.EncodeOne(vclock.Entry{Shard: 2, Index: 7})
	clock, err := vclock.Decode(token)
	require.NoError(t, err)
	at := time.Unix(1234, 5678)
	for name, read := range reads {
		for _, c := range []struct {
			opts []client.CallOption
			want txn.How
		}{
			{nil, txn.How{}},
			{[]client.CallOption{client.AsOf(at)}, txn.How{At: txn.At{AsOf: at.UnixNano()}}},
			{[]client.CallOption{client.After(token)}, txn.How{After: clock}},
			{[]client.CallOption{client.AtSnapshot("s"), client.AsOf(at), client.After(token)}, txn.How{At: txn.At{AsOf: at.UnixNano()}, After: clock}},
			{[]client.CallOption{client.ByPlan(pb.ReadPlan_PLAN_SNAPSHOT)}, txn.How{Plan: txn.PlanSnapshot}},
		} {
			_, err := read(ctx, db.With(c.opts...))
			require.NoError(t, err, name)
			if name == "scan" {
				c.want.Plan = txn.PlanAny // there is one way to scan
			}
			require.Equal(t, []txn.How{c.want}, s.take(), name)
		}
		_, err := read(ctx, db.With(client.After(b("noise"))))
		requireKind(t, kv.KindInvalid, err)
		_, err = read(ctx, db.With(client.AsOf(time.Unix(-1, 0))))
		requireKind(t, kv.KindInvalid, err)
		require.Empty(t, s.take())
	}
}

// What one request says must not be found in the next, which uses its room
// again.
func TestWhatAHandleSaysIsNotTheNextRequests(t *testing.T) {
	db, s := openTold(t)
	ctx := within(t, 30*time.Second)
	put(t, db, "k", "old")
	_, err := db.CreateSnapshot(ctx, "s", 0)
	require.NoError(t, err)
	put(t, db, "k", "new")
	s.take()
	past := db.With(client.AtSnapshot("s"), client.After(vclock.EncodeOne(vclock.Entry{Index: 1})), client.ByPlan(pb.ReadPlan_PLAN_SNAPSHOT))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				want, x := "new", db.With()
				if i%2 == 0 {
					want, x = "old", past
				}
				for name, read := range reads {
					if got, err := read(ctx, x); err != nil || got != want {
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
			require.Equal(t, txn.How{}, h)
			continue
		}
		require.Equal(t, "s", h.At.Name)
		require.NotNil(t, h.After)
		said++
	}
	require.Equal(t, 4*50*len(reads), said)
}

func TestWhatWritesIsRefusedAtASnapshot(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	_, err := db.CreateSnapshot(ctx, "s", 0)
	require.NoError(t, err)
	x := db.With(client.AtSnapshot("s"))
	_, err = x.Execute(ctx, client.Put(b("k"), b("v")))
	requireKind(t, kv.KindInvalid, err)
	requireKind(t, kv.KindInvalid, x.Update(ctx, func(tx *client.Tx) error { return tx.Put(b("k"), b("v")) }))
	out, err := db.Execute(ctx, client.Get(b("k")))
	require.NoError(t, err)
	require.False(t, out.Results[0].Found)
}

func TestAnUpdateTellsItsToken(t *testing.T) {
	db, _ := openStore(t)
	var out client.Outcome
	require.NoError(t, db.With(client.Into(&out)).Update(within(t, 10*time.Second), func(tx *client.Tx) error { return tx.Put(b("k"), b("v")) }))
	require.False(t, out.ID.IsZero())
	require.NotEmpty(t, out.Token)
	require.Nil(t, out.Snapshot)
	before := out
	_, err := db.With(client.Into(&out)).Execute(within(t, 10*time.Second), client.RequireAbsent(b("k")))
	requireKind(t, kv.KindConditionFailed, err)
	require.Equal(t, before, out, "of a call that failed nothing is told")
}

func TestAScanTellsItsStateBeforeTheFirstPair(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 20)
	ctx := within(t, 10*time.Second)
	s, err := db.CreateSnapshot(ctx, "s", 0)
	require.NoError(t, err)
	var out client.Outcome
	x := db.With(client.AtSnapshot("s"), client.Into(&out))
	for _, err := range x.Scan(ctx, nil, nil, client.ScanOptions{PageSize: 3}) {
		require.NoError(t, err)
		require.Equal(t, s, out.Snapshot)
		break
	}
	out = client.Outcome{}
	for range x.Scan(ctx, b("z"), nil, client.ScanOptions{}) {
		t.Fatal("there is no such key")
	}
	require.Equal(t, s, out.Snapshot, "also if there are no pairs")
}

func TestSnapshotsAreMadeListedAndDropped(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	begin := time.Now()
	l, err := db.Snapshots(ctx)
	require.NoError(t, err)
	require.Empty(t, l)
	var all []client.Snapshot
	for i, c := range []struct{ ttl, want time.Duration }{
		{0, pins.DefaultTTL}, {time.Hour, time.Hour}, {time.Hour + time.Microsecond, time.Hour + time.Millisecond}, {time.Nanosecond, time.Millisecond},
	} {
		s, err := db.CreateSnapshot(ctx, fmt.Sprint("s", i), c.ttl)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("@serverte-%d", i+1), s.ID)
		require.WithinDuration(t, begin, s.Time, 10*time.Second)
		// The store takes the time when it is made; between that and the
		// expiry there is exactly the ttl, but for what it does in between.
		require.WithinDuration(t, s.Time.Add(c.want), s.Expires, time.Second)
		all = append(all, *s)
	}
	l, err = db.Snapshots(ctx)
	require.NoError(t, err)
	require.Equal(t, all, l)
	_, err = db.CreateSnapshot(ctx, "s1", 0)
	requireKind(t, kv.KindConditionFailed, err)
	_, err = db.CreateSnapshot(ctx, "s 9", 0)
	requireKind(t, kv.KindInvalid, err)
	_, err = db.CreateSnapshot(ctx, "s9", -time.Hour)
	requireKind(t, kv.KindInvalid, err)
	_, err = db.CreateSnapshot(ctx, "s9", pins.MaxTTL+1)
	requireKind(t, kv.KindInvalid, err)
	for i, name := range []string{"s0", all[1].ID} {
		was, err := db.DropSnapshot(ctx, name)
		require.NoError(t, err)
		require.Equal(t, &all[i], was)
		_, err = db.DropSnapshot(ctx, name)
		requireKind(t, kv.KindNotFound, err)
	}
	l, err = db.Snapshots(ctx)
	require.NoError(t, err)
	require.Equal(t, all[2:], l)
}
