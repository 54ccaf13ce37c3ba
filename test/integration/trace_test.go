package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// spans are what the nodes of a cluster have sent.
type spans struct {
	exporter *tracetest.InMemoryExporter
	tracers  []*trace.Tracer
}

// traced starts a cluster of three nodes that traces this share of transactions. The
// key "hot" lives on the hot shard.
func traced(t *testing.T, ratio float64) (*embed.Cluster, *spans) {
	t.Helper()
	s := &spans{exporter: tracetest.NewInMemoryExporter()}
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), HotKeys: [][]byte{[]byte("hot")},
		Hot: hotshard.ModeOff, Listen: true, NoSync: true,
		Tracer: func(id kv.NodeID) *trace.Tracer {
			tr, err := trace.New(trace.Options{Exporter: s.exporter, Ratio: ratio, Node: id})
			require.NoError(t, err)
			s.tracers = append(s.tracers, tr)
			return tr
		}})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
		defer cancel()
		require.NoError(t, c.Stop(ctx))
		for _, tr := range s.tracers {
			require.NoError(t, tr.Close(ctx))
		}
	})
	return c, s
}

// await waits until the nodes have sent a trace with these spans, by the transaction's
// name, and gives them.
func (s *spans) await(t *testing.T, id fmt.Stringer, names ...string) (out []tracetest.SpanStub) {
	t.Helper()
	proc.Until(t, fmt.Sprint("there are spans ", names), func(ctx context.Context) bool {
		for _, tr := range s.tracers {
			require.NoError(t, tr.Flush(ctx))
		}
		all := s.exporter.GetSpans()
		root := slices.IndexFunc(all, func(x tracetest.SpanStub) bool {
			return x.Name == "transaction" && attr(x, "linchpin.txn") == id.String()
		})
		if root < 0 {
			return false
		}
		out = slices.DeleteFunc(all, func(x tracetest.SpanStub) bool { return x.SpanContext.TraceID() != all[root].SpanContext.TraceID() })
		return !slices.ContainsFunc(names, func(n string) bool { return find(out, n) == nil })
	}, func() string { return drawn(out) })
	return out
}

func find(all []tracetest.SpanStub, name string) *tracetest.SpanStub {
	i := slices.IndexFunc(all, func(x tracetest.SpanStub) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func attr(x tracetest.SpanStub, name string) string {
	for _, a := range x.Attributes {
		if a.Key == attribute.Key(name) {
			return a.Value.String()
		}
	}
	return ""
}

func drawn(all []tracetest.SpanStub) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintf(&b, "%s (%s, %s) of %s, %v to %v\n", x.Name, attr(x, "linchpin.node"), attr(x, "linchpin.shard"), x.Parent.SpanID(), x.StartTime.Format("05.000000"), x.EndTime.Format("05.000000"))
	}
	return b.String()
}

// nested requires that each span but the root has its parent in the trace, and lies in
// it, but for what follows the decision.
func nested(t *testing.T, all []tracetest.SpanStub) {
	t.Helper()
	byID := map[string]tracetest.SpanStub{}
	for _, x := range all {
		byID[x.SpanContext.SpanID().String()] = x
	}
	for _, x := range all {
		require.False(t, x.EndTime.Before(x.StartTime), drawn(all))
		if x.Name == "transaction" {
			continue
		}
		p, ok := byID[x.Parent.SpanID().String()]
		require.True(t, ok, "%s has no parent\n%s", x.Name, drawn(all))
		require.False(t, x.StartTime.Before(p.StartTime), "%s begins before %s\n%s", x.Name, p.Name, drawn(all))
		if x.Name != "shard.apply" && p.Name != "shard.apply" {
			// The gateway and the caller go on as soon as the answer leaves, so the
			// last instants of a shard's span may lie after the root's end.
			require.False(t, x.EndTime.After(p.EndTime.Add(50*time.Millisecond)), "%s ends after %s\n%s", x.Name, p.Name, drawn(all))
		}
	}
}

// TestATransactionIsTracedAcrossNodes: one hot transaction, which has to wait for a lock
// on a warm shard, has spans at its gateway, at each participant and at the hot shard.
func TestATransactionIsTracedAcrossNodes(t *testing.T) {
	t.Parallel()
	c, s := traced(t, 1)
	router := c.Router()
	shardOf := func(key string) kv.ShardID { return router.Shard([]byte(key)) }
	key := func(node kv.NodeID) string {
		for i := range 1000 {
			if k := fmt.Sprintf("key%d", i); router.Node(shardOf(k)) == node && shardOf(k) != router.HotShard() {
				return k
			}
		}
		t.Fatal("no key lives there")
		return ""
	}
	hotNode := router.Node(router.HotShard())
	warm := key(hotNode%3 + 1)
	gateway := (hotNode+1)%3 + 1
	db := proc.Open(t, []string{c.Addrs()[gateway-1]})
	ctx := soon(t)
	letGo := hold(t, db, func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.GetForUpdate(ctx, warm)
		return err
	})
	var report client.Report
	answered := writer(func() error {
		return db.With(client.ReportTo(&report)).Execute(ctx, putsOf("v", warm, "hot")...)
	})
	proc.Until(t, "somebody waits for the key", func(ctx context.Context) bool {
		for _, n := range []kv.NodeID{1, 2, 3} {
			for _, sh := range c.Node(n).Snapshots(0) {
				if sh.Waiting > 0 {
					return true
				}
			}
		}
		return false
	}, func() string { return "nobody does" })
	require.NoError(t, letGo())
	require.NoError(t, <-answered)

	all := s.await(t, report.TxID, "transaction", "shard.prepare", "wait for a lock", "shard.decide", "wait for votes",
		"shard.apply", "durable")
	nested(t, all)
	root := find(all, "transaction")
	require.Equal(t, gateway.String(), attr(*root, "linchpin.node"))
	require.Equal(t, "one-shot", attr(*root, "linchpin.kind"))
	require.Equal(t, "OK", attr(*root, "linchpin.outcome"))
	prepare, decide := find(all, "shard.prepare"), find(all, "shard.decide")
	require.Equal(t, shardOf(warm).String(), attr(*prepare, "linchpin.shard"))
	require.Equal(t, "false", attr(*prepare, "linchpin.hot"))
	require.Equal(t, router.HotShard().String(), attr(*decide, "linchpin.shard"))
	require.Equal(t, "true", attr(*decide, "linchpin.hot"))
	require.NotEqual(t, attr(*prepare, "linchpin.node"), attr(*decide, "linchpin.node"))
	require.Equal(t, root.SpanContext.SpanID(), prepare.Parent.SpanID())
	require.Equal(t, root.SpanContext.SpanID(), decide.Parent.SpanID())
	require.Equal(t, decide.SpanContext.SpanID(), find(all, "shard.apply").Parent.SpanID(), "the decision is the hot shard's")
	wait := find(all, "wait for a lock")
	require.Equal(t, prepare.SpanContext.SpanID(), wait.Parent.SpanID(), "it waited there\n%s", drawn(all))
	require.Equal(t, fmt.Sprintf("%q", warm), attr(*wait, "linchpin.wait.key"))
	require.Equal(t, decide.SpanContext.SpanID(), find(all, "wait for votes").Parent.SpanID())

	for _, x := range all {
		for _, a := range x.Attributes {
			require.NotContains(t, a.Value.String(), `"v"`, "values are not told")
		}
	}
}

// TestInteractiveTransactionsAndScansAreTraced: each call of one has a span.
func TestInteractiveTransactionsAndScansAreTraced(t *testing.T) {
	t.Parallel()
	c, s := traced(t, 1)
	db := proc.Open(t, c.Addrs()[:1])
	var id client.TxID
	require.NoError(t, db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
		id = tx.ID()
		if _, _, err := tx.Get(ctx, "a"); err != nil {
			return err
		}
		if _, _, err := tx.Get(ctx, "hot"); err != nil {
			return err
		}
		if err := tx.Put(ctx, "b", []byte("x")); err != nil {
			return err
		}
		return tx.Put(ctx, "hot", []byte("x"))
	}))
	all := s.await(t, id, "transaction", "transaction.do", "transaction.commit", "shard.lock", "shard.decide")
	nested(t, all)
	require.Equal(t, "interactive", attr(*find(all, "transaction"), "linchpin.kind"))
	require.Equal(t, find(all, "transaction.commit").SpanContext.SpanID(), find(all, "shard.decide").Parent.SpanID())

	var report client.Report
	_, err := valuesOf(soon(t), db.With(client.ReportTo(&report)), "a", "b", "hot")
	require.NoError(t, err)
	nested(t, s.await(t, report.TxID, "transaction", "shard.read"))
}

// TestAClientsTraceGoesOn: a traceparent in the metadata, or in a call of a Pipeline, is
// the parent, and decides whether anything is traced.
func TestAClientsTraceGoesOn(t *testing.T) {
	t.Parallel()
	c, s := traced(t, 0)
	conn, err := grpc.NewClient(c.Addrs()[0], grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption())
	require.NoError(t, err)
	defer conn.Close()
	kvs := pb.NewKVClient(conn)
	put := []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("k"), Value: []byte("v")}}}}
	parents := []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"}
	ctx := soon(t)
	for _, unsampled := range []string{"", "00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "nonsense"} {
		with := ctx
		if unsampled != "" {
			with = metadata.AppendToOutgoingContext(ctx, "traceparent", unsampled)
		}
		_, err := kvs.Execute(with, &pb.ExecuteRequest{Ops: put})
		require.NoError(t, err)
	}
	one, err := kvs.Execute(metadata.AppendToOutgoingContext(ctx, "traceparent", parents[0]), &pb.ExecuteRequest{Ops: put})
	require.NoError(t, err)
	stream, err := kvs.Pipeline(ctx)
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.PipelineRequest{Calls: []pb.Call{{Handle: 1, Request: pb.ExecuteRequest{Ops: put}, Traceparent: parents[1]}}}))
	in, err := stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	for i, id := range []kv.TxnID{one.TxnId, in.Responses[0].Response.TxnId} {
		all := s.await(t, id, "transaction", "shard.execute")
		root := find(all, "transaction")
		require.Equal(t, strings.Split(parents[i], "-")[1], root.SpanContext.TraceID().String())
		require.Equal(t, strings.Split(parents[i], "-")[2], root.Parent.SpanID().String())
	}
	roots := 0
	for _, x := range s.exporter.GetSpans() {
		if x.Name == "transaction" {
			roots++
		}
	}
	require.Equal(t, 2, roots, "nobody asked for the others")
}

// TestTheGoClientContinuesTraces, each transaction that of its own context, if it is told
// to: streams are used for one transaction after the other.
func TestTheGoClientContinuesTraces(t *testing.T) {
	t.Parallel()
	c, s := traced(t, 0)
	caller := func(n byte) (context.Context, oteltrace.SpanContext) {
		sc := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: oteltrace.TraceID{n, 1},
			SpanID: oteltrace.SpanID{n, 2}, TraceFlags: oteltrace.FlagsSampled})
		return oteltrace.ContextWithSpanContext(soon(t), sc), sc
	}
	interactive := func(db *client.DB, ctx context.Context) (id client.TxID) {
		require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			id = tx.ID()
			_, _, err := tx.Get(ctx, "k")
			return err
		}))
		return id
	}
	oneShot := func(db *client.DB, ctx context.Context) client.TxID {
		var report client.Report
		require.NoError(t, db.With(client.ReportTo(&report)).Put(ctx, "k", nil))
		return report.TxID
	}
	silent, err := client.Open(soon(t), c.Addrs())
	require.NoError(t, err)
	defer silent.Close()
	db, err := client.Open(soon(t), c.Addrs(), client.WithTracing())
	require.NoError(t, err)
	defer db.Close()
	asked := 0
	for range 2 {
		for _, run := range []func(*client.DB, context.Context) client.TxID{oneShot, interactive} {
			asked++
			ctx, sc := caller(byte(asked))
			run(silent, ctx)
			id := run(db, ctx)
			run(db, soon(t)) // nor is anything left of the one before
			root := find(s.await(t, id, "transaction"), "transaction")
			require.Equal(t, sc.TraceID(), root.SpanContext.TraceID())
			require.Equal(t, sc.SpanID(), root.Parent.SpanID())
		}
	}
	ctx, sc := caller(99)
	for _, err := range db.Scan(ctx, client.Range{}) {
		require.NoError(t, err)
	}
	var roots []oteltrace.TraceID
	proc.Until(t, "the scan has a span", func(context.Context) bool {
		for _, x := range s.tracers {
			require.NoError(t, x.Flush(soon(t)))
		}
		roots = nil
		for _, x := range s.exporter.GetSpans() {
			if x.Name == "transaction" {
				roots = append(roots, x.SpanContext.TraceID())
			}
		}
		return slices.Contains(roots, sc.TraceID())
	}, func() string { return fmt.Sprint(roots) })
	require.Len(t, roots, asked+1, "nobody asked for the others")
}
