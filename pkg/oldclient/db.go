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

// DB is a client of a cluster. Its methods may be called by any number of
// goroutines.
type DB struct {
	opts *options
	conn *connector
	// ahead is by how many nanoseconds the clock of the node that was last
	// connected to is ahead of ours.
	ahead atomic.Int64
	once  sync.Once
}

// Open connects to the first of the addresses (host:port) that answers; when
// that node fails later, the client moves on to the next one by itself. The
// order is that of preference: give clients different orders to spread them
// over the nodes. If no address answers, the error is of kv.KindUnavailable, and of
// kv.KindUnauthenticated or kv.KindPermissionDenied if the last one does not let the client in.
func Open(ctx context.Context, addrs []string, opts ...Option) (*DB, error) {
	o := defaults()
	for _, opt := range opts {
		opt(&o)
	}
	if len(addrs) == 0 {
		return nil, errorf(kv.KindInvalid, nil, "there is no address to connect to")
	}
	for _, addr := range addrs {
		_, _, err := net.SplitHostPort(addr)
		if err != nil && o.dialer == nil {
			e := errorf(kv.KindInvalid, err, "%q is not an address of a node", addr)
			e.Hint = "want HOST:PORT, as in 127.0.0.1:7070; [::1]:7070 for IPv6"
			return nil, e
		}
	}
	if o.token != nil && o.tls == nil {
		e := errorf(kv.KindInvalid, nil, "a token is to be sent, and there is no TLS")
		e.Hint = "use WithTLS as well, or everybody on the way could read it"
		return nil, e
	}
	o.failsOver = len(addrs) > 1
	db := &DB{opts: &o}
	db.conn = newConnector(append([]string(nil), addrs...), &o, db.welcomed)
	_, err := db.conn.session(ctx, true)
	if e := (*Error)(nil); errors.As(err, &e) && e.ended() {
		err = db.conn.unreachable(nil, contextCause(ctx))
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Close ends the connection. It acts as the end of the contexts of all calls, with errors of
// kv.KindClosed: nothing more is sent, and Close waits for the responses to what was sent,
// for as long as the CommitGrace of their calls.
func (db *DB) Close() error {
	db.once.Do(db.conn.stop)
	return nil
}

// welcomed sets our clock by the node's: ids order transactions by age, and a
// client whose clock is behind would else seem older than all others and win
// every conflict. It stays as it is with a server that does not tell its time.
func (db *DB) welcomed(s *session) {
	if s.welcome.ServerTimeNs != 0 {
		db.ahead.Store(s.ahead)
	}
}

// setClock does the same by what a node said that has refused the time of an id: its
// clock may have been set since it welcomed us.
func (db *DB) setClock(err *Error) {
	if err.serverTime != 0 {
		db.ahead.Store(err.serverTime - time.Now().UnixNano())
	}
}

// now is the time by the cluster's clocks, more or less.
func (db *DB) now() int64 { return time.Now().UnixNano() + db.ahead.Load() }

// newID names a transaction that starts now.
func (db *DB) newID() kv.TxnID { return kv.TxnID{Time: db.now(), Rand: rand.Uint64()} }

// Addr is the address of the node that the client is connected to, empty when
// it is not connected.
func (db *DB) Addr() string {
	if s := db.conn.live(); s != nil {
		return s.addr
	}
	return ""
}
