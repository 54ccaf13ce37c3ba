package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// older is a stream as a node has it that was made before a begin and a commit took
// operations along: it ignores those fields, and its welcome has no revision. A node
// that lies has one all the same.
type older struct {
	grpc.ServerStream
	lies bool
}

func (o older) RecvMsg(m any) error {
	err := o.ServerStream.RecvMsg(m)
	in, ok := m.(*pb.TransactRequest)
	if !ok {
		return err
	}
	if begin := in.GetBegin(); begin != nil {
		begin.First = nil
	}
	if commit := in.GetCommit(); commit != nil {
		commit.Last = nil
	}
	return err
}

func (o older) SendMsg(m any) error {
	out, ok := m.(*pb.PipelineResponse)
	if ok && out.Welcome != nil && !o.lies {
		out.Welcome.Revision = 0
	}
	return o.ServerStream.SendMsg(m)
}

// openOlder gives a client of such a node.
func openOlder(t *testing.T, lies bool) *client.DB {
	t.Helper()
	ignore := func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return handle(srv, older{s, lies})
	}
	n := startNode(t, servertest.New(), "", server.Options{GRPC: []grpc.ServerOption{grpc.ChainStreamInterceptor(ignore)}})
	return open(t, []string{n.addr})
}

// buffered are the ways in which the buffer is sent.
var buffered = map[string]func(ctx context.Context, tx *client.Tx) error{
	"with the commit": func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.Get(ctx, "k")
		return errors.Join(err, tx.Put(ctx, "k", b("v")), client.NewCounter("n").Add(ctx, tx, 3))
	},
	"with the beginning and the commit": func(ctx context.Context, tx *client.Tx) error {
		return errors.Join(tx.Put(ctx, "k", b("v")), client.NewCounter("n").Add(ctx, tx, 3))
	},
	"with a read": func(ctx context.Context, tx *client.Tx) error {
		err := errors.Join(tx.Put(ctx, "k", b("v")), client.NewCounter("n").Add(ctx, tx, 3))
		_, _, other := tx.Get(ctx, "other")
		return errors.Join(err, other)
	},
	"with a savepoint": func(ctx context.Context, tx *client.Tx) error {
		return errors.Join(tx.Put(ctx, "k", b("v")), client.NewCounter("n").Add(ctx, tx, 3), tx.Savepoint(ctx, "s"))
	},
	"behind a savepoint": func(ctx context.Context, tx *client.Tx) error {
		return errors.Join(tx.Savepoint(ctx, "s"), tx.Put(ctx, "k", b("v")), client.NewCounter("n").Add(ctx, tx, 3))
	},
}

// TestAnOlderNodeGetsEveryOperation: a node that would ignore operations in a beginning
// or a commit gets them by themselves.
func TestAnOlderNodeGetsEveryOperation(t *testing.T) {
	for name, fn := range buffered {
		t.Run(name, func(t *testing.T) {
			db := openOlder(t, false)
			require.NoError(t, db.Update(within(t, 10*time.Second), fn))
			require.Equal(t, int64(3), counter(t, db, "n"))
			require.Equal(t, "v", value(t, db, "k"))
		})
	}
}

// TestOperationsThatANodeIgnoresAreNoSuccess: an answer without a result of each operation
// is an error, whatever the node has said of itself.
func TestOperationsThatANodeIgnoresAreNoSuccess(t *testing.T) {
	for name, fn := range buffered {
		t.Run(name, func(t *testing.T) {
			db := openOlder(t, true)
			runs := 0
			err := db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
				runs++
				return fn(ctx, tx)
			})
			requireKind(t, client.KindInternal, err)
			require.Contains(t, err.Error(), "results")
			require.Equal(t, 1, runs)
		})
	}
}

// TestFailuresOfAnOlderNodeAreReported: where the commit is a step of its own, the failure of
// the operations before it is returned to the caller.
func TestFailuresOfAnOlderNodeAreReported(t *testing.T) {
	db := openOlder(t, false)
	ctx := within(t, 10*time.Second)
	err := db.Execute(ctx, client.PutOp("k", b("v")))
	require.NoError(t, err)
	for _, marked := range []bool{false, true} {
		err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if marked {
				require.NoError(t, tx.Savepoint(ctx, "s"))
			}
			return errors.Join(tx.Put(ctx, "other", b("w")), tx.Put(ctx, "k", b("w"), client.IfAbsent()))
		})
		requireKind(t, client.KindConditionFailed, err)
		require.Contains(t, err.Error(), `"k"`)
	}
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		return tx.Put(ctx, "other",
			b("w"))
	}))
}
