package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func b(s string) []byte { return []byte(s) }

// node is a gRPC server in front of a backend.
type node struct {
	addr string
	stop func()
	// drain has the node refuse what is new.
	drain func()
}

// startNode serves a backend at addr, or at a free port if addr is empty.
func startNode(t testing.TB, backend server.Backend, addr string, opts server.Options) *node {
	t.Helper()
	s := servertest.Serve(t, backend, addr, opts)
	return &node{addr: s.Addr, stop: s.End, drain: s.Drain}
}

// wires are the connections of a client, which can be cut.
type wires struct {
	mu    sync.Mutex
	conns []net.Conn
	// dials counts the attempts, per address.
	dials map[string]int
}

func (w *wires) dial(ctx context.Context, addr string) (net.Conn, error) {
	w.mu.Lock()
	if w.dials == nil {
		w.dials = make(map[string]int)
	}
	w.dials[addr]++
	w.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		w.mu.Lock()
		w.conns = append(w.conns, conn)
		w.mu.Unlock()
	}
	return conn, err
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *wires) dialled(addr string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials[addr]
}

// open connects to addrs, with short pauses.
func open(t testing.TB, addrs []string, opts ...client.Option) *client.DB {
	t.Helper()
	opts = append([]client.Option{client.WithBackoff(time.Millisecond, 20*time.Millisecond)}, opts...)
	db, err := client.Open(context.Background(), addrs, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// openStore gives a store, and a client of a node in front of it.
func openStore(t testing.TB, opts ...client.Option) (*client.DB, *servertest.Store) {
	t.Helper()
	s := servertest.New()
	return open(t, []string{startNode(t, s, "", server.Options{}).addr}, opts...), s
}

// faulty lets a test come between the edge and the store.
type faulty struct {
	*servertest.Store
	// submit, if set, is called instead of Submit.
	submit atomic.Pointer[submitFunc]
	// begin and commit, if set, may fail an interactive transaction.
	begin  atomic.Pointer[func(gateway.TxOptions) error]
	commit atomic.Pointer[func(tx server.Tx) gateway.Response]
	// began counts the interactive transactions.
	began atomic.Int64
}

type submitFunc func(req gateway.Request, done func(gateway.Response))

func newFaulty() *faulty { return &faulty{Store: servertest.New()} }

func (f *faulty) onSubmit(fn submitFunc) { f.submit.Store(&fn) }

func (f *faulty) onBegin(fn func(gateway.TxOptions) error) { f.begin.Store(&fn) }

func (f *faulty) onCommit(fn func(tx server.Tx) gateway.Response) { f.commit.Store(&fn) }

func (f *faulty) Submit(req gateway.Request, done func(gateway.Response)) {
	if fn := f.submit.Load(); fn != nil {
		(*fn)(req, done)
		return
	}
	f.Store.Submit(req, done)
}

func (f *faulty) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	f.began.Add(1)
	if fn := f.begin.Load(); fn != nil {
		if err := (*fn)(o); err != nil {
			return nil, err
		}
	}
	tx, err := f.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &faultyTx{tx, f}, nil
}

type faultyTx struct {
	server.Tx
	f *faulty
}

func (t *faultyTx) Commit(ctx context.Context) gateway.Response {
	if fn := t.f.commit.Load(); fn != nil {
		return (*fn)(t.Tx)
	}
	return t.Tx.Commit(ctx)
}

// refuse answers a request with an error of a kind.
func refuse(req gateway.Request, k kv.Kind) gateway.Response {
	return gateway.Response{ID: req.ID, Attempts: 1, Err: kv.Errorf(k, "refused by the test")}
}

// within gives a context that ends if the test hangs.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// anID is an id of no transaction.
func anID() client.TxID {
	return id(kv.TxnID{Time: time.Now().UnixNano(), Rand: 1})
}

// id is an id as callers see it.
func id(of kv.TxnID) client.TxID {
	id, err := client.ParseTxID(of.String())
	if err != nil {
		panic(err)
	}
	return id
}

// counter reads a counter, 0 if it is absent.
func counter(t testing.TB, db *client.DB, key string) int64 {
	t.Helper()
	n, err := client.NewCounter(key).Get(within(t, 10*time.Second), db)
	require.NoError(t, err)
	return n
}

// requireKind holds that err is of a kind, by each of the ways to ask.
func requireKind(t testing.TB, want client.Kind, err error) *client.Error {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Kind, "%v", err)
	require.Equal(t, want, client.KindOf(err))
	require.ErrorIs(t, err, sentinels[want])
	require.Equal(t, string(want), kv.KindOf(err).String(), "linchpin's own packages see the same")
	for k, s := range sentinels {
		require.Equal(t, k == want, e.Is(s), k)
	}
	return e
}

// sentinels are those of all kinds.
var sentinels = map[client.Kind]error{
	client.KindInvalid: client.ErrInvalid, client.KindWrongType: client.ErrWrongType,
	client.KindConditionFailed: client.ErrConditionFailed,
	client.KindOutOfRange:      client.ErrOutOfRange, client.KindNotFound: client.ErrNotFound,
	client.KindAborted:     client.ErrAborted,
	client.KindUnavailable: client.ErrUnavailable, client.KindResourceExhausted: client.ErrResourceExhausted,
	client.KindOutcomeUnknown: client.ErrOutcomeUnknown, client.KindTooOld: client.ErrTooOld,
	client.KindCancelled:        client.ErrCancelled,
	client.KindDeadlineExceeded: client.ErrDeadlineExceeded, client.KindUnauthenticated: client.ErrUnauthenticated,
	client.KindPermissionDenied: client.ErrPermissionDenied, client.KindCorrupt: client.ErrCorrupt,
	client.KindInternal:    client.ErrInternal,
	client.KindResultsLost: client.ErrResultsLost, client.KindClosed: client.ErrClosed,
}

// add adds to a counter.
func add(key string, n int64) client.Op { return client.NewCounter(key).AddOp(n) }

// hasty makes one attempt only.
func hasty(db *client.DB) *client.DB { return db.With(client.NoRetry()) }

// value reads a value, "" if the key does not exist.
func value(t testing.TB, r client.Reader, key string) string {
	t.Helper()
	v, _, err := r.Get(within(t, 10*time.Second), key)
	require.NoError(t, err)
	return string(v)
}
