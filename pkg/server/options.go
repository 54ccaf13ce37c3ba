package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// PingAfter and PingTimeout find out about a client that is gone without a
// word: when nothing has come from it for the first, it is asked, and when it
// has not answered within the second, its connection is closed and its open
// transactions are rolled back.
const (
	PingAfter   = 8 * time.Second
	PingTimeout = 4 * time.Second
)

// maxHeaderBytes bounds the headers of a call, which are read before it is known
// who calls. Ours have a hundred bytes or two.
const maxHeaderBytes = 16 << 10

// Options are a server's choices; the zero value is the defaults.
type Options struct {
	// MaxInFlight bounds the unanswered calls of one Pipeline stream. 0 is
	// 4096. More of them help no backend whose own queues are bounded at
	// kv.DefaultMaxInFlight; fewer bound what one client can occupy.
	MaxInFlight int
	// MaxUnreadBytes bounds what a Pipeline stream may occupy, in bytes, when it
	// stops taking calls: the calls that are in flight, with what their answers are
	// expected to have, and the answers that have not been read. One call it always
	// takes. 0 is 16 MiB.
	MaxUnreadBytes int
	// SlowReader is how long one page of a scan may wait for a client that does
	// not read. 0 is kv.MaxTxnAge.
	SlowReader time.Duration
	// MaxStreams bounds the concurrent calls of one connection; more wait at the
	// client. 0 is 512.
	MaxStreams int
	// PeerService is the service of other nodes, whose messages may have up to
	// MaxPeerBytes; empty for none.
	PeerService  string
	MaxPeerBytes int
	// Users keeps the users; nil is a server that has none.
	Users Directory
	// RefusedAddresses returns the addresses of which too many connections have failed;
	// nil is none.
	RefusedAddresses func() []guard.RefusedAddress
	// Operator controls the process for operators; nil is a process that another program controls.
	Operator Operator
	// Traces has the calls' traceparent read and passed on to the backend.
	Traces bool
	// Log gets panics, and streams that begin and end (debug); nil is slog.Default().
	Log *slog.Logger
	// Register adds further services before the server is started, such as
	// the nodes' own; it may be nil.
	Register func(grpc.ServiceRegistrar)
	// GRPC are further options, such as credentials.
	GRPC []grpc.ServerOption
}

func (o Options) withDefaults() Options {
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 4096
	}
	if o.MaxUnreadBytes == 0 {
		o.MaxUnreadBytes = 16 << 20
	}
	if o.SlowReader == 0 {
		o.SlowReader = kv.MaxTxnAge
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 512
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// check reports everything that is wrong.
func (o Options) check() error {
	var errs []error
	bad := func(name string, v int) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("server: %s is %d, must not be negative", name, v))
		}
	}
	bad("MaxInFlight", o.MaxInFlight)
	bad("MaxUnreadBytes", o.MaxUnreadBytes)
	bad("MaxStreams", o.MaxStreams)
	if o.SlowReader < 0 {
		errs = append(errs, fmt.Errorf("server: SlowReader is %v, must not be negative", o.SlowReader))
	}
	return errors.Join(errs...)
}

// grpcOptions are those every server has, then the caller's.
func (o Options) grpcOptions(s *service) []grpc.ServerOption {
	return append([]grpc.ServerOption{
		codec.ServerOption(),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		// What is received is bounded by receiver. Windows do not grow: what no
		// handler has asked for takes memory.
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(connWindowBytes),
		grpc.MaxSendMsgSize(pb.MaxMessageBytes),
		grpc.MaxConcurrentStreams(uint32(o.MaxStreams)),
		// Else Stop would not wait for handlers, of which one may just begin.
		grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(s.recoverUnary, s.readyUnary),
		grpc.ChainStreamInterceptor(s.recoverStream, s.readyStream),
		// The locks of a client that vanished are released when this detects it, or earlier if an older
		// transaction wounds it.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: PingAfter, Timeout: PingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}, o.GRPC...)
}

// longest is how long a message of a service may be.
func (s *service) longest(service string) int {
	if service == s.opts.PeerService {
		return s.opts.MaxPeerBytes
	}
	return pb.MaxMessageBytes
}

// deadline is the caller's, or zero if it has none before the maximum age of a transaction.
func deadline(now time.Time, callers time.Time, has bool) time.Time {
	if has && callers.Before(now.Add(kv.MaxTxnAge)) {
		return callers
	}
	return time.Time{}
}
