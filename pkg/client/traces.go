package client

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// traceparentName is what the standard calls it, in metadata.
const traceparentName = "traceparent"

// traceparent is the trace of a caller as W3C Trace Context has it, empty if there is
// none to continue.
func (o *options) traceparent(ctx context.Context) string {
	if !o.traces || !oteltrace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparentName]
}
