package security

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// startSmallNode starts a node with little memory: a request may use 12 MiB of it, a connection 15 MiB.
func startSmallNode(t *testing.T) *embed.Instance {
	t.Helper()
	return startWithMemory(t, 512)
}

func startWithMemory(t *testing.T, mib int64) *embed.Instance {
	t.Helper()
	i, err := embed.Start(proc.Context(t), embed.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Shards: 2,
		MemoryBudget: mib << 20, CacheBytes: 16 << 20, UnsafeNoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Stop()) })
	return i
}

// values returns n puts of 1 MiB.
func values(n int) (ops []client.Op) {
	for i := range n {
		ops = append(ops, client.PutOp(fmt.Sprint("large/", i), make([]byte, 1<<20)))
	}
	return ops
}

// TestRequestLargerThanMemoryIsRejected at once, as not retryable, on every path. Other requests of the
// same connection are not affected.
func TestRequestLargerThanMemoryIsRejected(t *testing.T) {
	i := startSmallNode(t)
	db, err := client.Open(t.Context(), []string{i.Addr()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := grpc.NewClient(i.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption(),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	request := pb.ExecuteRequest{}
	for k := range 10 {
		put := &pb.PutOp{Key: fmt.Appendf(nil, "large/%d", k), Value: make([]byte, 1<<20)}
		request.Ops = append(request.Ops, pb.Op{Op: &pb.Op_Put{Put: put}})
	}
	for name, run := range map[string]func(ctx context.Context) error{
		"pipelined": func(ctx context.Context) error { return db.Execute(ctx, values(10)...) },
		"interactive, one step": func(ctx context.Context) error {
			return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				return tx.Execute(ctx, values(10)...)
			})
		},
		"interactive, step by step": func(ctx context.Context) error {
			return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				for _, op := range values(13) {
					if err := tx.Execute(ctx, op, client.GetOp("other")); err != nil {
						return err
					}
				}
				return nil
			})
		},
		"a unary call": func(ctx context.Context) error {
			_, err := pb.NewKVClient(conn).Execute(ctx, &request)
			return detail.Error(detail.From(err))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, commit := proc.Hold(t, db, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.GetForUpdate(ctx, "small")
				return err
			})
			waits := make(chan error, 1)
			// In flight meanwhile, on the same connection.
			go func() { waits <- db.With(client.NoRetry()).Put(ctx, "small", nil) }()
			lastActivity := ""
			proc.Until(t, "the put waits", func(ctx context.Context) bool {
				a, err := admin.New(db).Activity(ctx, admin.ActivityOptions{MaxWaits: 1})
				lastActivity = fmt.Sprint(a, err)
				return err == nil && len(a.Waits) > 0
			}, func() string { return lastActivity })
			began := time.Now()
			err := run(ctx)
			require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "--memory-budget")
			require.Less(t, time.Since(began), 2*time.Second)
			require.NoError(t, commit())
			require.NoError(t, <-waits)
		})
	}
	require.NoError(t, db.Execute(t.Context(), values(5)...))
	require.NoError(t, db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
		return tx.Execute(ctx, values(5)...)
	}))
}

// TestSmallestNodeAcceptsLargestValue repeatedly: its memory is freed.
func TestSmallestNodeAcceptsLargestValue(t *testing.T) {
	db, err := client.Open(t.Context(), []string{startWithMemory(t, 272).Addr()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	key := strings.Repeat("k", kv.MaxKeyBytes)
	for range 20 {
		require.NoError(t, db.Put(proc.Context(t), key, make([]byte, kv.MaxValueBytes)))
		require.NoError(t, db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
			e, _, err := tx.Entry(ctx, key)
			if err != nil {
				return err
			}
			return tx.Put(ctx, key, e.Value, client.IfVersion(e.Version))
		}))
	}
}

// TestTransactionWithoutStreamMemoryIsRejected: nothing of it is executed, so its outcome is not queried,
// and its id can be reused.
func TestTransactionWithoutStreamMemoryIsRejected(t *testing.T) {
	i := startSmallNode(t)
	db, err := client.Open(t.Context(), []string{i.Addr()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db = db.With(client.NoRetry())
	for range 3 { // all of 127.0.0.1, which counts as one user
		conn, err := grpc.NewClient(i.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		for {
			stream, err := pb.NewKVClient(conn).Transact(t.Context())
			require.NoError(t, err)
			step := &pb.TransactRequest_Rollback{Rollback: &pb.RollbackStep{}}
			require.NoError(t, stream.Send(&pb.TransactRequest{Step: step}))
			_, err = stream.Recv()
			if err != nil {
				require.Equal(t, kv.KindResourceExhausted, detail.Error(detail.From(err)).Kind)
				break
			}
		}
	}
	err = db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, "k", nil) })
	require.Equal(t, kv.KindResourceExhausted, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "--memory-budget")
}
