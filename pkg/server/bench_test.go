package server_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// trivial answers at once, so that what is measured is edge and gRPC.
type trivial struct{ *servertest.Store }

var trivialResults = []msg.Result{{Version: kv.Version{Write: 1}}}

func (trivial) Submit(r gateway.Request, done func(gateway.Response)) {
	done(gateway.Response{ID: r.ID, Attempts: 1, Results: trivialResults})
}

const callers = 128

// BenchmarkUnary has 128 callers, each with one call of Execute at a time.
func BenchmarkUnary(b *testing.B) {
	e := serve(b, trivial{servertest.New()}, server.Options{})
	b.ReportAllocs()
	b.ResetTimer()
	left := int64(b.N)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			in := &pb.ExecuteRequest{Ops: []pb.Op{put("key-of-twenty-four-bytes", string(make([]byte, 128)))}}
			for atomic.AddInt64(&left, -1) >= 0 {
				if _, err := e.kv.Execute(b.Context(), in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPipeline has 128 callers share one stream, each with one call at a
// time: a sender takes what callers have queued, a receiver wakes them.
func BenchmarkPipeline(b *testing.B) {
	e := serve(b, trivial{servertest.New()}, server.Options{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	stream, err := e.kv.Pipeline(ctx)
	require.NoError(b, err)
	queue := make(chan pb.Call, callers)
	var wake [callers]chan struct{}
	for i := range wake {
		wake[i] = make(chan struct{}, 1)
	}
	go func() {
		for c := range queue {
			m := pb.PipelineRequest{Calls: []pb.Call{c}}
			for len(queue) > 0 {
				m.Calls = append(m.Calls, <-queue)
			}
			if stream.Send(&m) != nil {
				return
			}
		}
	}()
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			for i := range m.Responses {
				wake[m.Responses[i].Handle] <- struct{}{}
			}
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	left := int64(b.N)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			c := call(uint64(i), put("key-of-twenty-four-bytes", string(make([]byte, 128))))
			for atomic.AddInt64(&left, -1) >= 0 {
				queue <- c
				<-wake[i]
			}
		})
	}
	wg.Wait()
	close(queue)
}
