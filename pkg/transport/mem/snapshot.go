package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// maxChunks bounds the chunks of a Raft snapshot that are in flight.
const maxChunks = 4

// Reasons for which the network ends a Raft snapshot.
var (
	errCut        = errors.New("the peer is not reachable")
	errNoReplicas = errors.New("the peer has no replicas")
)

// stream carries a Raft snapshot. The faults of a network are not those of streams, which are reliable; but a Cut ends
// them, and so does the Close of either end.
type stream struct {
	ends   pair
	delay  time.Duration
	chunks chan chunk
	result chan error
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// chunk is a part of a Raft snapshot that arrives at a time.
type chunk struct {
	rows []byte
	due  time.Time
}

// SendSnapshot implements transport.Replicas.
func (n *Node) SendSnapshot(ctx context.Context, to kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	sent, err := replicamsg.Copy(replicamsg.Encode(m))
	if err != nil {
		return err
	}
	s := &stream{ends: pair{n.id, to}, delay: n.net.opts.Delay, chunks: make(chan chunk, maxChunks),
		result: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	receiver, err := n.net.open(n, s)
	if err == nil {
		go func() {
			defer receiver.running.Done()
			err := s.deliver(receiver.replicas, &sent)
			n.net.close(s) // before the sender knows the result, and sends another one
			s.result <- err
		}()
		err = s.send(next)
	}
	if err == nil {
		return nil
	}
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx) // rather than what the handler made of it
	}
	return fmt.Errorf("raft snapshot to node %v: %w", to, err)
}

// send passes the chunks on and returns the result.
func (s *stream) send(next func() ([]byte, error)) error {
	for {
		rows, err := next()
		switch {
		case err != nil:
			return err
		case len(rows) > kv.MaxNodeMessageBytes:
			return fmt.Errorf("a chunk has %d bytes; the limit is %d", len(rows), kv.MaxNodeMessageBytes)
		case rows == nil:
			close(s.chunks)
			return s.await()
		case len(rows) == 0:
			continue
		}
		select {
		case s.chunks <- chunk{bytes.Clone(rows), time.Now().Add(s.delay)}:
		case err := <-s.result:
			return err
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

func (s *stream) await() error {
	select {
	case err := <-s.result:
		return err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// deliver calls the receiver's handler. Only the text of its error arrives at the sender.
func (s *stream) deliver(h transport.ReplicaHandler, m *consensus.Message) error {
	if err := s.sleep(time.Now().Add(s.delay)); err != nil {
		return err
	}
	err := h.ReceiveSnapshot(s.ctx, s.ends.from, m, s.next)
	if err != nil {
		err = errors.New(err.Error())
	}
	if late := s.sleep(time.Now().Add(s.delay)); late != nil {
		return late
	}
	return err
}

// next returns the next chunk, nil after the last one.
func (s *stream) next() ([]byte, error) {
	select {
	case c, ok := <-s.chunks:
		if !ok {
			return nil, nil
		}
		return c.rows, s.sleep(c.due)
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

// sleep waits until a time. It returns an error if the stream ends before.
func (s *stream) sleep(until time.Time) error {
	left := time.Until(until)
	if left <= 0 {
		return nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// open adds a stream and returns its receiver, of which one more goroutine is counted.
func (n *Network) open(from *Node, s *stream) (*Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.nodes[s.ends.to]
	if from.id == s.ends.to || n.nodes[from.id] != from || !n.connected(from.id, s.ends.to) {
		return nil, errCut
	}
	if to.replicas == nil {
		return nil, errNoReplicas
	}
	count := 0
	for other := range n.streams {
		if other.ends == s.ends {
			count++
		}
	}
	if count >= transport.MaxSnapshots {
		return nil, transport.TooManySnapshots(to.id, from.id)
	}
	n.streams[s] = true
	to.running.Add(1)
	return to, nil
}

// close removes a stream.
func (n *Network) close(s *stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.streams, s)
}

// cancelStreams ends the streams of which the ends satisfy a condition.
func (n *Network) cancelStreams(isEnded func(pair) bool) {
	for s := range n.streams {
		if isEnded(s.ends) {
			s.cancel(errCut)
		}
	}
}
