package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/delay"
)

// Reasons for which this side ends a session.
var (
	errAddressChanged = errors.New("the peer's address changed")
	errStalled        = errors.New("the peer does not respond")
)

// session connects to the peer and sends the content of the outbox until the stream breaks, stalls, or the
// peer's address changes; the error is the reason.
//
//	dial, open the stream, send the hello
//	another goroutine receives Beats   its error ends the stream
//	wait for the first Beat
//	this one: outbox --> Batch         and a ping per PingEvery
func (p *peer) session(ctx context.Context) (addr string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	addr = p.beginSession(cancel)
	conn, err := p.t.dial(addr)
	if err != nil {
		return addr, err
	}
	defer conn.Close()
	// The timer starts before the first attempt to connect, so that a connection attempt that hangs ends too.
	stall := time.AfterFunc(p.t.opts.StallAfter, func() { cancel(errStalled) })
	defer stall.Stop()
	stream, err := peerpb.NewPeerClient(conn).Stream(ctx)
	if err != nil {
		return addr, sessionError(ctx, err)
	}
	welcome := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- p.receiveBeats(stream, stall, welcome) }()
	p.sendLoop(stream, welcome)
	// The send loop stops when the stream has ended. Only the receiving side gets the reason, unless this side
	// has ended the stream.
	why := sessionError(ctx, nil)
	cancel(nil)
	if got := <-ended; why == nil {
		why = got
	}
	return addr, why
}

// sessionError prefers this side's reason to the cancellation that it caused.
func sessionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// receiveBeats records Beats until the stream ends, and returns the reason.
func (p *peer) receiveBeats(stream peerpb.Peer_StreamClient, stall *time.Timer, welcome chan<- struct{}) error {
	for first := true; ; first = false {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		stall.Reset(p.t.opts.StallAfter)
		p.lastBeat.Store(max(p.t.now(), 1))
		if first {
			p.onConnected()
			close(welcome)
		}
	}
}

func (p *peer) onConnected() {
	p.connects.Add(1)
	p.mu.Lock()
	p.lastError, p.failingSince, p.warned = "", 0, false
	p.mu.Unlock()
	p.t.opts.Log.Info("peer connected", "peer", p.id)
	if p.t.opts.OnConnect != nil {
		p.t.opts.OnConnect(p.id)
	}
}

// sendLoop sends the hello, and then the content of the outbox until the stream ends. Nothing is taken out
// of the outbox before the peer has accepted the stream.
func (p *peer) sendLoop(stream peerpb.Peer_StreamClient, welcome <-chan struct{}) {
	hello := &peerpb.Hello{Cluster: p.t.self.Cluster, From: p.t.self.Node, To: p.id, Version: peerpb.Version}
	if stream.Send(&peerpb.Batch{Hello: hello}) != nil {
		return
	}
	select {
	case <-stream.Context().Done():
		return
	case <-welcome:
	}
	ticker := time.NewTicker(p.t.opts.PingEvery)
	defer ticker.Stop()
	batch := &peerpb.Batch{Envelopes: make([]*msg.Envelope, 0, maxBatchCount)}
	for {
		// Also before the first wait: the previous session may have left messages without a token.
		if p.flush(stream, batch, ticker) != nil {
			return
		}
		select {
		case <-stream.Context().Done():
			return
		case <-ticker.C:
			batch.Ping = true
		case <-p.box.Ready():
		}
	}
}

// flush sends batches until the outbox is empty, and a ping if one is due.
func (p *peer) flush(stream peerpb.Peer_StreamClient, batch *peerpb.Batch, ticker *time.Ticker) error {
	for more := int64(1); more > 0; {
		batch.Envelopes, more = p.box.Take(batch.Envelopes[:0], maxBatchCount, maxBatchBytes, 0)
		if len(batch.Envelopes) == 0 && !batch.Ping {
			return nil
		}
		if err := stream.Send(batch); err != nil {
			return err
		}
		p.sent.Add(uint64(len(batch.Envelopes)))
		p.sentBatches.Add(1)
		clear(batch.Envelopes)
		batch.Ping = false
		select {
		case <-ticker.C:
			batch.Ping = true
		default:
		}
	}
	return nil
}

// dial prepares a connection to addr, which the first call establishes. Each session has its own, since
// gRPC would keep a stalled one.
func (t *Transport) dial(addr string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if t.opts.TLS != nil {
		creds = credentials.NewTLS(t.opts.TLS())
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(creds),
		codec.DialOption(),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(MaxBatchMessage)),
		grpc.WithContextDialer(t.dialTCP),
	)
	if err != nil {
		return nil, fmt.Errorf("grpc transport: peer address %q: %w", addr, err)
	}
	return conn, nil
}

func (t *Transport) dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil || t.opts.Delay == 0 {
		return c, err
	}
	slow, err := delay.Wrap(c, t.opts.Delay)
	if err != nil {
		c.Close()
		return nil, err
	}
	return slow, nil
}
