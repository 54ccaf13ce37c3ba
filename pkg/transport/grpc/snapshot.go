package grpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// SendSnapshot implements transport.Replicas, on a connection of its own. It fails also when the peer is not
// reachable for StallAfter, and when the transport is closed.
func (t *Transport) SendSnapshot(ctx context.Context, to kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	p := t.peer(to)
	if p == nil {
		return fmt.Errorf("grpc transport: node %v is not a peer", to)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(errStopping) })()
	go p.watchBeats(ctx, cancel)
	conn, err := t.dial(p.address())
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := peerpb.NewPeerClient(conn).SendSnapshot(ctx)
	if err == nil {
		err = sendChunks(stream, &peerpb.SnapshotChunk{Hello: t.hello(to), Message: replicamsg.Encode(m)}, next)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("raft snapshot to node %v: %w", to, plain(sessionError(ctx, err)))
}

// plain returns the error of a call without the words of gRPC.
func plain(err error) error {
	if _, ok := status.FromError(err); ok {
		return errors.New(peerpb.Reason(err))
	}
	return err
}

// sendChunks sends a Raft snapshot and returns its result. Each chunk is encoded before the next one is requested.
func sendChunks(stream peerpb.Peer_SendSnapshotClient, chunk *peerpb.SnapshotChunk, next func() ([]byte, error)) error {
	for chunk != nil {
		err := stream.Send(chunk)
		if errors.Is(err, io.EOF) {
			break // the receiver has ended the stream: the result says why
		} else if err != nil {
			return err
		}
		rows, err := next()
		switch {
		case err != nil:
			return err
		case len(rows) > MaxMessageBytes:
			return fmt.Errorf("a chunk has %d bytes; the limit is %d", len(rows), MaxMessageBytes)
		case rows == nil:
			chunk = nil
		default:
			chunk = &peerpb.SnapshotChunk{Rows: rows}
		}
	}
	result, err := stream.CloseAndRecv()
	if err == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	return err
}

// SendSnapshot implements peerpb.PeerServer. The handler runs on another goroutine, as in serve.
func (s *service) SendSnapshot(stream peerpb.Peer_SendSnapshotServer) error {
	if s.t.opts.Replicas == nil {
		return errNoReplicas
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	from, err := s.t.checkHello(first.Hello)
	if err != nil {
		return err
	}
	if first.Message == nil {
		return status.Error(codes.InvalidArgument, "the raft snapshot does not begin with its message")
	}
	if err := s.t.beginSnapshot(from); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		m := replicamsg.Decode(first.Message)
		err := s.t.opts.Replicas.ReceiveSnapshot(ctx, from, &m, chunksOf(stream))
		s.t.endSnapshot(from) // before the sender knows the result, and sends another one
		result <- err
	}()
	select {
	case err := <-result:
		r := new(peerpb.SnapshotResult)
		if err != nil {
			r.Error = cmp.Or(err.Error(), "unknown error")
		}
		return stream.SendAndClose(r)
	case <-s.t.ctx.Done():
		return status.Error(codes.Unavailable, errStopping.Error())
	}
}

// chunksOf returns a function that returns the next chunk of rows, nil after the last one.
func chunksOf(stream peerpb.Peer_SendSnapshotServer) func() ([]byte, error) {
	ended := false
	return func() ([]byte, error) {
		for !ended {
			c, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				ended = true
			case err != nil:
				return nil, err
			case len(c.Rows) > 0:
				return c.Rows, nil
			}
		}
		return nil, nil
	}
}

// beginSnapshot admits a Raft snapshot of a peer; endSnapshot is called when it has ended.
func (t *Transport) beginSnapshot(from kv.NodeID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return status.Error(codes.Unavailable, errStopping.Error())
	case t.snapshots[from] >= transport.MaxSnapshots:
		return status.Error(codes.ResourceExhausted, transport.TooManySnapshots(t.self.Node, from).Error())
	}
	t.snapshots[from]++
	t.running.Add(1)
	return nil
}

func (t *Transport) endSnapshot(from kv.NodeID) {
	t.mu.Lock()
	t.snapshots[from]--
	t.mu.Unlock()
	t.running.Done()
}
