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

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/delay"
)

// Reasons for which this side ends a session.
var (
	errAddressChanged = errors.New("the peer's address changed")
	errStalled        = errors.New("the peer does not respond")
	errStopping       = errors.New("the node is stopping")
)

// session connects to the peer and sends what waits until the stream breaks, stalls, or the peer's address changes;
// the error is the reason.
//
//	dial, open the stream, send the hello
//	another goroutine receives Beats   its error ends the stream
//	wait for the first Beat
//	this one: feed --> batch           and a ping per PingEvery
func (l *line) session(ctx context.Context) (addr string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	addr = l.beginSession(cancel)
	conn, err := l.p.t.dial(addr)
	if err != nil {
		return addr, err
	}
	defer conn.Close()
	// The timer starts before the first attempt to connect, so that a connection attempt that hangs ends too.
	stall := time.AfterFunc(l.p.t.opts.StallAfter, func() { cancel(errStalled) })
	defer stall.Stop()
	s, err := l.feed.open(ctx, peerpb.NewPeerClient(conn))
	if err != nil {
		return addr, sessionError(ctx, err)
	}
	welcome := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- l.receiveBeats(s, stall, welcome) }()
	l.sendLoop(s, welcome)
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
func (l *line) receiveBeats(s stream, stall *time.Timer, welcome chan<- struct{}) error {
	for first := true; ; first = false {
		if _, err := s.Recv(); err != nil {
			return err
		}
		stall.Reset(l.p.t.opts.StallAfter)
		l.p.lastBeat.Store(max(l.p.t.now(), 1))
		if first {
			l.onConnected()
			close(welcome)
		}
	}
}

// sendLoop sends the hello, and then what waits until the stream ends. Nothing is taken out of the queue before the
// peer has accepted the stream.
func (l *line) sendLoop(s stream, welcome <-chan struct{}) {
	if s.hello(l.p.t.hello(l.p.id)) != nil {
		return
	}
	select {
	case <-s.Context().Done():
		return
	case <-welcome:
	}
	ticker := time.NewTicker(l.p.t.opts.PingEvery)
	defer ticker.Stop()
	ping := false
	for {
		// Also before the first wait: the previous session may have left messages without a token.
		if flush(s, ping, ticker) != nil {
			return
		}
		ping = false
		select {
		case <-s.Context().Done():
			return
		case <-ticker.C:
			ping = true
		case <-l.feed.ready():
		}
	}
}

// flush sends batches until nothing waits, and a ping if one is due.
func flush(s stream, ping bool, ticker *time.Ticker) error {
	for {
		sent, err := s.sendNext(ping)
		if err != nil || !sent {
			return err
		}
		select {
		case <-ticker.C:
			ping = true
		default:
			ping = false
		}
	}
}

// hello returns what opens a stream to a peer.
func (t *Transport) hello(to kv.NodeID) *peerpb.Hello {
	return &peerpb.Hello{Cluster: t.self.Cluster, From: t.self.Node, To: to, Version: peerpb.Version}
}

// dial prepares a connection to addr, which the first call establishes. Each session and each Raft
// snapshot has its own, since gRPC would keep a stalled one, and the bytes of one would wait for those of another.
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
