package link

import (
	"context"
	"errors"
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
	// ended is closed when the session has noticed it before SendMsg returns.
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
		ctx, cancel := context.WithCancel(context.Background())
		s := &Session{cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{}), retired: make(chan struct{}),
			sent: make(map[uint64]*Request), slots: make(chan struct{}, 1)}
		s.users.Store(2)
		s.stream = &brokenStream{rejects: rejects, broken: make(chan struct{}), ended: s.done}
		go s.sendAll()
		go s.receiveAll()
		r := NewRequest(new(pb.Call))
		require.Equal(t, want, s.run(context.Background(), time.Minute, r))
		<-ctx.Done()
		s.pending.Wait()
	}
}
