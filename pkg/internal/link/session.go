package link

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Session is a connection to one node, with its pipeline. It ends once, when the pipeline does, and is
// then replaced by another one. The connection is closed after its last use.
type Session struct {
	// KV and Admin are the services of the node.
	KV    pb.KVClient
	Admin pb.AdminClient

	addr    string
	live    *liveness
	conn    *grpc.ClientConn
	pipe    *pipeline
	cancel  context.CancelFunc
	welcome pb.Welcome
	// ahead is an estimate of how many nanoseconds the node's clock is ahead of ours, 0 if the node
	// does not send its time.
	ahead int64
	// streams are idle streams for interactive transactions.
	streams streamPool
	// commits counts the interactive transactions whose commit is sent, and that wait for a response.
	commits sync.WaitGroup

	mu sync.Mutex
	// users counts the users of the connection, the pipeline included.
	users int
	// shut: the Link is closed, and no commit begins.
	shut bool
}

// newSession connects to addr and waits for the welcome. ctx is for that only; closing is closed when
// the Link is.
func newSession(ctx context.Context, addr string, o *Options, closing <-chan struct{}) (*Session, *Error) {
	// The dialer resolves the address, and no resolver of gRPC.
	w := new(witness)
	conn, err := grpc.NewClient("passthrough:///"+addr, dialOptions(o, w)...)
	if err != nil {
		return nil, fromStatus(err)
	}
	streamCtx, cancel := context.WithCancel(context.Background())
	s := &Session{KV: pb.NewKVClient(conn), Admin: pb.NewAdminClient(conn), addr: addr, conn: conn, cancel: cancel,
		live: &w.live, users: 1}
	stop := context.AfterFunc(ctx, cancel)
	stream, err := s.greet(streamCtx)
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
	slots := o.MaxInFlight
	if most := int(s.welcome.MaxInFlight); most > 0 {
		slots = min(slots, most)
	}
	s.pipe = newPipeline(stream, slots, closing)
	s.pipe.start(s.end)
	return s, nil
}

// greet opens the pipeline, which waits for the connection, and receives the welcome. The node's
// clock is assumed to have been read half way between the two.
func (s *Session) greet(ctx context.Context) (pipelineStream, error) {
	stream, err := s.KV.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	sent := time.Now()
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if first.Welcome != nil {
		s.welcome = *first.Welcome
	}
	if t := s.welcome.ServerTimeNs; t != 0 {
		s.ahead = t - sent.Add(time.Since(sent)/2).UnixNano()
	}
	return stream, nil
}

// end ends the session, with all of its requests.
func (s *Session) end() {
	if s.pipe.end() {
		s.cancel()
		s.Release()
	}
}

// shutDown ends the session when the Link is closed: it ends what is not sent, waits for the responses
// to what is, for as long as the Grace of the calls, and closes the connection.
func (s *Session) shutDown() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.pipe.retire()
	s.pipe.pending.Wait()
	s.commits.Wait()
	s.end()
	s.conn.Close()
}

// beginCommit makes Link.Close wait until endCommit, so that the response to a commit can arrive. It
// reports false if the Link is closed.
func (s *Session) beginCommit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.commits.Add(1)
	return true
}

func (s *Session) endCommit() { s.commits.Done() }

// use keeps the connection open until Release; the last Release closes it. It reports false if the
// session has ended or retires.
func (s *Session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe.over.Load() || s.users == 0 {
		return false
	}
	s.users++
	return true
}

// Release ends a use of the connection, as [Call.Session] has begun it.
func (s *Session) Release() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.streams.close()
		s.conn.Close()
	}
}

// waiting reports whether there are calls without a response. It is false if there are so many on
// streams of their own that the node may accept no more, not even a probe.
func (s *Session) waiting() bool {
	s.mu.Lock()
	users := s.users
	s.mu.Unlock()
	return users < maxProbedUsers && (users > 1 || len(s.pipe.slots) > 0)
}

// maxProbedUsers is below the number of open calls that a node accepts on a connection (512).
const maxProbedUsers = 400
