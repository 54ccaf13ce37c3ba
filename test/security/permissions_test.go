package security

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TestEveryWayToAKeyIsGuarded: what a user may not do, it may do by no call, and
// it learns nothing of the key.
func TestEveryWayToAKeyIsGuarded(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	_, err := root.Execute(soon(t), client.Put(b("secret/there"), b("1")), client.Put(b("catalog/1"), b("1")), client.Put(b("orders/1"), b("1")))
	require.NoError(t, err)
	token := c.made("alice", pb.Rights{Grants: append(writes("orders/"), reads("catalog/")...)})
	for name, alice := range map[string]*client.DB{"by certificate": c.as(0, "alice"), "by token": c.bearing(0, token)} {
		t.Run(name, func(t *testing.T) {
			may(t, alice, client.Get(b("catalog/1")), client.Put(b("orders/2"), b("x")), client.ScanRange(b("orders/"), b("orders0"), 0),
				client.RequireExists(b("catalog/1")), client.Call(b("orders/set"), "set", "add", b("x")), client.Call(b("catalog/none"), "set", "len"))
			for text, ops := range map[string][]client.Op{
				"read the key": {client.Get(b("secret/there")), client.Get(b("secret/none")), client.RequireExists(b("secret/there")), client.RequireAbsent(b("secret/none")),
					client.Call(b("secret/there"), "set", "len"), client.Get(b("orders"))},
				"write the key": {client.Put(b("catalog/1"), b("x")), client.Put(b("secret/none"), b("x")), client.PutIfAbsent(b("secret/there"), b("x")), client.Delete(b("catalog/1")),
					client.Add(b("catalog/n"), 1), client.GetForUpdate(b("catalog/1")), client.Call(b("catalog/set"), "set", "add", b("x"))},
				"read the whole range":  {client.ScanRange(nil, nil, 0), client.ScanRange(b("orders/"), b("secret0"), 0), client.ScanRange(b("secret/"), b("secret0"), 1)},
				"write the whole range": {client.DeleteRange(b("catalog/"), b("catalog0")), client.DeleteRange(b("orders/"), nil)},
			} {
				for _, op := range ops {
					mayNot(t, alice, op, text)
				}
			}
		})
	}
	for key, want := range map[string]string{"secret/there": "1", "catalog/1": "1"} {
		out, err := root.Execute(soon(t), client.Get(b(key)))
		require.NoError(t, err)
		require.Equal(t, want, string(out.Results[0].Value), "nothing of what was refused was done")
	}
}

// may holds that each operation goes, by each way to send it.
func may(t *testing.T, db *client.DB, ops ...client.Op) {
	t.Helper()
	for _, op := range ops {
		for _, err := range sendAll(t, db, op) {
			require.NoError(t, err)
		}
	}
}

// mayNot holds that it does not.
func mayNot(t *testing.T, db *client.DB, op client.Op, text string) {
	t.Helper()
	errs := sendAll(t, db, op)
	for _, err := range errs {
		denied(t, err, "may not "+text)
		require.Equal(t, errs[0].Error(), err.Error(), "the same by each way")
	}
}

// sendAll sends an operation by each way that takes it, and gives what came of
// each.
func sendAll(t *testing.T, db *client.DB, op client.Op) (errs []error) {
	t.Helper()
	_, err := db.Execute(soon(t), op)
	errs = append(errs, err)
	errs = append(errs, db.Update(soon(t), func(tx *client.Tx) error {
		_, err := tx.Do(op)
		return err
	}))
	if op.ReadOnly() && !strings.Contains(op.String(), "update") {
		errs = append(errs, db.View(soon(t), func(tx *client.ReadTx) error {
			_, err := tx.Do(op)
			return err
		}))
	}
	return errs
}

// TestSingleCallsAreGuarded: the Go client sends one-shots over a stream, and others
// call Execute.
func TestSingleCallsAreGuarded(t *testing.T) {
	c := start(t, 1, nil)
	c.made("alice", pb.Rights{Grants: append(writes("orders/"), reads("catalog/")...)})
	alice, root := pb.NewKVClient(c.dial(0, "alice")), pb.NewKVClient(c.dial(0, users.Root))
	allowed := pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("orders/1")}}}
	for _, op := range []pb.Op{
		{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b("secret/1")}}}, {Op: &pb.Op_Get{Get: &pb.GetOp{Key: b("catalog/1"), ForUpdate: true}}},
		{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("catalog/1")}}}, {Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: b("orders/")}}},
		{Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: b("catalog/"), End: b("catalog0")}}},
		{Op: &pb.Op_Dump{Dump: &pb.DumpOp{Key: b("secret/1")}}}, {Op: &pb.Op_Restore{Restore: &pb.RestoreOp{Key: b("catalog/1")}}},
	} {
		_, err := alice.Execute(soon(t), &pb.ExecuteRequest{Ops: []pb.Op{allowed, op}})
		require.Equal(t, codes.PermissionDenied, status.Code(err), "%v: %v", op, err)
		require.ErrorContains(t, err, `user "alice" may not`)
	}
	out, err := root.Execute(soon(t), &pb.ExecuteRequest{Ops: []pb.Op{{Op: &pb.Op_Scan{Scan: &pb.ScanOp{}}}}})
	require.NoError(t, err)
	require.Empty(t, out.Results[0].Entries, "nothing is done of a transaction of which one operation is not allowed")
	_, err = alice.Execute(soon(t), &pb.ExecuteRequest{Ops: []pb.Op{allowed}})
	require.NoError(t, err)
}

// TestRefusalsAreTheSameWhateverIsThere, but for the key that was asked for.
func TestRefusalsAreTheSameWhateverIsThere(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	_, err := root.Execute(soon(t), client.Put(b("secret/1"), b("1")), client.Add(b("secret/2"), 1))
	require.NoError(t, err)
	alice := c.bearing(0, c.made("alice", pb.Rights{Grants: writes("orders/")}))
	for _, op := range []func(k []byte) client.Op{client.Get, func(k []byte) client.Op { return client.PutIfAbsent(k, nil) }, func(k []byte) client.Op { return client.Add(k, 1) }} {
		var texts []string
		for _, key := range []string{"secret/1", "secret/2", "secret/3"} {
			_, err := alice.Execute(soon(t), op(b(key)))
			e := (*client.Error)(nil)
			require.ErrorAs(t, err, &e)
			require.Equal(t, key, string(e.Key))
			require.Nil(t, e.Current)
			texts = append(texts, e.Text+e.Hint)
		}
		require.Len(t, slices.Compact(texts), 1)
	}
}

func TestScansAreGuarded(t *testing.T) {
	c := start(t, 1, nil)
	_, err := c.as(0, users.Root).Execute(soon(t), client.Put(b("a/1"), b("1")), client.Put(b("b/1"), b("1")), client.Put(b("c/1"), b("1")))
	require.NoError(t, err)
	alice := c.bearing(0, c.made("alice", pb.Rights{Grants: reads("a/", "b/", "a0")}))
	count := func(start, end string) (n int, err error) {
		for _, err := range alice.Scan(soon(t), b(start), b(end), client.ScanOptions{}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	n, err := count("a/", "a0")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, r := range [][2]string{{"", ""}, {"a/", ""}, {"", "a0"}, {"a/", "b0"}, {"c/", "c0"}} {
		n, err := count(r[0], r[1])
		denied(t, err, "may not read the whole range")
		require.Zero(t, n)
	}
}

// TestKeysOfLinchpinsOwnAreNobodys: not even root's, by calls for keys.
func TestKeysOfLinchpinsOwnAreNobodys(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	token := c.made("alice", pb.Rights{Grants: writes("")})
	for _, op := range []client.Op{client.Get(b(users.TableKey)), client.Put(b(users.TableKey), nil), client.Delete(b(users.TableKey)),
		client.ScanRange(b(kv.SystemStart), nil, 0), client.DeleteRange(b(users.TableKey), nil)} {
		for _, db := range []*client.DB{root, c.bearing(0, token)} {
			_, err := db.Execute(soon(t), op)
			require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "linchpin's own")
		}
	}
	out, err := root.Execute(soon(t), client.DeleteRange(b("\x00"), nil))
	require.NoError(t, err)
	require.Zero(t, out.Results[0].Count)
	for pair, err := range root.Scan(soon(t), nil, nil, client.ScanOptions{}) {
		require.NoError(t, err)
		t.Errorf("a scan of all keys has %q", pair.Key)
	}
	all, err := root.Users(soon(t))
	require.NoError(t, err)
	require.Len(t, all, 1, "the users outlast the deletion of all keys")
	_, err = root.SetHotRule(soon(t), pb.HotRule{Key: b(users.TableKey), Policy: pb.HotPolicy_HOT_PIN})
	require.ErrorContains(t, err, "linchpin's own")
}

// TestReceiptsDoNotNameOthers to who may not read everything: with the id of a
// transaction one can ask what it has read, and have it aborted.
func TestReceiptsDoNotNameOthers(t *testing.T) {
	c := start(t, 1, nil)
	root, alice := c.as(0, users.Root), c.bearing(0, c.made("alice", pb.Rights{Grants: writes("orders/")}))
	reader := c.bearing(0, c.made("auditor", pb.Rights{Grants: append(reads(""), writes("orders/")...)}))
	for db, named := range map[*client.DB]bool{alice: false, reader: true, root: true} {
		waited := make(chan *client.Outcome, 1)
		require.NoError(t, root.Update(soon(t), func(tx *client.Tx) error {
			if _, err := tx.Do(client.GetForUpdate(b("orders/1")), client.Put(b("orders/1"), b("x"))); err != nil {
				return err
			}
			go func() {
				out, err := db.Execute(soon(t), client.Put(b("orders/1"), b("y")))
				if err != nil {
					t.Error(err)
				}
				waited <- out
			}()
			c.somebodyWaits()
			return nil
		}))
		out := <-waited
		require.NotNil(t, out)
		r := out.Receipt
		require.Positive(t, r.Waited)
		require.Equal(t, named, !r.Holder.IsZero())
		require.Equal(t, named, !r.Wait.Holder.IsZero())
		if !named {
			require.Contains(t, r.String(), "another transaction")
		}
	}
}
