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
	// MaxMessageBytes is the maximum size of a message between nodes; Send drops larger ones and counts them.
	MaxMessageBytes = kv.MaxNodeMessageBytes
	// maxBatchCount and maxBatchBytes bound a Batch, so that the first envelope of a long queue is handled
	// while the rest is still being decoded. A single larger envelope is sent alone.
	maxBatchCount = 256
	maxBatchBytes = 1 << 20
	// maxReplicaCount bounds a ReplicaBatch, as maxBatchBytes does: it has the heartbeats of all groups.
	maxReplicaCount = 1024
	// MaxBatchMessage is the maximum size of a message of the Peer service, which the server must accept.
	MaxBatchMessage = MaxMessageBytes + maxBatchBytes
)

// MeetFunc answers an introduction; package membership implements it.
type MeetFunc func(context.Context, *peerpb.MeetRequest) (*peerpb.MeetResponse, error)

// Options are the parameters of a transport. Handler and Meet are required.
type Options struct {
	// Handler receives the messages of other nodes.
	Handler transport.Handler
	// Replicas receives the messages of the replicas on other nodes. Default: their streams are rejected with
	// Unimplemented.
	Replicas transport.ReplicaHandler
	// Meet answers introductions.
	Meet MeetFunc
	// OnConnect is called each time a peer has accepted a stream, which implies that it is the expected
	// member. It is called by the stream's goroutine. Default: none.
	OnConnect func(kv.NodeID)
	// TLS returns the TLS configuration of each connection to a peer; nil means no encryption.
	TLS func() *tls.Config
	// Log receives an entry when a peer is connected, disconnected, or rejects this node. Default: none.
	Log *slog.Logger
	// Delay is an artificial one-way delay of each connection that this node opens. For benchmarks. Default 0.
	Delay time.Duration
	// PingEvery is the period of pings. Default 1 s.
	PingEvery time.Duration
	// UpWindow is for how long a peer counts as up after a Beat. Default 3 s: two pings may be late.
	UpWindow time.Duration
	// StallAfter is the time without a Beat after which a connection is replaced. Default 5 s.
	StallAfter time.Duration
	// ReplicaAge is the age from which messages of replicas are dropped when a connection is made. Default 1 s: Raft
	// has repeated them.
	ReplicaAge time.Duration
	// RetryMin and RetryMax bound the exponential backoff between attempts to connect. Default 50 ms and 1 s.
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
	fill(&o.ReplicaAge, time.Second)
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

// Identity is the result of the first meeting.
type Identity struct {
	Cluster string
	Node    kv.NodeID
}
