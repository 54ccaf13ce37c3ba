package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Session is a connection to one node with the pipeline on it. It ends once, at the first failure of
// its stream, and is then replaced by another one.
//
// Invariants, under mu: a request is in list if and only if it is listed (or its caller has left), in
// sent if and only if it is sent; ended sessions have both empty.
type Session struct {
	// KV and Admin are the services of the node.
	KV    pb.KVClient
	Admin pb.AdminClient

	addr    string
	conn    *grpc.ClientConn
	stream  grpc.BidiStreamingClient[pb.PipelineRequest, pb.PipelineResponse]
	cancel  context.CancelFunc
	welcome pb.Welcome
	// ahead is an estimate of how many nanoseconds the node's clock is ahead of ours, 0 if the node
	// does not send its time.
	ahead int64
	// slots has an element per request in flight, and the capacity that the node and the options allow.
	slots chan struct{}
	// wake has an element if there may be something on the list.
	wake chan struct{}
	// done is closed when the session has ended, retired when its node drains or the Link is
	// closed: then it takes no new requests, and ends when those that were sent have their responses.
	// closing is closed when the Link is.
	done, retired chan struct{}
	closing       <-chan struct{}
	// pending counts the requests and commits that are sent and whose callers wait for a response.
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
	// number is that of the last request taken from the list, handed that of the last one
	// that the transport has accepted.
	number, handed uint64
	list           []*Request
	// sent is by number; nil is a request whose caller has left.
	sent map[uint64]*Request
}

// newSession connects to addr and waits for the welcome. ctx is for that only; closing is closed when
// the Link is. failsOver: there are other addresses if the node is silent.
func newSession(ctx context.Context, addr string, o *Options, closing <-chan struct{}, failsOver bool) (*Session, *Error) {
	// The dialer resolves the address, and no resolver of gRPC.
	w := new(witness)
	conn, err := grpc.NewClient("passthrough:///"+addr, dialOptions(o, w)...)
	if err != nil {
		return nil, fromStatus(err)
	}
	streamCtx, cancel := context.WithCancel(context.Background())
	s := &Session{addr: addr, conn: conn, KV: pb.NewKVClient(conn), Admin: pb.NewAdminClient(conn), cancel: cancel,
		wake: make(chan struct{}, 1), done: make(chan struct{}), retired: make(chan struct{}), closing: closing, sent: make(map[uint64]*Request)}
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
		failure := fromStatus(err)
		why := w.explain()
		if why != nil && failure.Kind == kv.KindUnavailable {
			failure = why
		}
		return nil, failure
	}
	s.slots = make(chan struct{}, s.bound(o.MaxInFlight))
	go s.sendAll()
	go s.receiveAll()
	if failsOver {
		go s.failOver(&w.live)
	}
	return s, nil
}

// greet opens the pipeline, which waits for the connection, and receives the welcome. The node's
// clock is assumed to have been read half way between the two.
func (s *Session) greet(ctx context.Context) error {
	var err error
	s.stream, err = s.KV.Pipeline(ctx)
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

func (s *Session) bound(wanted int) int {
	if most := int(s.welcome.MaxInFlight); most > 0 {
		return min(wanted, most)
	}
	return wanted
}

// end ends the session, with all of its requests.
func (s *Session) end() {
	if s.endRequests() {
		s.cancel()
		s.Release()
	}
}

// endRequests reports whether it was the first to end the session.
func (s *Session) endRequests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended = true
	s.over.Store(true)
	for _, r := range s.list {
		if r.state == requestListed {
			r.finish(errNotSent)
		}
	}
	for n, r := range s.sent {
		if n > s.handed {
			continue // the sender ends it, which alone knows whether it was handed over
		}
		if r != nil {
			r.finish(errNoAnswer)
			s.pending.Done()
		}
		delete(s.sent, n)
	}
	s.list = nil
	close(s.done)
	return true
}

// retire ends the requests that are not sent, which go to another node, since this one drains. Those
// that are sent get their responses.
func (s *Session) retire() {
	s.mu.Lock()
	if s.ended || s.retires {
		s.mu.Unlock()
		return
	}
	s.retires = true
	s.over.Store(true)
	for _, r := range s.list {
		if r.state == requestListed {
			r.finish(errNotSent)
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

// beginCommit makes Link.Close wait until endCommit, so that the response to a commit can arrive. It
// reports false if the Link is closed.
func (s *Session) beginCommit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.pending.Add(1)
	return true
}

func (s *Session) endCommit() { s.pending.Done() }

// shutDown ends the session when the Link is closed: it ends what is not sent, waits for the responses
// to what is, for as long as the Grace of the calls, and closes the connection.
func (s *Session) shutDown() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.retire()
	s.pending.Wait()
	s.end()
	s.conn.Close()
}

// use keeps the connection open until Release; the last Release closes it. It reports false if the
// session has ended or retires.
func (s *Session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.retires {
		return false
	}
	s.users.Add(1)
	return true
}

// Release ends a use of the connection, as [Call.Session] has begun it.
func (s *Session) Release() {
	if s.users.Add(-1) == 0 {
		s.streams.close()
		s.conn.Close()
	}
}
