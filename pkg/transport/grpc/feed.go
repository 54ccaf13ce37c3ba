package grpc

import (
	"context"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// feed is what waits for a line, and its kind of stream.
type feed interface {
	// kind names the stream in the log; "" for that of envelopes.
	kind() string
	// open opens a stream.
	open(context.Context, peerpb.PeerClient) (stream, error)
	// ready returns a channel with a token when something may wait.
	ready() <-chan struct{}
	// onConnected is called when the peer has accepted a stream, before anything is sent on it.
	onConnected()
	// stats returns what the feed counts.
	stats() StreamStats
}

// stream is an open stream of a feed.
type stream interface {
	Context() context.Context
	Recv() (*peerpb.Beat, error)
	// hello sends the first batch.
	hello(*peerpb.Hello) error
	// sendNext sends a batch, if something waits or a ping is due, and reports whether it has sent one.
	sendNext(ping bool) (sent bool, err error)
}

// counts are the statistics of a feed and of the streams from the peer.
type counts struct{ sent, sentBatches, received, receivedBatches, oversized atomic.Uint64 }

func (c *counts) onSent(messages int) {
	c.sent.Add(uint64(messages))
	c.sentBatches.Add(1)
}

func (c *counts) onReceived(messages int) {
	c.received.Add(uint64(messages))
	c.receivedBatches.Add(1)
}

// snapshot returns the counts, beside those of the queue.
func (c *counts) snapshot(o outbox.Counts) StreamStats {
	return StreamStats{Outbox: o, Sent: c.sent.Load(), SentBatches: c.sentBatches.Load(),
		Received: c.received.Load(), ReceivedBatches: c.receivedBatches.Load(), Oversized: c.oversized.Load()}
}

// envelopes are the messages of transactions that wait for a peer.
type envelopes struct {
	p   *peer
	box *outbox.Outbox
	counts
}

func newEnvelopes(p *peer) *envelopes { return &envelopes{p: p, box: outbox.New(p.t.opts.Outbox)} }

// push queues envelopes, except those that exceed the peer's limit: each would end the stream, and be sent
// again on the next one.
func (f *envelopes) push(envs []*msg.Envelope) {
	start := 0
	for i, e := range envs {
		if e.Size() > MaxMessageBytes {
			f.box.Push(envs[start:i], 0)
			start = i + 1
			f.oversized.Add(1)
			f.p.t.opts.Log.Error("message too large to send", "peer", f.p.id, "message", e.Name(),
				"bytes", e.Size(), "limit", MaxMessageBytes)
		}
	}
	f.box.Push(envs[start:], 0)
}

func (*envelopes) kind() string             { return "" }
func (f *envelopes) ready() <-chan struct{} { return f.box.Ready() }
func (*envelopes) onConnected()             {}
func (f *envelopes) stats() StreamStats     { return f.snapshot(f.box.Counts()) }

func (f *envelopes) open(ctx context.Context, c peerpb.PeerClient) (stream, error) {
	s, err := c.Stream(ctx)
	return &envelopeStream{s, f, peerpb.Batch{Envelopes: make([]*msg.Envelope, 0, maxBatchCount)}}, err
}

type envelopeStream struct {
	peerpb.Peer_StreamClient
	feed  *envelopes
	batch peerpb.Batch
}

func (s *envelopeStream) hello(h *peerpb.Hello) error { return s.Send(&peerpb.Batch{Hello: h}) }

func (s *envelopeStream) sendNext(ping bool) (sent bool, err error) {
	b := &s.batch
	b.Envelopes, _ = s.feed.box.Take(b.Envelopes[:0], maxBatchCount, maxBatchBytes, 0)
	if len(b.Envelopes) == 0 && !ping {
		return false, nil
	}
	b.Ping = ping
	if err := s.Send(b); err != nil {
		return false, err
	}
	s.feed.onSent(len(b.Envelopes))
	clear(b.Envelopes)
	return true, nil
}

// replicas are the messages of replicas that wait for a peer. They are due from when they are queued on.
type replicas struct {
	p   *peer
	box *outbox.Replicas
	counts
}

func newReplicas(p *peer) *replicas { return &replicas{p: p, box: outbox.NewReplicas()} }

// push queues messages, except those that exceed the peer's limit.
func (f *replicas) push(msgs []*peerpb.ReplicaMessage) {
	start, now := 0, f.p.t.now()
	for i := range msgs {
		if size := msgs[i].Size(); size > MaxMessageBytes {
			f.box.Push(msgs[start:i], now)
			start = i + 1
			f.oversized.Add(1)
			f.p.t.opts.Log.Error("message of a replica too large to send", "peer", f.p.id, "shard", msgs[i].Group,
				"bytes", size, "limit", MaxMessageBytes)
		}
	}
	f.box.Push(msgs[start:], now)
}

func (*replicas) kind() string             { return "replicas" }
func (f *replicas) ready() <-chan struct{} { return f.box.Ready() }
func (f *replicas) stats() StreamStats     { return f.snapshot(f.box.Counts()) }

// onConnected drops what is old: after a minute without the peer, thousands of heartbeats would go before the present
// one.
func (f *replicas) onConnected() { f.box.DropBefore(f.p.t.now() - int64(f.p.t.opts.ReplicaAge)) }

func (f *replicas) open(ctx context.Context, c peerpb.PeerClient) (stream, error) {
	s, err := c.Replicate(ctx)
	return &replicaStream{s, f, peerpb.ReplicaBatch{}}, err
}

type replicaStream struct {
	peerpb.Peer_ReplicateClient
	feed  *replicas
	batch peerpb.ReplicaBatch
}

func (s *replicaStream) hello(h *peerpb.Hello) error { return s.Send(&peerpb.ReplicaBatch{Hello: h}) }

func (s *replicaStream) sendNext(ping bool) (sent bool, err error) {
	b := &s.batch
	b.Messages, _ = s.feed.box.Take(b.Messages[:0], maxReplicaCount, maxBatchBytes, s.feed.p.t.now())
	if len(b.Messages) == 0 && !ping {
		return false, nil
	}
	b.Ping = ping
	if err := s.Send(b); err != nil {
		return false, err
	}
	s.feed.onSent(len(b.Messages))
	clear(b.Messages)
	return true, nil
}
