package client

import (
	"context"
	"net"

	"github.com/linchpindb/linchpin/pkg/internal/link"
)

// DB is a client of a cluster. Any number of goroutines may use it. Each call is a transaction of
// its own; see [DB.Update] for transactions of several calls.
type DB struct {
	// link and opts are those of all handles of the client.
	link *link.Link
	opts *options
	how  how
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
	l, failed := link.Open(ctx, addrs, o.link)
	if failed != nil {
		return nil, errorOf(failed)
	}
	return &DB{link: l, opts: &o, how: how{policy: link.Policy{Grace: defaultCommitGrace}}}, nil
}

func checkAddresses(addrs []string, o *options) error {
	if len(addrs) == 0 {
		e := errorf(KindInvalid, nil, "there is no address to connect to")
		e.Hint = "pass at least one"
		return e
	}
	for _, addr := range addrs {
		_, _, err := net.SplitHostPort(addr)
		if err != nil && o.link.Dialer == nil {
			e := errorf(KindInvalid, err, "%q is not an address of a node", addr)
			e.Hint = "want HOST:PORT, as in 127.0.0.1:7070; [::1]:7070 for IPv6"
			return e
		}
	}
	if o.link.Token != nil && o.link.TLS == nil {
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
	db.link.Close()
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

// call begins a call of the client, with all of its attempts.
func (db *DB) call(ctx context.Context) link.Call { return db.link.Call(ctx, &db.how.policy) }
