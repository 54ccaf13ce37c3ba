package server

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/linchpindb/linchpin/pkg/trace"
)

// parent is the caller's trace, of a call that has its metadata for itself. Calls of
// a Pipeline share theirs, and have it each by itself (pb.Call).
func (s *service) parent(ctx context.Context) trace.Parent {
	if !s.opts.Traces {
		return ""
	}
	if v := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(v) == 1 && len(v[0]) <= maxTraceparent {
		return trace.Parent(v[0])
	}
	return ""
}
