package security

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// response is any message of a node.
type response interface{ Marshal() ([]byte, error) }

// errorDetail returns the detail of a gRPC error.
func errorDetail(t testing.TB, err error) response {
	t.Helper()
	d := detail.From(err)
	require.NotNil(t, d, "%v", err)
	return d
}

// transactStream is a Transact stream of a user.
type transactStream struct {
	t      testing.TB
	stream pb.KV_TransactClient
}

func (c *cluster) beginTransact(kvs pb.KVClient) *transactStream {
	c.t.Helper()
	stream, err := kvs.Transact(proc.Context(c.t))
	require.NoError(c.t, err)
	s := &transactStream{c.t, stream}
	require.NotNil(c.t,
		s.exchange(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{}}}).GetBegun())
	return s
}

func (s *transactStream) exchange(in *pb.TransactRequest) *pb.TransactResponse {
	s.t.Helper()
	require.NoError(s.t, s.stream.Send(in))
	out, err := s.stream.Recv()
	require.NoError(s.t, err)
	return out
}

// end rolls back an open transaction, and returns when that is done.
func (s *transactStream) end() {
	s.t.Helper()
	require.NoError(s.t, s.stream.CloseSend())
	_, err := s.stream.Recv()
	require.ErrorIs(s.t, err, io.EOF)
}

func (s *transactStream) execute(ops ...pb.Op) *pb.TransactResponse {
	s.t.Helper()
	return s.exchange(&pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: &pb.ExecuteStep{Ops: ops}}})
}

func (s *transactStream) savepoint() *pb.TransactResponse {
	s.t.Helper()
	return s.exchange(&pb.TransactRequest{Step: &pb.TransactRequest_Savepoint{Savepoint: &pb.SavepointStep{Name: "s"}}})
}

func (s *transactStream) commit() *pb.TransactResponse {
	s.t.Helper()
	return s.exchange(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.CommitStep{}}})
}

// contended is the key that is locked.
const contended = "orders/1"

var (
	putOp    = pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b(contended), Value: b("y")}}}
	lockOp   = pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b(contended), ForUpdate: true}}}
	absentOp = pb.Op{Op: &pb.Op_Require{
		Require: &pb.RequireOp{Key: b(contended), Condition: &pb.RequireOp_Absent{Absent: true}}}}
)

// waitReports are the paths on which a response reports the transaction that it waited for. Each runs while
// a transaction of root holds the lock of the key, which it releases when a transaction waits.
var waitReports = map[string]func(c *cluster, kvs pb.KVClient) response{
	"a one-shot": func(c *cluster, kvs pb.KVClient) response {
		out, err := kvs.Execute(proc.Context(c.t), &pb.ExecuteRequest{Ops: []pb.Op{putOp}})
		require.NoError(c.t, err)
		return out
	},
	"a one-shot that fails": func(c *cluster, kvs pb.KVClient) response {
		_, err := kvs.Execute(proc.Context(c.t), &pb.ExecuteRequest{Ops: []pb.Op{putOp, absentOp}})
		return errorDetail(c.t, err)
	},
	"a step": func(c *cluster, kvs pb.KVClient) response {
		s := c.beginTransact(kvs)
		defer s.end()
		out := s.execute(lockOp)
		require.NotNil(c.t, out.GetExecuted(), "%v", out)
		return out
	},
	"a step that fails": func(c *cluster, kvs pb.KVClient) response {
		s := c.beginTransact(kvs)
		defer s.end()
		out := s.execute(lockOp, absentOp)
		require.NotNil(c.t, out.GetFailed(), "%v", out)
		return out
	},
	"a step that fails, after a savepoint": func(c *cluster, kvs pb.KVClient) response {
		s := c.beginTransact(kvs)
		defer s.end()
		require.NotNil(c.t, s.savepoint().GetExecuted())
		out := s.execute(lockOp, absentOp)
		require.NotNil(c.t, out.GetStepFailed(), "%v", out)
		return out
	},
	"a commit": func(c *cluster, kvs pb.KVClient) response {
		s := c.beginTransact(kvs)
		defer s.end()
		require.NotNil(c.t, s.execute(putOp).GetExecuted())
		out := s.commit()
		require.NotNil(c.t, out.GetCommitted(), "%v", out)
		return out
	},
}

// TestResponsesHideOtherTransactions from users without permission to read all keys, in fields and in
// texts.
func TestResponsesHideOtherTransactions(t *testing.T) {
	c := start(t, 1, func(o *embed.Options) { o.Reads = txn.LockingReads })
	c.createUser("alice", admin.Rights{Grants: writes("orders/")})
	c.createUser("auditor", admin.Rights{Grants: append(reads(""), writes("orders/")...)})
	root := c.openAs(0, users.Root)
	for name, named := range map[string]bool{"alice": false, "auditor": true} {
		kvs := pb.NewKVClient(c.dial(0, name))
		for path, wait := range waitReports {
			responses := make(chan response, 1)
			var holder client.TxID
			require.NoError(t, root.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
				if err := tx.Execute(ctx, client.GetForUpdateOp(contended), client.PutOp(contended, b("x"))); err != nil {
					return err
				}
				holder = tx.ID()
				go func() {
					defer close(responses) // also on failure
					responses <- wait(c, kvs)
				}()
				c.awaitLockWaiter()
				return nil
			}), path)
			requireContainsID(t, named, <-responses, holder, name+", "+path)
		}
	}
}

// TestWoundsHideOtherTransactions: the error of a wounded transaction hides the older transaction too.
func TestWoundsHideOtherTransactions(t *testing.T) {
	c := start(t, 1, nil)
	c.createUser("alice", admin.Rights{Grants: writes("orders/")})
	c.createUser("auditor", admin.Rights{Grants: append(reads(""), writes("orders/")...)})
	for name, named := range map[string]bool{"alice": false, "auditor": true} {
		var out *pb.TransactResponse
		var older client.TxID
		require.NoError(t, c.openAs(0, users.Root).Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.Get(ctx, "begun"); err != nil {
				return err
			}
			older = tx.ID()
			s := c.beginTransact(pb.NewKVClient(c.dial(0, name)))
			defer s.end()
			require.NotNil(t, s.execute(lockOp).GetExecuted())
			if _, _, err := tx.GetForUpdate(ctx, contended); err != nil {
				return err
			}
			out = s.commit()
			return nil
		}))
		require.NotNil(t, out.GetFailed(), "%v", out)
		require.Equal(t, kv.KindAborted.String(), out.GetFailed().Kind, "%v", out)
		requireContainsID(t, named, out, older, name)
	}
}

func requireContainsID(t testing.TB, named bool, a response, id client.TxID, text string) {
	t.Helper()
	require.NotNil(t, a, text)
	require.False(t, id.IsZero())
	raw, err := a.Marshal()
	require.NoError(t, err)
	sent, err := kv.ParseTxnID(id.String())
	require.NoError(t, err)
	bits, err := sent.Marshal()
	require.NoError(t, err)
	require.Equal(t, named, bytes.Contains(raw, bits) || bytes.Contains(raw, []byte(id.String())), "%s: %v", text, a)
}

// awaitLockWaiter waits until a transaction waits for a lock of the first node.
func (c *cluster) awaitLockWaiter() {
	c.t.Helper()
	retryUntilOK(c.t, func() error {
		for _, s := range c.nodes[0].Node().ShardStats(0) {
			if s.Waiting > 0 {
				return nil
			}
		}
		return kv.Errorf(kv.KindAborted, "no transaction waits")
	})
}
