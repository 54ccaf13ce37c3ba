package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// deadAddr is an address where nothing listens.
func deadAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	return lis.Addr().String()
}

func TestOpenFailsAtOnceIfNothingListens(t *testing.T) {
	dead := deadAddr(t)
	_, err := client.Open(within(t, 30*time.Second), []string{dead})
	requireKind(t, client.KindUnavailable, err)
	require.ErrorContains(t, err, dead)
	require.ErrorContains(t, err, "nothing listens there; check the address")
	_, err = client.Open(context.Background(), nil)
	requireKind(t, client.KindInvalid, err)
	_, err = client.Open(context.Background(), []string{"127.0.0.1"})
	requireKind(t, client.KindInvalid, err)
	require.ErrorContains(t, err, `"127.0.0.1" is not an address of a node; want HOST:PORT`)
}

func TestOpenGivesUpOnAPeerThatSaysNothing(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	_, err = client.Open(within(t, 30*time.Second), []string{lis.Addr().String()},
		client.WithConnectTimeout(50*time.Millisecond))
	requireKind(t, client.KindUnavailable, err)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = client.Open(ctx, []string{lis.Addr().String()})
	requireKind(t, client.KindUnavailable, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestOpenConnectsToTheFirstAddressThatAnswers(t *testing.T) {
	s := servertest.New()
	a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
	db := open(t, []string{deadAddr(t), a.addr, z.addr})
	require.Equal(t, a.addr, client.Addr(db))
}

func TestFailOverToTheNextAddress(t *testing.T) {
	s := servertest.New()
	a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
	db := open(t, []string{a.addr, z.addr})
	ctx := within(t, 20*time.Second)
	err := db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	a.stop()
	err = db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	require.Equal(t, z.addr, client.Addr(db))
	z.stop()
	startNode(t, s, a.addr, server.Options{})
	err = db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	require.Equal(t, a.addr, client.Addr(db))
	require.Equal(t, int64(3), counter(t, db, "n"))
}

func TestUnavailableWithoutANode(t *testing.T) {
	n := startNode(t, servertest.New(), "", server.Options{})
	patient := open(t, []string{n.addr})
	once := hasty(open(t, []string{n.addr}))
	n.stop()
	require.Eventually(t, func() bool { return client.Addr(once) == "" && client.Addr(patient) == "" }, 10*time.Second,
		time.Millisecond)
	err := once.Execute(context.Background(), add("n", 1))
	requireKind(t, client.KindUnavailable, err)
	require.ErrorContains(t, err, n.addr)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = patient.Execute(ctx, add("n", 1))
	requireKind(t, client.KindUnavailable, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Error(t, patient.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, "k", nil) }))
}

func TestCallsAfterCloseAreRejected(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	arrived := make(chan struct{})
	f.onSubmit(func(gateway.Request, func(gateway.Response)) { close(arrived) })
	ended := make(chan error)
	go func() {
		err := db.Execute(context.Background(), add("n", 1))
		ended <- err
	}()
	<-arrived
	require.NoError(t, db.Close())
	requireKind(t, client.KindOutcomeUnknown, <-ended)
	err := db.Execute(context.Background(), client.GetOp("k"))
	requireKind(t, client.KindClosed, err)
	require.Empty(t, client.Addr(db))
	require.NoError(t, db.Close(), "again")
}

func TestNoMoreIsInFlightThanAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []client.Option
		server server.Options
	}{
		"by the client": {opts: []client.Option{client.WithMaxInFlight(3)}},
		"by the server": {server: server.Options{MaxInFlight: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty()
			var mu sync.Mutex
			var waiting []func()
			full := make(chan struct{})
			f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
				mu.Lock()
				defer mu.Unlock()
				waiting = append(waiting, func() { f.Store.Submit(req, done) })
				if len(waiting) == 3 {
					close(full)
				}
			})
			db := open(t, []string{startNode(t, f, "", c.server).addr}, c.opts...)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					err := db.Execute(within(t, 20*time.Second), add("n", 1))
					if err != nil {
						t.Error(err)
					}
				})
			}
			<-full
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			err := db.Execute(ctx, add("n", 1))
			requireKind(t, client.KindDeadlineExceeded, err)
			require.ErrorContains(t, err, "before the request was sent")
			f.onSubmit(f.Store.Submit)
			for _, run := range waiting {
				run()
			}
			all.Wait()
			require.Equal(t, int64(3), counter(t, db, "n"), "the fourth was never sent")
		})
	}
}

// TestCallersThatLeaveDoNotDisturbOthers lets callers leave at every stage of a call
// while others go on.
func TestCallersThatLeaveDoNotDisturbOthers(t *testing.T) {
	db, _ := openStore(t, client.WithMaxInFlight(8))
	var left, done atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				if i%2 == 0 {
					ctx, cancel = context.WithTimeout(context.Background(), time.Duration(j*10)*time.Microsecond)
				}
				err := db.Execute(ctx, add("n", 1))
				cancel()
				switch client.KindOf(err) {
				case "":
					done.Add(1)
				case client.KindOutcomeUnknown, client.KindDeadlineExceeded:
					left.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := counter(t, db, "n")
	require.GreaterOrEqual(t, n, done.Load())
	require.LessOrEqual(t, n, done.Load()+left.Load())
	require.Positive(t, left.Load())
}

// member is a node that counts its one-shot transactions. Members do not share their data.
type member struct {
	*faulty
	*node
	got     atomic.Int64
	cluster string
}

func (m *member) Identity() *pb.StatusResponse {
	st := m.Store.Identity()
	st.ClusterId = m.cluster
	return st
}

// startMember starts node n of a cluster, whose responses name a leader.
func startMember(t *testing.T, n, leader kv.NodeID, cluster string) *member {
	t.Helper()
	m := &member{faulty: newFaulty(), cluster: cluster}
	m.SetNodes(n, leader)
	m.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		m.got.Add(1)
		m.Store.Submit(req, done)
	})
	m.node = startNode(t, m, "", server.Options{})
	return m
}

// addUntil increments k until m has had n more requests, for 10 s at most.
func addUntil(t *testing.T, db *client.DB, m *member, n int64) (reached bool) {
	t.Helper()
	before := m.got.Load()
	for begin := time.Now(); time.Since(begin) < 10*time.Second; {
		require.NoError(t, client.NewCounter("k").Add(t.Context(), db, 1))
		if m.got.Load() >= before+n {
			return true
		}
	}
	return false
}

// TestCallsGoToTheLeader: responses of node 1 name node 2, which then gets the calls for the key, also after its
// connection was lost. A leader of the hot shard is not named.
func TestCallsGoToTheLeader(t *testing.T) {
	one, two := startMember(t, 1, 2, "c"), startMember(t, 2, 2, "c")
	w := new(wires)
	db := open(t, []string{one.addr, two.addr}, client.WithDialer(w.dial))
	require.True(t, addUntil(t, db, one, 1))
	require.Equal(t, 1, w.dialled(one.addr)+w.dialled(two.addr), "a short program needs one connection")
	require.True(t, addUntil(t, db, two, 100))
	before := one.got.Load()
	require.True(t, addUntil(t, db, two, 100))
	require.Equal(t, before, one.got.Load())
	two.SetNodes(2, 0)
	one.SetNodes(1, 0)
	require.True(t, addUntil(t, db, one, 100), "any node serves a hot key")
	one.SetNodes(1, 2)
	require.True(t, addUntil(t, db, two, 100))
	w.cut()
	require.True(t, addUntil(t, db, two, 100))
}

// TestLeaderThatEnds: calls go on at another node, and an increment is made once even if its response is lost.
func TestLeaderThatEnds(t *testing.T) {
	one, two := startMember(t, 1, 2, "c"), startMember(t, 2, 2, "c")
	db := open(t, []string{one.addr, two.addr})
	require.True(t, addUntil(t, db, two, 10))
	sent := make(chan struct{})
	two.onSubmit(func(gateway.Request, func(gateway.Response)) { close(sent) }) // there is no response
	errs := make(chan error, 1)
	go func() { errs <- client.NewCounter("k").Add(context.Background(), db, 1) }()
	<-sent
	before := one.got.Load()
	two.stop()
	require.NoError(t, <-errs)
	n, err := client.NewCounter("k").Get(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, before+1, n)
}

// TestNodesOfAnotherClusterGetNothing: by mistake the second address is one of another cluster.
func TestNodesOfAnotherClusterGetNothing(t *testing.T) {
	one, other := startMember(t, 1, 2, "c"), startMember(t, 2, 2, "d")
	w := new(wires)
	db := open(t, []string{one.addr, other.addr}, client.WithDialer(w.dial))
	require.True(t, addUntil(t, db, one, 100))
	require.Eventually(t, func() bool { return w.dialled(other.addr) > 0 }, 10*time.Second, time.Millisecond)
	require.True(t, addUntil(t, db, one, 1000))
	require.Zero(t, other.got.Load())
}

// silence makes a node's connections swallow everything, and counts those over which something was sent since.
type silence struct {
	addr string
	on   atomic.Bool
	used atomic.Int64
}

func (s *silence) dial(ctx context.Context, addr string) (net.Conn, error) {
	if addr == s.addr && s.on.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if addr == s.addr && err == nil {
		conn = &swallower{Conn: conn, silence: s}
	}
	return conn, err
}

type swallower struct {
	net.Conn
	*silence
	once sync.Once
}

func (c *swallower) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.on.Load() {
			return n, err
		}
	}
}

func (c *swallower) Write(b []byte) (int, error) {
	if !c.on.Load() {
		return c.Conn.Write(b)
	}
	c.once.Do(func() { c.used.Add(1) })
	return len(b), nil
}

// TestSilentNodeIsWaitedForOnce: the client has two connections to the node that leads a shard. When it has given one
// up, the call is not sent over the other one.
func TestSilentNodeIsWaitedForOnce(t *testing.T) {
	one, two := startMember(t, 1, 2, "c"), startMember(t, 2, 2, "c")
	s := &silence{addr: one.addr}
	db := open(t, []string{one.addr, two.addr}, client.WithDialer(s.dial))
	require.True(t, addUntil(t, db, two, 10), "it is connected to both")
	one.SetNodes(1, 1)
	two.SetNodes(2, 1)
	require.True(t, addUntil(t, db, one, 100), "node 1 is named as the leader")
	two.SetNodes(2, 2)
	s.on.Store(true)
	require.NoError(t, client.NewCounter("k").Add(t.Context(), db, 1))
	require.EqualValues(t, 1, s.used.Load())
}
