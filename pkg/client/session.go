package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// session is a connection to one node with the pipeline on it. It ends once,
// at the first failure of its stream, and is then replaced by another one.
//
// Invariants, under mu: a call is in list if and only if it is listed (or its
// caller has left), in sent if and only if it is sent; ended sessions have
// both empty.
type session struct {
	addr    string
	conn    *grpc.ClientConn
	kv      pb.KVClient
	admin   pb.AdminClient
	stream  grpc.BidiStreamingClient[pb.PipelineRequest, pb.PipelineResponse]
	cancel  context.CancelFunc
	welcome pb.Welcome
	// ahead is an estimate of how many nanoseconds the node's clock is ahead of ours, 0 if the node
	// does not send its time.
	ahead int64
	// slots has an element per call in flight, and the capacity that the node and the options allow.
	slots chan struct{}
	// wake has an element if there may be something on the list.
	wake chan struct{}
	// done is closed when the session has ended, retired when its node drains or the DB is closed:
	// then it takes no new calls, and ends when those that were sent have their responses. closing
	// is closed when the DB is.
	done, retired chan struct{}
	closing       <-chan struct{}
	// pending counts the calls and commits that are sent and whose callers wait for a response.
	// Under mu nothing is added once shut is set.
	pending sync.WaitGroup
	// users counts the users of the connection, the session itself included.
	users atomic.Int64
	// over is ended or retires, to be read without mu.
	over atomic.Bool
	// streams are idle streams for interactive transactions.
	streams streamPool

	mu      sync.Mutex
	ended   bool
	retires bool
	shut    bool
	// number is that of the last call taken from the list, handed that of the last call
	// that the transport has accepted.
	number, handed uint64
	list           []*call
	// sent is by number; nil is a call whose caller has left.
	sent map[uint64]*call
}

// The bounds of a message: so many calls, and so many bytes unless one call
// alone has more. 256 is where larger messages stopped making a difference.
const (
	maxBatchCalls = 256
	maxBatchBytes = 1 << 20
)

// pingAfter and pingTimeout detect a node that is gone, if the client has no other address (else see
// liveness). The first is the least that gRPC allows.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 3 * time.Second
)

func dialOptions(o *options, w *witness) []grpc.DialOption {
	creds := insecure.NewCredentials()
	if o.tls != nil {
		w.secure = true
		creds = credentials.NewTLS(o.tls())
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(handshakes{creds, w}),
		codec.DialOption(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.MaxMessageBytes), grpc.MaxCallSendMsgSize(pb.MaxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	}
	if o.token != nil {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer(o.token)))
	}
	return append(opts, grpc.WithContextDialer(w.dialer(o.dialer)))
}

// bearer sends a token with every call, on connections with TLS only.
type bearer func(ctx context.Context) (string, error)

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "the API token cannot be read: "+err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }

// newSession connects to addr and waits for the welcome. ctx is for that only; closing
// is closed when the DB is.
func newSession(ctx context.Context, addr string, o *options, closing <-chan struct{}) (*session, error) {
	// The dialer resolves the address, and no resolver of gRPC.
	w := new(witness)
	conn, err := grpc.NewClient("passthrough:///"+addr, dialOptions(o, w)...)
	if err != nil {
		return nil, err
	}
	streamCtx, cancel := context.WithCancel(context.Background())
	s := &session{addr: addr, conn: conn, kv: pb.NewKVClient(conn), admin: pb.NewAdminClient(conn), cancel: cancel,
		wake: make(chan struct{}, 1), done: make(chan struct{}), retired: make(chan struct{}), closing: closing, sent: make(map[uint64]*call)}
	s.users.Store(1)
	stop := context.AfterFunc(ctx, cancel)
	err = s.greet(streamCtx)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		stop()
		cancel()
		conn.Close()
		if why := w.explain(); why != nil && fromStatus(err).Kind == KindUnavailable {
			err = why
		}
		return nil, err
	}
	s.slots = make(chan struct{}, s.bound(o.maxInFlight))
	go s.sendAll()
	go s.receiveAll()
	if o.failsOver {
		go s.failOver(&w.live)
	}
	return s, nil
}

// failOver ends the session when its node is silent for too long. The outcomes of calls that were
// sent are queried at another node.
func (s *session) failOver(l *liveness) {
	health := healthpb.NewHealthClient(s.conn)
	gone := l.watch(s.done, s.waiting, func(ctx context.Context) {
		_, _ = health.Check(ctx, &healthpb.HealthCheckRequest{}) // any response counts, an error as well
	})
	if gone {
		s.end()
		s.conn.Close() // for calls on streams of their own
	}
}

// waiting reports whether there are calls without a response. It is false if there are so many on
// streams of their own that the node may accept no more, not even a probe.
func (s *session) waiting() bool {
	users := s.users.Load()
	return users < maxProbedUsers && (users > 1 || len(s.slots) > 0)
}

// maxProbedUsers is below the number of open calls that a node accepts on a connection (512).
const maxProbedUsers = 400

// greet opens the pipeline, which waits for the connection, and receives the welcome. The node's
// clock is assumed to have been read half way between the two.
func (s *session) greet(ctx context.Context) error {
	var err error
	s.stream, err = s.kv.Pipeline(ctx)
	if err != nil {
		return err
	}
	sent := time.Now()
	first, err := s.stream.Recv()
	if err != nil {
		return err
	}
	if first.Welcome != nil {
		s.welcome = *first.Welcome
	}
	if t := s.welcome.ServerTimeNs; t != 0 {
		s.ahead = t - sent.Add(time.Since(sent)/2).UnixNano()
	}
	return nil
}

func (s *session) bound(wanted int) int {
	if most := int(s.welcome.MaxInFlight); most > 0 {
		return min(wanted, most)
	}
	return wanted
}

// end ends the session, with all of its calls.
func (s *session) end() {
	if s.endCalls() {
		s.cancel()
		s.unuse()
	}
}

// endCalls reports whether it was the first to end the session.
func (s *session) endCalls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended = true
	s.over.Store(true)
	for _, c := range s.list {
		if c.state == callListed {
			c.finish(errNotSent)
		}
	}
	for n, c := range s.sent {
		if n > s.handed {
			continue // the sender ends it: only the sender knows whether it was handed over
		}
		if c != nil {
			c.finish(errNoAnswer)
			s.pending.Done()
		}
		delete(s.sent, n)
	}
	s.list = nil
	close(s.done)
	return true
}

// retire ends the calls that are not sent, which go to another node, since this one drains. Those
// that are sent get their responses.
func (s *session) retire() {
	s.mu.Lock()
	if s.ended || s.retires {
		s.mu.Unlock()
		return
	}
	s.retires = true
	s.over.Store(true)
	for _, c := range s.list {
		if c.state == callListed {
			c.finish(errNotSent)
		}
	}
	s.list = nil
	over := len(s.sent) == 0
	close(s.retired)
	s.mu.Unlock()
	if over {
		s.end()
	}
}

// beginCommit makes Close wait until endCommit, so that the response to a commit can arrive. It
// reports false if the DB is closed.
func (s *session) beginCommit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.pending.Add(1)
	return true
}

func (s *session) endCommit() { s.pending.Done() }

// shutDown ends the session when the DB is closed: it ends what is not sent, waits for the responses
// to what is, for as long as the CommitGrace of the calls, and closes the connection.
func (s *session) shutDown() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.retire()
	s.pending.Wait()
	s.end()
	s.conn.Close()
}

// use keeps the connection open until unuse; the last unuse closes it. It reports false if the
// session has ended or retires.
func (s *session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.retires {
		return false
	}
	s.users.Add(1)
	return true
}

func (s *session) unuse() {
	if s.users.Add(-1) == 0 {
		s.streams.close()
		s.conn.Close()
	}
}
