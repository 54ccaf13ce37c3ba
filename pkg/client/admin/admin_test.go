package admin_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
	"github.com/linchpindb/linchpin/pkg/logs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStateOfACluster(t *testing.T) {
	c := linchpintest.StartCluster(t, 3)
	a, ctx := admin.New(c.DB()), t.Context()
	require.Contains(t, c.Addrs(), a.Addr())
	require.NoError(t, client.NewCounter("n").Add(ctx, c.DB(), 1))

	status, err := a.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, 9, status.Shards)
	require.Equal(t, 8, status.HotShard)
	require.True(t, status.Ready)
	require.Len(t, status.Members, 3)
	keyspace := 0.0
	for i, m := range status.Members {
		require.Equal(t, i+1, m.Node)
		require.Equal(t, c.Addrs()[i], m.Address)
		require.True(t, m.Up)
		require.Equal(t, m.Node == status.Node, m.Self)
		require.NotEmpty(t, m.Shards)
		keyspace += m.Keyspace
	}
	require.InDelta(t, 100, keyspace, 0.01)
	require.Equal(t, "nothing", status.Disk.Rejects)

	shards, err := a.Shards(ctx)
	require.NoError(t, err)
	require.Len(t, shards, 9)
	for i, s := range shards {
		require.Equal(t, i, s.Shard)
		require.Equal(t, i == 8, s.Hot)
		require.True(t, s.Up)
	}

	types, err := a.Types(ctx, "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(types), 10)
	types, err = a.Types(ctx, "set")
	require.NoError(t, err)
	require.Len(t, types, 1)
	require.Equal(t, "set", types[0].Name)
	require.Equal(t, "add", types[0].Methods[0].Name)
	require.True(t, types[0].Methods[0].Updates)
	require.Equal(t, admin.Param{Name: "member", Kind: "bytes", Many: true}, types[0].Methods[0].Params[0])
	_, err = a.Types(ctx, "nonsense")
	require.ErrorIs(t, err, client.ErrInvalid)
}

func TestHotKeysAreRuled(t *testing.T) {
	c := linchpintest.StartCluster(t, 3)
	a, ctx := admin.New(c.DB()), t.Context()
	require.NoError(t, c.DB().Put(ctx, "wanted", nil))
	hot, err := a.SetHotRule(ctx, admin.HotRule{Key: "wanted", Policy: admin.HotPin})
	require.NoError(t, err)
	require.Equal(t, admin.HotAuto, hot.Mode)
	require.Contains(t, hot.Rules, admin.HotRule{Key: "wanted", Policy: admin.HotPin})
	require.Eventually(t, func() bool {
		hot, err := a.HotKeys(ctx, 10)
		require.NoError(t, err)
		return len(hot.Keys) == 1 && hot.Keys[0].Key == "wanted" && hot.Keys[0].Policy == admin.HotPin &&
			hot.Keys[0].Shard == 8 && len(hot.Moves) == 1 &&
			hot.Moves[0].ToHot && !hot.Keys[0].Moved.IsZero()
	}, 20*time.Second, 10*time.Millisecond)
	hot, err = a.SetHotMode(ctx, admin.HotOff)
	require.NoError(t, err)
	require.Equal(t, admin.HotOff, hot.Mode)
	_, err = a.SetHotMode(ctx, "nonsense")
	require.ErrorIs(t, err, client.ErrInvalid)
	_, err = a.SetHotRule(ctx, admin.HotRule{Key: "wanted", Policy: "nonsense"})
	require.ErrorIs(t, err, client.ErrInvalid)
}

// TestTransactionsAreSeen: what they wait for, how they ended, and that they can be cancelled.
func TestTransactionsAreSeen(t *testing.T) {
	c := linchpintest.StartCluster(t, 1)
	db, ctx := c.DB(), t.Context()
	a := admin.New(db)
	waits := make(chan error, 1)
	// hold runs then while another transaction waits for this one.
	hold := func(then func(ctx context.Context, tx *client.Tx) error) error {
		return db.With(client.NoRetry()).Update(ctx, func(inner context.Context, tx *client.Tx) error {
			if _, _, err := tx.GetForUpdate(inner, "k"); err != nil {
				return err
			}
			go func() { waits <- db.Put(ctx, "k", []byte("waited")) }()
			require.Eventually(t, func() bool {
				now, err := a.Activity(ctx, admin.ActivityOptions{MaxWaits: 10})
				require.NoError(t, err)
				return len(now.Waits) == 1 && now.Waits[0].Conflict.Key == "k" && now.Waits[0].Conflict.Holder == tx.ID() &&
					now.Interactive == 1 &&
					now.Waits[0].Waited > 5*time.Millisecond
			}, 20*time.Second, 5*time.Millisecond)
			return then(inner, tx)
		})
	}
	require.ErrorIs(t, hold(func(inner context.Context, tx *client.Tx) error {
		where, err := a.CancelTransaction(ctx, tx.ID())
		require.NoError(t, err)
		require.Equal(t, []int{1}, where.Nodes)
		return tx.Execute(inner, client.GetOp("k"))
	}), client.ErrCancelled)
	require.NoError(t, <-waits)
	require.NoError(t, hold(func(inner context.Context, tx *client.Tx) error { return tx.Put(inner, "k", nil) }))
	require.NoError(t, <-waits)
	where, err := a.CancelTransaction(ctx, client.TxID{15: 1})
	require.NoError(t, err)
	require.Empty(t, where.Nodes)

	require.Eventually(t, func() bool {
		now, err := a.Activity(ctx, admin.ActivityOptions{Node: 1, MaxReceipts: 10})
		require.NoError(t, err)
		return len(now.Receipts) > 0 && len(now.Seconds) > 0 && len(now.Conflicts) > 0
	}, 20*time.Second, 10*time.Millisecond)
	now, err := a.Activity(ctx, admin.ActivityOptions{MaxReceipts: 10})
	require.NoError(t, err)
	require.Equal(t, "k", now.Conflicts[0].Key)
	require.Equal(t, "k", now.Receipts[0].Receipt.Wait.Key)
	require.NotEmpty(t, now.Receipts[0].Receipt.String())
	require.NotEmpty(t, now.Seconds[0].Classes[0].Buckets)
}

func TestOutcomesHaveTheNamesOfOperations(t *testing.T) {
	db, ctx := linchpintest.Start(t), t.Context()
	a := admin.New(db)
	var report client.Report
	set := client.NewSet("s", client.String)
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(ctx, client.PutOp("k", nil), set.AddOp("m"),
		set.ContainsOp("m"),
		client.ScanOp(client.Range{}, 5), client.GetOp("k")))
	o, err := a.Outcome(ctx, report.TxID)
	require.NoError(t, err)
	require.Equal(t, client.Committed, o.Outcome)
	require.False(t, o.ResultsLost)
	require.Len(t, o.Results, 5)
	require.Equal(t, []byte{}, o.Results[4].Value)
	require.Equal(t, "put", o.Results[0].Operation)
	require.False(t, o.Results[0].Version.IsZero())
	require.Equal(t, "set.contains", o.Results[2].Operation)
	require.Equal(t, []any{true}, o.Results[2].Data)
	require.Len(t, o.Results[3].Entries, 2)
	require.Equal(t, []byte{}, o.Results[3].Entries[0].Value, "an empty value is not nil")
	require.Equal(t, client.TypeSet, o.Results[3].Entries[1].Type)
}

// node starts a node by itself, and returns a client of it as the user root.
func node(t *testing.T) (*embed.Instance, func(user, token string) *client.DB) {
	m := certs.Maker{Dir: filepath.Join(t.TempDir(), "certs")}
	_, err := m.CreateCA()
	require.NoError(t, err)
	_, err = m.CreateNode("127.0.0.1")
	require.NoError(t, err)
	_, err = m.CreateClient("root")
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(m.Dir, name) }
	lines, err := logs.New(logs.Options{Out: io.Discard})
	require.NoError(t, err)
	i, err := embed.Start(t.Context(), embed.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Shards: 1,
		ForTests: embed.ForTests{UnsafeNoSync: true}, Logs: lines,
		Security: embed.Security{TLS: certs.Files{Cert: at(certs.NodeFile), Key: at(certs.NodeKey), CA: at(certs.CAFile)}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Stop()) })
	return i, func(user, token string) *client.DB {
		files := certs.Files{CA: at(certs.CAFile)}
		if user != "" {
			files.Cert, files.Key = at(certs.ClientFile(user)), at(certs.ClientKey(user))
		}
		k, err := certs.Open(certs.Options{Files: files, Every: -1})
		require.NoError(t, err)
		k.Close()
		opts := []client.Option{client.WithTLSFunc(k.Client)}
		if token != "" {
			file := filepath.Join(t.TempDir(), "token")
			require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
			opts = append(opts, client.WithAPIToken(client.TokenFile(file)))
		}
		db, err := client.Open(t.Context(), []string{i.Addr()}, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
}

func TestUsers(t *testing.T) {
	_, as := node(t)
	ctx := t.Context()
	root := admin.New(as("root", ""))
	me, err := root.WhoAmI(ctx)
	require.NoError(t, err)
	require.Equal(t, "root", me.Name)

	rights := admin.Rights{Grants: []admin.Grant{{Prefix: "ann/", Write: true}}}
	created, token, err := root.CreateUser(ctx, "ann", rights, admin.TokenOptions{TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, "ann", created.Name)
	require.Equal(t, rights, created.Rights)
	require.WithinDuration(t, time.Now().Add(time.Hour), created.Tokens[0].Expires, time.Minute)
	_, _, err = root.CreateUser(ctx, "ann", rights, admin.TokenOptions{})
	require.ErrorIs(t, err, client.ErrConditionFailed)

	ann := as("", token)
	me, err = admin.New(ann).WhoAmI(ctx)
	require.NoError(t, err)
	require.Equal(t, "ann", me.Name)
	require.NoError(t, ann.Put(ctx, "ann/k", nil))
	require.ErrorIs(t, ann.Put(ctx, "bob/k", nil), client.ErrPermissionDenied)
	_, err = admin.New(ann).Users(ctx)
	require.ErrorIs(t, err, client.ErrPermissionDenied)

	granted, err := root.GrantUser(ctx, "ann", admin.Rights{Monitor: true})
	require.NoError(t, err)
	require.True(t, granted.Rights.Monitor)
	revoked, err := root.RevokeUser(ctx, "ann", admin.Rights{Monitor: true})
	require.NoError(t, err)
	require.Equal(t, rights, revoked.Rights)
	_, again, err := root.RotateToken(ctx, "ann", admin.TokenOptions{KeepOld: time.Hour})
	require.NoError(t, err)
	require.NotEqual(t, token, again)

	table, err := root.ExportUsers(ctx)
	require.NoError(t, err)
	dropped, err := root.DropUser(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, "ann", dropped.Name)
	all, err := root.Users(ctx)
	require.NoError(t, err)
	require.Empty(t, all)
	all, err = root.ImportUsers(ctx, table, false)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "ann", all[0].Name)
}

func TestMaintenance(t *testing.T) {
	_, as := node(t)
	db, ctx := as("root", ""), t.Context()
	a := admin.New(db)
	levels, err := a.LogLevels(ctx)
	require.NoError(t, err)
	set, err := a.SetLogLevel(ctx, "", "error")
	require.NoError(t, err)
	require.Len(t, set, len(levels))

	names, own := map[string]bool{}, errors.New("enough")
	require.NoError(t, a.Debug(ctx, admin.DebugOptions{RedactKeys: true, Salt: []byte("s")},
		func(p admin.DebugPart) error {
			names[p.Name] = true
			return nil
		}))
	require.NotEmpty(t, names)
	require.ErrorIs(t, a.Debug(ctx, admin.DebugOptions{}, func(admin.DebugPart) error { return own }), own)

	inTx := db.Update(ctx, func(ctx context.Context, _ *client.Tx) error {
		return a.Debug(ctx, admin.DebugOptions{}, func(admin.DebugPart) error { return nil })
	})
	require.ErrorIs(t, inTx, client.ErrInvalid, "a stream is not a part of the transaction")

	require.NoError(t, db.Put(ctx, "k", make([]byte, 100_000)))
	done, err := a.Reclaim(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, done.Total, done.Done)

	phases := map[string]bool{}
	require.NoError(t, a.Drain(ctx, time.Second, func(p admin.DrainProgress) { phases[p.Phase] = true }))
	require.True(t, phases["stopping"])
}
