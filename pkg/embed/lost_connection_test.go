package embed_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/server"
)

// halfOpen is a connection that only the client has lost: the node receives neither data nor an
// end, as when a firewall forgets the connection.
type halfOpen struct {
	net.Conn
	once sync.Once
	lost chan struct{}
}

var errConnectionLost = errors.New("the connection is lost")

func (c *halfOpen) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	read := make(chan result, 1)
	buf := make([]byte, len(b))
	go func() {
		n, err := c.Conn.Read(buf)
		read <- result{n, err}
	}()
	select {
	case r := <-read:
		copy(b, buf[:r.n])
		return r.n, r.err
	case <-c.lost:
		return 0, errConnectionLost
	}
}

func (c *halfOpen) Write(b []byte) (int, error) {
	select {
	case <-c.lost:
		return 0, errConnectionLost
	default:
		return c.Conn.Write(b)
	}
}

// Close closes the connection, unless it is lost: then the test's cleanup does.
func (c *halfOpen) Close() error {
	select {
	case <-c.lost:
		return nil
	default:
		return c.Conn.Close()
	}
}

// halfOpens are the connections of a client, which can be lost.
type halfOpens struct {
	mu    sync.Mutex
	conns []*halfOpen
}

func (h *halfOpens) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &halfOpen{Conn: conn, lost: make(chan struct{})}
	h.conns = append(h.conns, c)
	return c, nil
}

func (h *halfOpens) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		c.once.Do(func() { close(c.lost) })
	}
}

func (h *halfOpens) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		_ = c.Conn.Close()
	}
}

// openHalfOpen starts a cluster and gives a client of it whose connections can be lost.
func openHalfOpen(t *testing.T, nodes int) (*embed.Cluster, *client.DB, *halfOpens) {
	c := start(t, embed.ClusterOptions{Nodes: nodes, Shards: 2, NoSync: true, Listen: true})
	h := new(halfOpens)
	t.Cleanup(h.closeAll)
	db, err := client.Open(context.Background(), c.Addrs(), client.WithDialer(h.dial))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return c, db, h
}

// TestALostConnectionIsRetriedUnderTheSameID: the node still has the first attempt open, with its
// locks, when the next attempt begins there.
func TestALostConnectionIsRetriedUnderTheSameID(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		_, db, h := openHalfOpen(t, nodes)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		begin := time.Now()
		n := client.NewCounter("n")
		runs := 0
		require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			runs++
			_, _, err := tx.GetForUpdate(ctx, "k")
			if err != nil {
				return err
			}
			if runs == 1 {
				h.lose()
			}
			_, _, err = tx.Get(ctx, "other")
			if err != nil {
				return err
			}
			return n.Add(ctx, tx, 1)
		}))
		require.Equal(t, 2, runs)
		runs = 0
		require.NoError(t, db.View(ctx, func(ctx context.Context, ro *client.View) error {
			runs++
			_, _, err := ro.Get(ctx, "k")
			if err != nil {
				return err
			}
			if runs == 1 {
				h.lose()
			}
			v, err := n.Get(ctx, ro)
			require.True(t, err != nil || v == 1)
			return err
		}))
		require.Equal(t, 2, runs)
		require.Less(t, time.Since(begin), server.PingAfter, "no attempt waits until the node detects the loss")
	}
}

// TestAFailedFunctionIsRetriedAfterALostConnection: fn's error is not returned before the node has
// confirmed what fn has read, and the connection is lost before that.
func TestAFailedFunctionIsRetriedAfterALostConnection(t *testing.T) {
	_, db, h := openHalfOpen(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	own := errors.New("sold out")
	runs := 0
	err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		runs++
		_, _, err := tx.Get(ctx, "stock")
		if err != nil {
			return err
		}
		if runs == 1 {
			h.lose()
		}
		return own
	})
	require.True(t, err == own, "%v", err)
	require.Equal(t, 2, runs)
}

// TestLocksAreReleasedWhenTheContextEnds: at once if the node learns of it, and within 12 s if
// the connection is lost, too.
func TestLocksAreReleasedWhenTheContextEnds(t *testing.T) {
	for name, lost := range map[string]bool{"connected": false, "connection lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, db, h := openHalfOpen(t, 1)
			other := connect(t, c.Addrs()...)
			ctx, cancel := context.WithCancel(context.Background())
			locked, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				ended <- db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					_, _, err := tx.GetForUpdate(ctx, "k")
					close(locked)
					<-ctx.Done()
					return err
				})
			}()
			<-locked
			if lost {
				h.lose()
			}
			cancel()
			err := <-ended
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, client.ErrCancelled)
			within := 2 * time.Second
			if lost {
				within = server.PingAfter + server.PingTimeout
				require.Equal(t, 12*time.Second, within)
			}
			begin := time.Now()
			require.Eventually(t, func() bool { return c.Node(1).Gateway().OpenCount() == 0 }, within+time.Second,
				10*time.Millisecond)
			require.NoError(t, other.Put(context.Background(), "k", []byte("v")))
			require.Less(t, time.Since(begin), within+time.Second)
		})
	}
}
