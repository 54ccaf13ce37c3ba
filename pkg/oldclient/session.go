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

	"github.com/linchpindb/linchpin/pkg/kv"
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
	// ahead is by how many nanoseconds the server's clock was ahead of ours, as
	// far as could be told; 0 if it did not tell its time.
	ahead int64
	// slots has an element per unanswered call, and room for as many as the
	// server and the options allow.
	slots chan struct{}
	// wake has an element when there may be something on the list.
	wake chan struct{}
	// done is closed when the session has ended, retired when its node drains or the DB
	// is closed: then it takes no new calls, and ends when those that were sent have been
	// answered. closing is closed when the DB is.
	done, retired chan struct{}
	closing       <-chan struct{}
	// unanswered counts the calls and commits that are sent and whose callers wait for a
	// response. Under mu nothing is added once shut is set.
	unanswered sync.WaitGroup
	// users counts who needs the connection, the session itself included.
	users atomic.Int64
	// over is ended, for those who only want a hint.
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

// pingAfter and pingTimeout find out about a peer that is silently gone, if the client has no
// other address (else see liveness). The first is the least that gRPC allows.
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
	opts = append(opts, grpc.WithContextDialer(w.dialer(o.dialer)))
	return append(opts, o.dial...)
}

// bearer shows a token with every call, on connections with TLS only.
type bearer func() (string, error)

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := b()
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "there is no token to show: "+err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }

// newSession connects to addr and waits for the welcome. ctx is for that only; closing
// is closed when the DB is.
func newSession(ctx context.Context, addr string, o *options, closing <-chan struct{}) (*session, error) {
	// The address is the dialer's business, not that of a resolver.
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
		if why := w.explain(); why != nil && fromStatus(err).Kind == kv.KindUnavailable {
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

// failOver ends the session when its node is silent for too long. Calls that were sent are
// resolved at another node.
func (s *session) failOver(l *liveness) {
	health := healthpb.NewHealthClient(s.conn)
	gone := l.watch(s.done, s.waiting, func(ctx context.Context) {
		_, _ = health.Check(ctx, &healthpb.HealthCheckRequest{}) // whatever arrives counts, an error too
	})
	if gone {
		s.end()
		s.conn.Close() // for calls on streams of their own
	}
}

// waiting reports whether there are calls that have no response yet. It is false if there are so
// many on streams of their own that the node may take no more, not even a probe.
func (s *session) waiting() bool {
	users := s.users.Load()
	return users < maxProbedUsers && (users > 1 || len(s.slots) > 0)
}

// maxProbedUsers is below what a node takes of open calls on a connection (512).
const maxProbedUsers = 400

// greet opens the pipeline, for which the connection is waited for, and takes
// the welcome. The server is taken to have told its time half way between the
// two.
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

// end tells all callers that the session is over, and what that means for
// them.
func (s *session) end() {
	if s.tellAll() {
		s.cancel()
		s.unuse()
	}
}

// tellAll reports whether it was the first to do so.
func (s *session) tellAll() bool {
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
			continue // the sender ends it: only the sender knows whether it was sent
		}
		if c != nil {
			c.finish(errNoAnswer)
			s.unanswered.Done()
		}
		delete(s.sent, n)
	}
	s.list = nil
	close(s.done)
	return true
}

// retire has new calls go elsewhere, because the node drains. Those that have not
// been sent go elsewhere too, and those that have are waited for.
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

// beginCommit has the end of the DB wait until endCommit, so that the response to a
// commit may arrive. It reports false if the DB is closed.
func (s *session) beginCommit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.unanswered.Add(1)
	return true
}

func (s *session) endCommit() { s.unanswered.Done() }

// shutDown ends the session when the DB is closed: it refuses what is not sent, waits
// for those that wait for a response, which is for the time of their CommitGrace, and
// closes the connection.
func (s *session) shutDown() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.retire()
	s.unanswered.Wait()
	s.end()
	s.conn.Close()
}

// use keeps the connection open until unuse, which closes it when nobody is
// left. Sessions that have ended can be used by nobody new.
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
