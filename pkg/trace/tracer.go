package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Options are what a tracer is made with.
type Options struct {
	// Endpoint is the URL of an OTLP collector that speaks gRPC, such as
	// http://127.0.0.1:4317; https:// is with TLS. It need not answer yet.
	Endpoint string
	// Exporter takes the place of one for Endpoint, in tests.
	Exporter sdktrace.SpanExporter
	// Ratio is the share of transactions that are traced, 0 to 1, of those whose
	// client did not decide that.
	Ratio float64
	// Node and Version are the resource of the spans.
	Node    kv.NodeID
	Version string
}

// maxLive bounds the transactions of a gateway that are traced at a time, maxOpen
// the spans of a shard that are open. What is beyond is not traced.
const (
	maxLive = 4096
	maxOpen = 4096
)

// Tracer makes a node's spans. Its methods may be called by any goroutine.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	node     attribute.KeyValue

	// live is len(txns), to be looked at without the lock.
	live atomic.Int64
	mu   sync.Mutex
	// txns are the transactions of this node's gateway, by affinity.
	txns map[uint64]*Txn
	// leaving are the spans of shards that end when this message leaves.
	leaving map[*msg.Envelope]*work
}

// New makes a tracer. Spans are sent in the background.
func New(o Options) (*Tracer, error) {
	if o.Ratio < 0 || o.Ratio > 1 {
		return nil, fmt.Errorf("trace: the ratio is %v; the range is 0 to 1", o.Ratio)
	}
	if (o.Endpoint == "") == (o.Exporter == nil) {
		return nil, errors.New("trace: Endpoint and Exporter are both missing")
	}
	exporter := o.Exporter
	if exporter == nil {
		var err error
		exporter, err = otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpointURL(o.Endpoint))
		if err != nil {
			return nil, fmt.Errorf("trace: the endpoint %q: %w", o.Endpoint, err)
		}
	}
	about := resource.NewSchemaless(attribute.String("service.name", "linchpin"),
		attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Node.String()))
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))))
	return &Tracer{provider: p, tracer: p.Tracer("github.com/linchpindb/linchpin"),
		node: attribute.String("linchpin.node", o.Node.String()),
		txns: map[uint64]*Txn{}, leaving: map[*msg.Envelope]*work{}}, nil
}

// OnError calls f with the errors of sending spans, of all tracers: the library has one such function in a
// process.
func OnError(f func(error)) { otel.SetErrorHandler(otel.ErrorHandlerFunc(f)) }

// Flush sends what there is.
func (t *Tracer) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// Close sends what there is, and ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Parent is where a caller's trace is: a traceparent as W3C Trace Context has it, or
// empty. What is malformed is none: the standard wants it ignored.
type Parent string

func (p Parent) context() context.Context {
	if p == "" {
		return context.Background()
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": string(p)})
}

// Txn is a transaction that is traced. All methods do nothing if it is nil.
type Txn struct {
	t    *Tracer
	key  uint64
	span oteltrace.Span
	ctx  context.Context
	// step is the span of the call in flight, nil for none; at is what
	// messages carry. Both are guarded by t.mu.
	step oteltrace.Span
	at   *msg.Trace
}

// Begin begins the span of a transaction, unless it is not sampled: then it is
// nil. kind is how the client runs it.
func (t *Tracer) Begin(p Parent, kind string, id kv.TxnID, ops int) *Txn {
	if t.live.Load() >= maxLive {
		return nil
	}
	ctx, span := t.tracer.Start(p.context(), "transaction", oteltrace.WithSpanKind(oteltrace.SpanKindServer))
	if !span.IsRecording() {
		return nil
	}
	span.SetAttributes(t.node, attribute.String("linchpin.kind", kind), attribute.String("linchpin.txn", id.String()),
		attribute.Int("linchpin.ops", ops))
	x := &Txn{t: t, key: id.Affinity(), span: span, ctx: ctx, at: wire(span.SpanContext())}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.txns[x.key] = x
	t.live.Store(int64(len(t.txns)))
	return x
}

// Step begins the span of one call of an interactive transaction. The call before
// it is over.
func (x *Txn) Step(name string, ops int) {
	if x == nil {
		return
	}
	_, span := x.t.tracer.Start(x.ctx, "transaction."+name,
		oteltrace.WithAttributes(x.t.node, attribute.Int("linchpin.ops", ops)))
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	x.step, x.at = span, wire(span.SpanContext())
}

// Stepped ends it.
func (x *Txn) Stepped(r *msg.Receipt, err error) {
	if x == nil {
		return
	}
	x.t.mu.Lock()
	span := x.step
	x.step = nil
	x.t.mu.Unlock()
	if span != nil {
		outcome(span, r, err)
		span.End()
	}
}

// End ends the transaction's span.
func (x *Txn) End(attempts int, r *msg.Receipt, err error) {
	if x == nil {
		return
	}
	x.Stepped(r, err)
	x.t.mu.Lock()
	if x.t.txns[x.key] == x {
		delete(x.t.txns, x.key)
		x.t.live.Store(int64(len(x.t.txns)))
	}
	x.t.mu.Unlock()
	x.span.SetAttributes(attribute.Int("linchpin.attempts", attempts))
	outcome(x.span, r, err)
	x.span.End()
}

// Label has messages carry the trace of their transaction, if it is traced here. A
// message that is sent again has it already.
func (t *Tracer) Label(envs []*msg.Envelope) {
	if t.live.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, env := range envs {
		if env.Trace != nil {
			continue
		}
		if ref, ok := env.Attempt(); ok {
			if x := t.txns[ref.TxnID.Affinity()]; x != nil {
				env.Trace = x.at
			}
		}
	}
}

// outcome says how something ended.
func outcome(span oteltrace.Span, r *msg.Receipt, err error) {
	span.SetAttributes(attribute.String("linchpin.outcome", kv.KindOf(err).String()))
	if err != nil {
		span.RecordError(err)
	}
	if r != nil && r.WaitedNanos > 0 {
		span.SetAttributes(waited(r)...)
	}
}

// waited returns the attributes of a wait.
func waited(r *msg.Receipt) []attribute.KeyValue {
	as := []attribute.KeyValue{attribute.Int64("linchpin.waited_ns", r.WaitedNanos),
		attribute.String("linchpin.wait.cause", r.Cause.String()),
		attribute.String("linchpin.wait.key", fmt.Sprintf("%q", r.Key))}
	if !r.Holder.TxnID.IsZero() {
		as = append(as, attribute.String("linchpin.wait.holder", r.Holder.TxnID.String()))
	}
	return as
}

// wire is what messages carry of a span.
func wire(sc oteltrace.SpanContext) *msg.Trace {
	id, span := sc.TraceID(), sc.SpanID()
	return &msg.Trace{High: binary.BigEndian.Uint64(id[:8]), Low: binary.BigEndian.Uint64(id[8:]),
		Span: binary.BigEndian.Uint64(span[:])}
}

// parent is the context of what a message carries: of a trace that is sampled, or
// it would carry nothing.
func parent(m *msg.Trace) context.Context {
	var id oteltrace.TraceID
	var span oteltrace.SpanID
	binary.BigEndian.PutUint64(id[:8], m.High)
	binary.BigEndian.PutUint64(id[8:], m.Low)
	binary.BigEndian.PutUint64(span[:], m.Span)
	return oteltrace.ContextWithRemoteSpanContext(context.Background(),
		oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: oteltrace.FlagsSampled,
			Remote: true}))
}

// forgotten is how long a shard's span may be open: nothing is in flight for longer.
const forgotten = 2 * kv.MaxTxnAge

func older(than time.Time, now time.Time) bool { return now.Sub(than) > forgotten }
