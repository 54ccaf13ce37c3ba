package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// DB is a client of a cluster. Any number of goroutines may use it. Each call is a transaction of
// its own; see [DB.Update] for transactions of several calls.
type DB struct {
	core *core
	how  how
}

// core is what all handles of a client share.
type core struct {
	opts *options
	conn *connector
	// ahead is by how many nanoseconds the clock of the node that was connected to last is ahead
	// of ours.
	ahead atomic.Int64
	once  sync.Once
}

// Open connects to the first address (HOST:PORT) that answers, and fails over to the others when
// that node fails. The order is that of preference: give clients different orders to spread them
// over the nodes. ctx bounds the connecting only. If no address answers, the error is of
// [KindUnavailable]; if the last one rejects the client, of [KindUnauthenticated] or
// [KindPermissionDenied].
func Open(ctx context.Context, addrs []string, opts ...Option) (*DB, error) {
	o := defaults()
	for _, opt := range opts {
		opt(&o)
	}
	if err := checkAddresses(addrs, &o); err != nil {
		return nil, err
	}
	o.failsOver = len(addrs) > 1
	c := &core{opts: &o}
	db := &DB{core: c, how: how{grace: defaultCommitGrace}}
	c.conn = newConnector(append([]string(nil), addrs...), &o, c.welcomed)
	_, err := c.conn.session(ctx, true)
	if e := (*Error)(nil); errors.As(err, &e) && e.ended() {
		err = c.conn.unreachable(nil, contextCause(ctx))
	}
	if err != nil {
		_ = db.Close() // never fails
		return nil, err
	}
	return db, nil
}

func checkAddresses(addrs []string, o *options) error {
	if len(addrs) == 0 {
		e := errorf(KindInvalid, nil, "there is no address to connect to")
		e.Hint = "pass at least one"
		return e
	}
	for _, addr := range addrs {
		_, _, err := net.SplitHostPort(addr)
		if err != nil && o.dialer == nil {
			e := errorf(KindInvalid, err, "%q is not an address of a node", addr)
			e.Hint = "want HOST:PORT, as in 127.0.0.1:7070; [::1]:7070 for IPv6"
			return e
		}
	}
	if o.token != nil && o.tls == nil {
		e := errorf(KindInvalid, nil, "an API token needs TLS")
		e.Hint = "use WithTLS as well: a token must not be sent in the clear"
		return e
	}
	return nil
}

// Close closes the connection, for all handles. It acts as the end of the contexts of all calls,
// with the kind [KindClosed]: nothing more is sent, and Close waits for responses to what was sent
// for as long as the CommitGrace of the calls. It returns nil.
func (db *DB) Close() error {
	db.core.once.Do(db.core.conn.stop)
	return nil
}

// With returns a handle with options on the same connection; db's own options stay in force unless
// these replace them.
func (db *DB) With(opts ...CallOption) *DB {
	x := *db
	for _, o := range opts {
		o(&x.how)
	}
	return &x
}

// welcomed sets our clock by the node's: ids order transactions by age, and a client whose clock is
// behind would else seem older than all others and win every conflict.
func (c *core) welcomed(s *session) {
	if s.welcome.ServerTimeNs != 0 {
		c.ahead.Store(s.ahead)
	}
}

// setClock sets our clock by the node that has refused the time of an id: its clock may have been
// set since its welcome.
func (c *core) setClock(err *Error) {
	if err.serverTime != 0 {
		c.ahead.Store(err.serverTime - time.Now().UnixNano())
	}
}

// now is the time by the cluster's clocks, approximately.
func (c *core) now() int64 { return time.Now().UnixNano() + c.ahead.Load() }

// newID returns the id of a transaction that begins now.
func (c *core) newID() kv.TxnID { return kv.TxnID{Time: c.now(), Rand: rand.Uint64()} }

// addr is the address of the node that the client is connected to, empty if it is not connected.
func (db *DB) addr() string {
	if s := db.core.conn.live(); s != nil {
		return s.addr
	}
	return ""
}
