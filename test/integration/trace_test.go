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

// spans are the spans that the nodes of a cluster have exported.
type spans struct {
	exporter *tracetest.InMemoryExporter
	tracers  []*trace.Tracer
}

// startTraced starts a cluster of three nodes that traces a share of the transactions. The key "hot" is on
// the hot shard.
func startTraced(t *testing.T, ratio float64) (*embed.Cluster, *spans) {
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

// await waits until the trace of a transaction has spans with these names, and returns the trace.
func (s *spans) await(t *testing.T, id fmt.Stringer, names ...string) (out []tracetest.SpanStub) {
	t.Helper()
	proc.Until(t, fmt.Sprint("there are spans ", names), func(ctx context.Context) bool {
		for _, tr := range s.tracers {
			require.NoError(t, tr.Flush(ctx))
		}
		all := s.exporter.GetSpans()
		root := slices.IndexFunc(all, func(x tracetest.SpanStub) bool {
			return x.Name == "transaction" && attrOf(x, "linchpin.txn") == id.String()
		})
		if root < 0 {
			return false
		}
		out = slices.DeleteFunc(all,
			func(x tracetest.SpanStub) bool { return x.SpanContext.TraceID() != all[root].SpanContext.TraceID() })
		return !slices.ContainsFunc(names, func(n string) bool { return findSpan(out, n) == nil })
	}, func() string { return describe(out) })
	return out
}

func findSpan(all []tracetest.SpanStub, name string) *tracetest.SpanStub {
	i := slices.IndexFunc(all, func(x tracetest.SpanStub) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func attrOf(x tracetest.SpanStub, name string) string {
	for _, a := range x.Attributes {
		if a.Key == attribute.Key(name) {
			return a.Value.String()
		}
	}
	return ""
}

func describe(all []tracetest.SpanStub) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintf(&b, "%s (%s, %s) of %s, %v to %v\n", x.Name, attrOf(x, "linchpin.node"), attrOf(x, "linchpin.shard"),
			x.Parent.SpanID(), x.StartTime.Format("05.000000"), x.EndTime.Format("05.000000"))
	}
	return b.String()
}

// requireNested requires that each span but the root has its parent in the trace and is within it. Spans
// after the decision may end later.
func requireNested(t *testing.T, all []tracetest.SpanStub) {
	t.Helper()
	byID := map[string]tracetest.SpanStub{}
	for _, x := range all {
		byID[x.SpanContext.SpanID().String()] = x
	}
	for _, x := range all {
		require.False(t, x.EndTime.Before(x.StartTime), describe(all))
		if x.Name == "transaction" {
			continue
		}
		p, ok := byID[x.Parent.SpanID().String()]
		require.True(t, ok, "%s has no parent\n%s", x.Name, describe(all))
		require.False(t, x.StartTime.Before(p.StartTime), "%s begins before %s\n%s", x.Name, p.Name, describe(all))
		if x.Name != "shard.apply" && p.Name != "shard.apply" {
			// The gateway and the client continue as soon as the response is sent, so a span of a shard may end
			// shortly after the root.
			require.False(t, x.EndTime.After(p.EndTime.Add(50*time.Millisecond)), "%s ends after %s\n%s", x.Name, p.Name,
				describe(all))
		}
	}
}

// TestTransactionIsTracedAcrossNodes: a transaction that waits for a lock on an ordinary shard has spans at
// its gateway, at each participant and at the hot shard.
func TestTransactionIsTracedAcrossNodes(t *testing.T) {
	t.Parallel()
	c, s := startTraced(t, 1)
	router := c.Router()
	shardOf := func(key string) kv.ShardID { return router.Shard([]byte(key)) }
	key := func(node kv.NodeID) string {
		for i := range 1000 {
			if k := fmt.Sprintf("key%d", i); router.Node(shardOf(k)) == node && shardOf(k) != router.HotShard() {
				return k
			}
		}
		t.Fatal("no key is on the node")
		return ""
	}
	hotNode := router.Node(router.HotShard())
	ordinary := key(hotNode%3 + 1)
	gateway := (hotNode+1)%3 + 1
	db := proc.Open(t, []string{c.Addrs()[gateway-1]})
	ctx := proc.Context(t)
	_, commit := proc.Hold(t, db, func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.GetForUpdate(ctx, ordinary)
		return err
	})
	var report client.Report
	committed := runAsync(func() error {
		return db.With(client.ReportTo(&report)).Execute(ctx, putsOf("v", ordinary, "hot")...)
	})
	proc.Until(t, "the transaction waits for the lock", func(ctx context.Context) bool {
		for _, n := range []kv.NodeID{1, 2, 3} {
			for _, sh := range c.Node(n).ShardStats(0) {
				if sh.Waiting > 0 {
					return true
				}
			}
		}
		return false
	}, func() string { return "" })
	require.NoError(t, commit())
	require.NoError(t, <-committed)

	all := s.await(t, report.TxID, "transaction", "shard.prepare", "wait for a lock", "shard.decide", "wait for votes",
		"shard.apply", "durable")
	requireNested(t, all)
	root := findSpan(all, "transaction")
	require.Equal(t, gateway.String(), attrOf(*root, "linchpin.node"))
	require.Equal(t, "one-shot", attrOf(*root, "linchpin.kind"))
	require.Equal(t, "OK", attrOf(*root, "linchpin.outcome"))
	prepare, decide := findSpan(all, "shard.prepare"), findSpan(all, "shard.decide")
	require.Equal(t, shardOf(ordinary).String(), attrOf(*prepare, "linchpin.shard"))
	require.Equal(t, "false", attrOf(*prepare, "linchpin.hot"))
	require.Equal(t, router.HotShard().String(), attrOf(*decide, "linchpin.shard"))
	require.Equal(t, "true", attrOf(*decide, "linchpin.hot"))
	require.NotEqual(t, attrOf(*prepare, "linchpin.node"), attrOf(*decide, "linchpin.node"))
	require.Equal(t, root.SpanContext.SpanID(), prepare.Parent.SpanID())
	require.Equal(t, root.SpanContext.SpanID(), decide.Parent.SpanID())
	require.Equal(t, decide.SpanContext.SpanID(), findSpan(all, "shard.apply").Parent.SpanID(), "the hot shard decides")
	wait := findSpan(all, "wait for a lock")
	require.Equal(t, prepare.SpanContext.SpanID(), wait.Parent.SpanID(), "the wait is on the participant\n%s",
		describe(all))
	require.Equal(t, fmt.Sprintf("%q", ordinary), attrOf(*wait, "linchpin.wait.key"))
	require.Equal(t, decide.SpanContext.SpanID(), findSpan(all, "wait for votes").Parent.SpanID())

	for _, x := range all {
		for _, a := range x.Attributes {
			require.NotContains(t, a.Value.String(), `"v"`, "spans contain no values")
		}
	}
}

// TestInteractiveTransactionsAndScansAreTraced: each call of an interactive transaction has a span.
func TestInteractiveTransactionsAndScansAreTraced(t *testing.T) {
	t.Parallel()
	c, s := startTraced(t, 1)
	db := proc.Open(t, c.Addrs()[:1])
	var id client.TxID
	require.NoError(t, db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
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
	requireNested(t, all)
	require.Equal(t, "interactive", attrOf(*findSpan(all, "transaction"), "linchpin.kind"))
	require.Equal(t, findSpan(all, "transaction.commit").SpanContext.SpanID(),
		findSpan(all, "shard.decide").Parent.SpanID())

	var report client.Report
	_, err := valuesOf(proc.Context(t), db.With(client.ReportTo(&report)), "a", "b", "hot")
	require.NoError(t, err)
	requireNested(t, s.await(t, report.TxID, "transaction", "shard.read"))
}

// TestClientTraceparentIsContinued: a traceparent in the metadata, or in a call of a Pipeline, is the
// parent of the trace and decides whether the transaction is traced.
func TestClientTraceparentIsContinued(t *testing.T) {
	t.Parallel()
	c, s := startTraced(t, 0)
	conn, err := grpc.NewClient(c.Addrs()[0], grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption())
	require.NoError(t, err)
	defer conn.Close()
	kvs := pb.NewKVClient(conn)
	put := []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("k"), Value: []byte("v")}}}}
	parents := []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"}
	ctx := proc.Context(t)
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
	require.NoError(t, stream.Send(&pb.PipelineRequest{Calls: []pb.Call{{Handle: 1, Request: pb.ExecuteRequest{Ops: put},
		Traceparent: parents[1]}}}))
	in, err := stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	for i, id := range []kv.TxnID{one.TxnId, in.Responses[0].Response.TxnId} {
		all := s.await(t, id, "transaction", "shard.execute")
		root := findSpan(all, "transaction")
		require.Equal(t, strings.Split(parents[i], "-")[1], root.SpanContext.TraceID().String())
		require.Equal(t, strings.Split(parents[i], "-")[2], root.Parent.SpanID().String())
	}
	roots := 0
	for _, x := range s.exporter.GetSpans() {
		if x.Name == "transaction" {
			roots++
		}
	}
	require.Equal(t, 2, roots, "the other transactions are not traced")
}

// TestGoClientContinuesTraces: with tracing enabled, each transaction of the client continues the trace of
// its own context, although transactions share streams.
func TestGoClientContinuesTraces(t *testing.T) {
	t.Parallel()
	c, s := startTraced(t, 0)
	caller := func(n byte) (context.Context, oteltrace.SpanContext) {
		sc := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: oteltrace.TraceID{n, 1},
			SpanID: oteltrace.SpanID{n, 2}, TraceFlags: oteltrace.FlagsSampled})
		return oteltrace.ContextWithSpanContext(proc.Context(t), sc), sc
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
	silent, err := client.Open(proc.Context(t), c.Addrs())
	require.NoError(t, err)
	defer silent.Close()
	db, err := client.Open(proc.Context(t), c.Addrs(), client.WithTracing())
	require.NoError(t, err)
	defer db.Close()
	traced := 0
	for range 2 {
		for _, run := range []func(*client.DB, context.Context) client.TxID{oneShot, interactive} {
			traced++
			ctx, sc := caller(byte(traced))
			run(silent, ctx)
			id := run(db, ctx)
			run(db, proc.Context(t)) // the trace of the previous transaction is not continued
			root := findSpan(s.await(t, id, "transaction"), "transaction")
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
			require.NoError(t, x.Flush(proc.Context(t)))
		}
		roots = nil
		for _, x := range s.exporter.GetSpans() {
			if x.Name == "transaction" {
				roots = append(roots, x.SpanContext.TraceID())
			}
		}
		return slices.Contains(roots, sc.TraceID())
	}, func() string { return fmt.Sprint(roots) })
	require.Len(t, roots, traced+1, "the other transactions are not traced")
}
