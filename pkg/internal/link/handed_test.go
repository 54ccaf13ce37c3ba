package link

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// brokenStream is a pipeline that fails at its first message: in SendMsg if it rejects it, and in
// RecvMsg if not.
type brokenStream struct {
	grpc.BidiStreamingClient[pb.PipelineRequest, pb.PipelineResponse]
	rejects bool
	broken  chan struct{}
	// ended is closed when the pipeline has noticed it before SendMsg returns.
	ended <-chan struct{}
}

func (b *brokenStream) SendMsg(any) error {
	close(b.broken)
	<-b.ended
	if b.rejects {
		return errors.New("the stream is broken")
	}
	return nil
}

func (b *brokenStream) RecvMsg(any) error {
	<-b.broken
	return errors.New("the stream is broken")
}

// TestOnlyRequestsThatTheTransportAcceptedMayBeApplied, however the end of the stream and of SendMsg
// overlap.
func TestOnlyRequestsThatTheTransportAcceptedMayBeApplied(t *testing.T) {
	for rejects, want := range map[bool]error{true: errNotSent, false: errNoAnswer} {
		stream := &brokenStream{rejects: rejects, broken: make(chan struct{})}
		p := newPipeline(stream, 1, nil)
		stream.ended = p.done
		var ends sync.WaitGroup
		ends.Add(2)
		p.start(func() {
			p.end()
			ends.Done()
		})
		r := new(Link).NewRequest(new(pb.Call), nil)
		require.Equal(t, want, p.run(context.Background(), time.Minute, r))
		p.pending.Wait()
		ends.Wait()
	}
}
