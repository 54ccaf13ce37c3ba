package security

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestKeyPermissionsHoldOnEveryPath: a call without permission fails on every path, changes nothing and
// reveals nothing about the key.
func TestKeyPermissionsHoldOnEveryPath(t *testing.T) {
	c := start(t, 1, nil)
	root := c.openAs(0, users.Root)
	for _, key := range []string{"secret/there", "catalog/1", "orders/1"} {
		require.NoError(t, root.Put(proc.Context(t), key, b("1")))
	}
	token := c.createUser("alice", admin.Rights{Grants: append(writes("orders/"), reads("catalog/")...)})
	for name, alice := range map[string]*client.DB{"by certificate": c.openAs(0, "alice"),
		"by token": c.openWithToken(0, token)} {
		t.Run(name, func(t *testing.T) {
			requireAllowed(t, alice, client.GetOp("catalog/1"), client.PutOp("orders/2", b("x")),
				client.ScanOp(client.Prefix("orders/"), 0), client.RequireOp("catalog/1", client.IfExists()),
				set("orders/set").AddOp("x"), set("catalog/none").LenOp())
			for text, ops := range map[string][]client.Op{
				"read the key": {client.GetOp("secret/there"), client.GetOp("secret/none"),
					client.RequireOp("secret/there", client.IfExists()), client.RequireOp("secret/none", client.IfAbsent()),
					set("secret/there").LenOp(), client.GetOp("orders")},
				"write the key": {client.PutOp("catalog/1", b("x")), client.PutOp("secret/none", b("x")),
					client.PutOp("secret/there", b("x"), client.IfAbsent()), client.DeleteOp("catalog/1"),
					client.NewCounter("catalog/n").AddOp(1), client.GetForUpdateOp("catalog/1"), set("catalog/set").AddOp("x")},
				"read the whole range": {client.ScanOp(client.Range{}, 0), client.ScanOp(client.Prefix("secret/"), 1),
					client.ScanOp(client.Range{Start: "orders/", End: "secret0"}, 0)},
				"write the whole range": {client.DeleteRangeOp(client.Prefix("catalog/")),
					client.DeleteRangeOp(client.Range{Start: "orders/"})},
			} {
				for _, op := range ops {
					requireForbidden(t, alice, op, text)
				}
			}
		})
	}
	for key, want := range map[string]string{"secret/there": "1", "catalog/1": "1"} {
		value, _, err := root.Get(proc.Context(t), key)
		require.NoError(t, err)
		require.Equal(t, want, string(value), "denied writes changed nothing")
	}
}

// set returns the set of a key.
func set(key string) client.Set[string] { return client.NewSet(key, client.String) }

// requireAllowed requires that each operation succeeds on each path.
func requireAllowed(t *testing.T, db *client.DB, ops ...client.Op) {
	t.Helper()
	for _, op := range ops {
		for _, err := range executeOnAllPaths(t, db, op) {
			require.NoError(t, err)
		}
	}
}

// requireForbidden requires that an operation is denied with the same error on each path.
func requireForbidden(t *testing.T, db *client.DB, op client.Op, text string) {
	t.Helper()
	errs := executeOnAllPaths(t, db, op)
	for _, err := range errs {
		requireDenied(t, err, "may not "+text)
		require.Equal(t, errs[0].Error(), err.Error(), "the error is the same on each path")
	}
}

// executeOnAllPaths executes an operation on each path that accepts it, and returns the errors.
func executeOnAllPaths(t *testing.T, db *client.DB, op client.Op) (errs []error) {
	t.Helper()
	errs = append(errs, db.Execute(proc.Context(t), op))
	errs = append(errs,
		db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error { return tx.Execute(ctx, op) }))
	if op.ReadOnly() && !strings.Contains(op.String(), "update") {
		errs = append(errs,
			db.View(proc.Context(t), func(ctx context.Context, v *client.View) error { return v.Execute(ctx, op) }))
	}
	return errs
}

// TestUnaryCallsCheckPermissions: the Go client sends one-shots on a stream; other clients call Execute.
func TestUnaryCallsCheckPermissions(t *testing.T) {
	c := start(t, 1, nil)
	c.createUser("alice", admin.Rights{Grants: append(writes("orders/"), reads("catalog/")...)})
	alice, root := pb.NewKVClient(c.dial(0, "alice")), pb.NewKVClient(c.dial(0, users.Root))
	allowed := pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("orders/1")}}}
	for _, op := range []pb.Op{
		{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b("secret/1")}}},
		{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b("catalog/1"), ForUpdate: true}}},
		{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("catalog/1")}}}, {Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: b("orders/")}}},
		{Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: b("catalog/"), End: b("catalog0")}}},
		{Op: &pb.Op_Dump{Dump: &pb.DumpOp{Key: b("secret/1")}}},
		{Op: &pb.Op_Restore{Restore: &pb.RestoreOp{Key: b("catalog/1")}}},
	} {
		_, err := alice.Execute(proc.Context(t), &pb.ExecuteRequest{Ops: []pb.Op{allowed, op}})
		require.Equal(t, codes.PermissionDenied, status.Code(err), "%v: %v", op, err)
		require.ErrorContains(t, err, `user "alice" may not`)
	}
	out, err := root.Execute(proc.Context(t), &pb.ExecuteRequest{Ops: []pb.Op{{Op: &pb.Op_Scan{Scan: &pb.ScanOp{}}}}})
	require.NoError(t, err)
	require.Empty(t, out.Results[0].Entries, "a transaction with a denied operation changes nothing")
	_, err = alice.Execute(proc.Context(t), &pb.ExecuteRequest{Ops: []pb.Op{allowed}})
	require.NoError(t, err)
}

// TestDenialsRevealNothingAboutKeys: the error is the same for existing and absent keys.
func TestDenialsRevealNothingAboutKeys(t *testing.T) {
	c := start(t, 1, nil)
	root := c.openAs(0, users.Root)
	require.NoError(t,
		root.Execute(proc.Context(t), client.PutOp("secret/1", b("1")), client.NewCounter("secret/2").AddOp(1)))
	alice := c.openWithToken(0, c.createUser("alice", admin.Rights{Grants: writes("orders/")}))
	for _, op := range []func(key string) client.Op{
		func(key string) client.Op { return client.GetOp(key) },
		func(key string) client.Op { return client.PutOp(key, nil, client.IfAbsent()) },
		func(key string) client.Op { return client.NewCounter(key).AddOp(1) },
	} {
		var texts []string
		for _, key := range []string{"secret/1", "secret/2", "secret/3"} {
			e := (*client.Error)(nil)
			require.ErrorAs(t, alice.Execute(proc.Context(t), op(key)), &e)
			require.Equal(t, key, e.Key)
			require.Nil(t, e.Current)
			texts = append(texts, e.Message+e.Hint)
		}
		require.Len(t, slices.Compact(texts), 1)
	}
}

func TestScansCheckPermissions(t *testing.T) {
	c := start(t, 1, nil)
	for _, key := range []string{"a/1", "b/1", "c/1"} {
		require.NoError(t, c.openAs(0, users.Root).Put(proc.Context(t), key, b("1")))
	}
	alice := c.openWithToken(0, c.createUser("alice", admin.Rights{Grants: reads("a/", "b/", "a0")}))
	count := func(r client.Range) (n int, err error) {
		for _, err := range alice.Scan(proc.Context(t), r) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	n, err := count(client.Prefix("a/"))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, r := range []client.Range{{}, {Start: "a/"}, {End: "a0"}, {Start: "a/", End: "b0"}, client.Prefix("c/")} {
		n, err := count(r)
		requireDenied(t, err, "may not read the whole range")
		require.Zero(t, n)
	}
}

// TestSystemKeysAreInaccessible: no user, not even root, can access linchpin's own keys by calls for keys.
func TestSystemKeysAreInaccessible(t *testing.T) {
	c := start(t, 1, nil)
	root := c.openAs(0, users.Root)
	token := c.createUser("alice", admin.Rights{Grants: writes("")})
	for _, op := range []client.Op{
		client.GetOp(users.TableKey), client.PutOp(users.TableKey, nil), client.DeleteOp(users.TableKey),
		client.ScanOp(client.Range{Start: kv.SystemStart}, 0), client.DeleteRangeOp(client.Range{Start: users.TableKey}),
	} {
		for _, db := range []*client.DB{root, c.openWithToken(0, token)} {
			err := db.Execute(proc.Context(t), op)
			require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "linchpin's own")
		}
	}
	deleted, err := root.DeleteRange(proc.Context(t), client.Range{Start: "\x00"})
	require.NoError(t, err)
	require.Zero(t, deleted)
	for e, err := range root.Scan(proc.Context(t), client.Range{}) {
		require.NoError(t, err)
		t.Errorf("a scan of all keys has %q", e.Key)
	}
	all, err := admin.New(root).Users(proc.Context(t))
	require.NoError(t, err)
	require.Len(t, all, 1, "deleting all keys retains the users")
	_, err = admin.New(root).SetHotRule(proc.Context(t), admin.HotRule{Key: users.TableKey, Policy: admin.HotPin})
	require.ErrorContains(t, err, "linchpin's own")
}

// TestReceiptsHideOtherTransactions from users without permission to read all keys, because with an id a
// user can query the outcome, with the values read, and abort the transaction.
func TestReceiptsHideOtherTransactions(t *testing.T) {
	c := start(t, 1, nil)
	root, alice := c.openAs(0, users.Root),
		c.openWithToken(0, c.createUser("alice", admin.Rights{Grants: writes("orders/")}))
	reader := c.openWithToken(0, c.createUser("auditor", admin.Rights{Grants: append(reads(""), writes("orders/")...)}))
	for db, named := range map[*client.DB]bool{alice: false, reader: true, root: true} {
		waited := make(chan client.Receipt, 1)
		require.NoError(t, root.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
			if err := tx.Execute(ctx, client.GetForUpdateOp("orders/1"), client.PutOp("orders/1", b("x"))); err != nil {
				return err
			}
			go func() {
				var report client.Report
				if err := db.With(client.ReportTo(&report)).Put(proc.Context(t), "orders/1", b("y")); err != nil {
					t.Error(err)
				}
				waited <- report.Receipt
			}()
			c.awaitLockWaiter()
			return nil
		}))
		r := <-waited
		require.Positive(t, r.Waited)
		require.NotNil(t, r.Wait)
		require.Equal(t, named, !r.Wait.Holder.IsZero())
		if !named {
			require.Contains(t, r.String(), "another transaction")
		}
	}
}
