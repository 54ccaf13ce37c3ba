package link

import (
	"context"
	"crypto/tls"
	"hash/maphash"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Options are those of a Link. There are no defaults: each number must be positive.
type Options struct {
	// MaxInFlight bounds the one-shot transactions in flight on a connection; the node's own bound holds as well.
	MaxInFlight int
	// ConnectTimeout bounds the time to connect to one address and receive its welcome.
	ConnectTimeout time.Duration
	// RetryFor bounds the retries of a call whose context has no deadline.
	RetryFor time.Duration
	// LeastPause and MostPause bound the pauses between attempts, which double from one to the
	// other, with 50 % of jitter.
	LeastPause, MostPause time.Duration
	// Dialer opens a connection to an address; nil is TCP.
	Dialer Dialer
	// TLS returns the configuration of the next connection; nil is no TLS.
	TLS func() *tls.Config
	// Token returns the API token of a call; nil is none. It needs TLS.
	Token func(ctx context.Context) (string, error)
	// Closed is the cause of the contexts that Close ends. Its [kv.KindOf] is KindClosed.
	Closed error
}

// Dialer opens a connection to an address that was given to Open.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// Link is a client's connection to a cluster: to one node, and perhaps to those that lead shards. Any number of
// goroutines may use it.
type Link struct {
	opts *Options
	conn *connector
	// leaders are connections that save time.
	leaders leaders
	// ahead is by how many nanoseconds the clock of the node that was connected to last is ahead
	// of ours.
	ahead atomic.Int64
	once  sync.Once
}

// Open connects to the first address that answers. If there is none, the error is of KindUnavailable,
// or of KindUnauthenticated or KindPermissionDenied if the last one rejects the client. ctx bounds the
// connecting only.
func Open(ctx context.Context, addrs []string, o Options) (*Link, *Error) {
	l := &Link{opts: &o}
	l.leaders.link, l.leaders.seed = l, maphash.MakeSeed()
	var p timeouts
	if len(addrs) > 1 {
		p = linkTimeouts
	}
	l.conn = newConnector(append([]string(nil), addrs...), &o, p, l.welcomed, l.leaders.forget)
	_, err := l.conn.session(ctx, true)
	if err != nil && err.byContext() {
		err = l.conn.unreachable(nil, contextCause(ctx))
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends all calls, waits for the responses to what they have sent for as long as their Policy.Grace,
// and closes the connections. It can be called several times.
func (l *Link) Close() {
	l.once.Do(func() {
		l.conn.close()
		others := l.leaders.close()
		for _, c := range others {
			c.close()
		}
		l.conn.stop()
		for _, c := range others {
			c.stop()
		}
	})
}

// Addr returns the address of the node that the Link is connected to, empty if it is not connected.
func (l *Link) Addr() string {
	if s := l.conn.live(); s != nil {
		return s.addr
	}
	return ""
}

// NewID returns the id of a transaction that begins now.
func (l *Link) NewID() kv.TxnID { return kv.TxnID{Time: l.now(), Rand: rand.Uint64()} }

// Age returns how long ago a transaction began.
func (l *Link) Age(id kv.TxnID) time.Duration { return time.Duration(l.now() - id.Time) }

// now is the time by the cluster's clocks, approximately, in nanoseconds since 1970.
func (l *Link) now() int64 { return time.Now().UnixNano() + l.ahead.Load() }

// welcomed sets our clock by the node's: ids order transactions by age, and a client whose clock is
// behind would else seem older than all others and win every conflict.
func (l *Link) welcomed(s *Session) {
	n := int32(s.welcome.Shards) - 1
	if n > 0 && n < kv.MaxShards {
		l.leaders.shards.Store(n)
	}
	if s.welcome.ServerTimeNs != 0 {
		l.ahead.Store(s.ahead)
	}
}

// setClock sets our clock by the node that has refused the time of an id: its clock may have been
// set since its welcome.
func (l *Link) setClock(err *Error) {
	if err.ServerTime != 0 {
		l.ahead.Store(err.ServerTime - time.Now().UnixNano())
	}
}
