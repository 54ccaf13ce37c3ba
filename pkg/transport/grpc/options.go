package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

const (
	// MaxMessageBytes is the greatest message between nodes; what is larger
	// is refused by Send and counted as dropped.
	MaxMessageBytes = kv.MaxNodeMessageBytes
	// maxBatchCount and maxBatchBytes bound what is put into one Batch, so
	// that the first envelope of a long queue is handled while the rest is
	// still being decoded. A single larger envelope travels alone.
	maxBatchCount = 256
	maxBatchBytes = 1 << 20
	// MaxBatchMessage is the greatest message of the Peer service, which a server that
	// carries it must take.
	MaxBatchMessage = MaxMessageBytes + maxBatchBytes
)

// MeetFunc answers an introduction; package membership has it.
type MeetFunc func(context.Context, *peerpb.MeetRequest) (*peerpb.MeetResponse, error)

// Options are a transport's. Handler and Meet are needed.
type Options struct {
	// Handler receives what comes from other nodes.
	Handler transport.Handler
	// Meet answers introductions.
	Meet MeetFunc
	// OnConnect is told each time a peer has accepted a stream, which it does
	// only when it is the member that it should be. It is called by the peer's
	// goroutine. Default none.
	OnConnect func(kv.NodeID)
	// TLS gives what each connection to a peer is encrypted with, and how the
	// peer is known; nil is not at all.
	TLS func() *tls.Config
	// Log gets a line when a peer is connected, lost, or refuses us. Default
	// none.
	Log *slog.Logger
	// Delay makes each connection that this node opens slower by this time
	// each way. For benchmarks. Default 0.
	Delay time.Duration
	// PingEvery is how often a peer is asked for a sign of life. Default 1 s.
	PingEvery time.Duration
	// UpWindow is for how long a peer counts as up after a sign of life.
	// Default 3 s: two pings may be late.
	UpWindow time.Duration
	// StallAfter is after how long without a sign of life a connection is
	// given up and made anew. Default 5 s.
	StallAfter time.Duration
	// RetryMin and RetryMax bound the time between attempts to connect; it
	// doubles with each. Default 50 ms and 1 s.
	RetryMin, RetryMax time.Duration
	// Outbox bounds the queue to each peer.
	Outbox outbox.Options
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	fill(&o.PingEvery, time.Second)
	fill(&o.UpWindow, 3*time.Second)
	fill(&o.StallAfter, 5*time.Second)
	fill(&o.RetryMin, 50*time.Millisecond)
	fill(&o.RetryMax, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) check() error {
	var errs []error
	if o.Handler == nil {
		errs = append(errs, errors.New("grpc transport: Handler is missing"))
	}
	if o.Meet == nil {
		errs = append(errs, errors.New("grpc transport: Meet is missing"))
	}
	if o.Delay < 0 {
		errs = append(errs, errors.New("grpc transport: Delay is negative"))
	}
	if o.PingEvery < 0 || o.UpWindow < o.PingEvery || o.StallAfter < o.PingEvery {
		errs = append(errs, errors.New("grpc transport: UpWindow and StallAfter must not be shorter than PingEvery"))
	}
	if o.RetryMin < 0 || o.RetryMax < o.RetryMin {
		errs = append(errs, errors.New("grpc transport: RetryMax must not be shorter than RetryMin"))
	}
	return errors.Join(errs...)
}

// Identity is what a node learned at the meeting.
type Identity struct {
	Cluster string
	Node    kv.NodeID
}
