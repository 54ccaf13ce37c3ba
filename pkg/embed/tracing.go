package embed

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	"github.com/linchpindb/linchpin/pkg/trace"
)

// startTracer is nil if nothing is to be traced.
func startTracer(o *Options, id kv.NodeID) (*trace.Tracer, error) {
	if o.TraceEndpoint == "" {
		return nil, nil
	}
	log := o.log(logs.Traces)
	trace.OnError(func(err error) {
		log.Warn("traces dropped", "error", err)
	})
	log.Info("tracing enabled", "endpoint", o.TraceEndpoint, "ratio", o.TraceRatio)
	return trace.New(trace.Options{Endpoint: o.TraceEndpoint, Ratio: o.TraceRatio, Node: id, Version: o.Version})
}

// stopTracer sends what there is, but does not wait for long for a collector that is
// not there.
func (i *Instance) stopTracer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := i.tracer.Close(ctx); err != nil {
		i.opt.log(logs.Traces).Warn("last traces dropped", "error", err)
	}
}
