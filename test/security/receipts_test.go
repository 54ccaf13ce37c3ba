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
)

// answer is whatever a node has answered.
type answer interface{ Marshal() ([]byte, error) }

// refusal is what an error of gRPC's tells.
func refusal(t testing.TB, err error) answer {
	t.Helper()
	d := detail.From(err)
	require.NotNil(t, d, "%v", err)
	return d
}

// steps is a Transact stream of a user's.
type steps struct {
	t      testing.TB
	stream pb.KV_TransactClient
}

func (c *cluster) steps(kvs pb.KVClient) *steps {
	c.t.Helper()
	stream, err := kvs.Transact(soon(c.t))
	require.NoError(c.t, err)
	s := &steps{c.t, stream}
	require.NotNil(c.t, s.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{}}}).GetBegun())
	return s
}

func (s *steps) ask(in *pb.TransactRequest) *pb.TransactResponse {
	s.t.Helper()
	require.NoError(s.t, s.stream.Send(in))
	out, err := s.stream.Recv()
	require.NoError(s.t, err)
	return out
}

// end rolls back what is open, and returns when that is done.
func (s *steps) end() {
	s.t.Helper()
	require.NoError(s.t, s.stream.CloseSend())
	_, err := s.stream.Recv()
	require.ErrorIs(s.t, err, io.EOF)
}

func (s *steps) do(ops ...pb.Op) *pb.TransactResponse {
	s.t.Helper()
	return s.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: &pb.ExecuteStep{Ops: ops}}})
}

func (s *steps) mark() *pb.TransactResponse {
	s.t.Helper()
	return s.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Savepoint{Savepoint: &pb.SavepointStep{Name: "s"}}})
}

func (s *steps) commit() *pb.TransactResponse {
	s.t.Helper()
	return s.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.CommitStep{}}})
}

// contended is the key that is locked.
const contended = "orders/1"

var (
	putIt    = pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b(contended), Value: b("y")}}}
	lockIt   = pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b(contended), ForUpdate: true}}}
	notThere = pb.Op{Op: &pb.Op_Require{
		Require: &pb.RequireOp{Key: b(contended), Condition: &pb.RequireOp_Absent{Absent: true}}}}
)

// waits are the ways to be told for whom one has waited. Each runs while a transaction
// of root's has locked the key, which ends when somebody waits.
var waits = map[string]func(c *cluster, kvs pb.KVClient) answer{
	"a one-shot": func(c *cluster, kvs pb.KVClient) answer {
		out, err := kvs.Execute(soon(c.t), &pb.ExecuteRequest{Ops: []pb.Op{putIt}})
		require.NoError(c.t, err)
		return out
	},
	"a one-shot that fails": func(c *cluster, kvs pb.KVClient) answer {
		_, err := kvs.Execute(soon(c.t), &pb.ExecuteRequest{Ops: []pb.Op{putIt, notThere}})
		return refusal(c.t, err)
	},
	"a step": func(c *cluster, kvs pb.KVClient) answer {
		s := c.steps(kvs)
		defer s.end()
		out := s.do(lockIt)
		require.NotNil(c.t, out.GetExecuted(), "%v", out)
		return out
	},
	"a step that fails": func(c *cluster, kvs pb.KVClient) answer {
		s := c.steps(kvs)
		defer s.end()
		out := s.do(lockIt, notThere)
		require.NotNil(c.t, out.GetFailed(), "%v", out)
		return out
	},
	"a step that fails, behind a savepoint": func(c *cluster, kvs pb.KVClient) answer {
		s := c.steps(kvs)
		defer s.end()
		require.NotNil(c.t, s.mark().GetExecuted())
		out := s.do(lockIt, notThere)
		require.NotNil(c.t, out.GetStepFailed(), "%v", out)
		return out
	},
	"a commit": func(c *cluster, kvs pb.KVClient) answer {
		s := c.steps(kvs)
		defer s.end()
		require.NotNil(c.t, s.do(putIt).GetExecuted())
		out := s.commit()
		require.NotNil(c.t, out.GetCommitted(), "%v", out)
		return out
	},
}

// TestNoAnswerNamesOthers to who may not read everything, neither in fields nor in words.
func TestNoAnswerNamesOthers(t *testing.T) {
	c := start(t, 1, func(o *embed.Options) { o.Reads = txn.LockingReads })
	c.made("alice", admin.Rights{Grants: writes("orders/")})
	c.made("auditor", admin.Rights{Grants: append(reads(""), writes("orders/")...)})
	root := c.as(0, users.Root)
	for who, named := range map[string]bool{"alice": false, "auditor": true} {
		kvs := pb.NewKVClient(c.dial(0, who))
		for way, wait := range waits {
			answered := make(chan answer, 1)
			var holder client.TxID
			require.NoError(t, root.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
				if err := tx.Execute(ctx, client.GetForUpdateOp(contended), client.PutOp(contended, b("x"))); err != nil {
					return err
				}
				holder = tx.ID()
				go func() {
					defer close(answered) // also if it fails
					answered <- wait(c, kvs)
				}()
				c.somebodyWaits()
				return nil
			}), way)
			requireNamed(t, named, <-answered, holder, who+", "+way)
		}
	}
}

// TestNoAnswerNamesWhoWasOlder: for whom one has to give way is no less a secret.
func TestNoAnswerNamesWhoWasOlder(t *testing.T) {
	c := start(t, 1, nil)
	c.made("alice", admin.Rights{Grants: writes("orders/")})
	c.made("auditor", admin.Rights{Grants: append(reads(""), writes("orders/")...)})
	for who, named := range map[string]bool{"alice": false, "auditor": true} {
		var out *pb.TransactResponse
		var older client.TxID
		require.NoError(t, c.as(0, users.Root).Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.Get(ctx, "begun"); err != nil {
				return err
			}
			older = tx.ID()
			s := c.steps(pb.NewKVClient(c.dial(0, who)))
			defer s.end()
			require.NotNil(t, s.do(lockIt).GetExecuted())
			if _, _, err := tx.GetForUpdate(ctx, contended); err != nil {
				return err
			}
			out = s.commit()
			return nil
		}))
		require.NotNil(t, out.GetFailed(), "%v", out)
		require.Equal(t, kv.KindAborted.String(), out.GetFailed().Kind, "%v", out)
		requireNamed(t, named, out, older, who)
	}
}

func requireNamed(t testing.TB, named bool, a answer, id client.TxID, text string) {
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

// somebodyWaits waits until somebody waits for a lock of the first node's.
func (c *cluster) somebodyWaits() {
	c.t.Helper()
	eventually(c.t, func() error {
		for _, s := range c.nodes[0].Node().Snapshots(0) {
			if s.Waiting > 0 {
				return nil
			}
		}
		return kv.Errorf(kv.KindAborted, "nobody waits")
	})
}
