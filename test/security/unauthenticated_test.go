package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// pair is a cluster of two node processes, with TLS.
type pair struct {
	*authority
	nodes [2]*proc.Node
	// addrs are the gRPC addresses, http the HTTP addresses.
	addrs, http [2]string
}

// startPair starts a pair.
func startPair(t *testing.T) *pair {
	t.Helper()
	g := &pair{authority: newAuthority(t)}
	for i := range g.nodes {
		g.addrs[i], g.http[i] = proc.FreeAddr(t), proc.FreeAddr(t)
	}
	for i := range g.nodes {
		g.nodes[i] = proc.NewNode(t, fmt.Sprint("node ", i+1), filepath.Join(t.TempDir(), "store"), "--listen", g.addrs[i],
			"--join", g.addrs[0]+","+g.addrs[1],
			"--http", g.http[i], "--certs-dir", g.Dir, "--shards", "3", "--cache-mb", "16")
		g.nodes[i].Launch(t)
	}
	for i := range g.nodes {
		g.nodes[i].AwaitServing(t)
	}
	return g
}

// open opens a client of a node on a new connection.
func (g *pair) open(i int, name string) (*client.DB, error) {
	return client.Open(proc.Context(g.t), []string{g.addrs[i]}, client.WithTLSFunc(g.config(name)))
}

// connectAndWrite opens a client, writes on all shards and closes the client. It returns how long that
// latency.
func (g *pair) connectAndWrite(i int) (time.Duration, error) {
	began := time.Now()
	db, err := g.open(i, users.Root)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var ops []client.Op
	for k := range 16 {
		ops = append(ops, client.NewCounter(fmt.Sprint("key ", k)).AddOp(1))
	}
	err = db.Execute(proc.Context(g.t), ops...)
	return proc.Elapsed(began), err
}

// checkHealth queries the health of a node on a new connection.
func (g *pair) checkHealth(i int) (time.Duration, error) {
	return checkHealth(g.authority, &net.Dialer{}, g.http[i])
}

// checkHealth queries the health of the node at an address.
func checkHealth(a *authority, d *net.Dialer, addr string) (time.Duration, error) {
	began := time.Now()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: a.config("")(), DisableKeepAlives: true,
		DialContext: d.DialContext}, Timeout: proc.WaitTimeout}
	resp, err := web.Get("https://" + addr + "/healthz")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the health of the node is %s", resp.Status)
	}
	return proc.Elapsed(began), nil
}

// holdHandshakes opens connections and begins a handshake on each, which it does not continue. Closed
// connections are opened again until ctx ends.
func holdHandshakes(ctx context.Context, d *net.Dialer, addr string) {
	for ctx.Err() == nil {
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			break // the test has ended, or no file is free
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		_, _ = c.Write([]byte{0x16, 0x03, 0x01, 0x02}) // the beginning of a ClientHello
		_, _ = io.Copy(io.Discard, c)
		stop()
		c.Close()
		select { // a flood would use processors instead of connection slots
		case <-ctx.Done():
		case <-time.After(reopen):
		}
	}
}

const (
	// floodDuration is the minimum duration of the attack: longer than an unauthenticated connection may stay
	// open.
	floodDuration = 14 * time.Second
	// connectionsEach is the number of connections of each address to each port, more than the limit.
	connectionsEach = 80
	// reopen is the time after which a closed connection is opened again.
	reopen = 300 * time.Millisecond
	// newcomerBound bounds the time of a new client on a busy machine.
	newcomerBound = 3 * time.Second
	// roundsEach is the number of rounds of new clients before and after the restart of a node.
	roundsEach = 21
)

// TestUnauthenticatedConnectionsBlockNoUser: four addresses use all slots of unauthenticated connections on
// all ports of two nodes. New clients with a certificate are served, health is reported, and a restarted
// node reconnects to the other one.
func TestUnauthenticatedConnectionsBlockNoUser(t *testing.T) {
	t.Parallel()
	g := startPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for a := range 4 {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(a+2))}, Timeout: proc.WaitTimeout}
		for _, addr := range append(g.addrs[:], g.http[:]...) {
			for range connectionsEach {
				all.Go(func() { holdHandshakes(ctx, d, addr) })
			}
		}
	}
	defer all.Wait()
	defer cancel()
	var slowest [2]time.Duration
	rounds := 0
	serveNewClients := func() {
		for i := range g.nodes {
			latency, err := g.connectAndWrite(i)
			require.NoError(t, err, "a new client of node %d", i+1)
			slowest[0] = max(slowest[0], latency)
			latency, err = g.checkHealth(i)
			require.NoError(t, err, "the health of node %d", i+1)
			slowest[1] = max(slowest[1], latency)
		}
		rounds++
	}
	begin := time.Now()
	for range roundsEach {
		serveNewClients()
	}
	g.nodes[1].Kill()
	g.nodes[1].Start(t)
	g.awaitConnected()
	_, err := g.connectAndWrite(0) // the restarted shards wait for the leases of earlier readers
	require.NoError(t, err, "the nodes are not connected")
	for n := 0; n < roundsEach || time.Since(begin) < floodDuration; n++ {
		serveNewClients()
	}
	t.Logf("%d new clients, at most %v; health, at most %v", 2*rounds, slowest[0], slowest[1])
	require.Less(t, slowest[0], newcomerBound)
	require.Less(t, slowest[1], newcomerBound)
}

// TestFailuresAtNodeAddressBlockNoUser: connections from the address of the nodes fail all the time on all
// ports. Users and health checks are served, a restarted node reconnects, and the status names the address.
func TestFailuresAtNodeAddressBlockNoUser(t *testing.T) {
	t.Parallel()
	g := startPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, addr := range append(g.addrs[:], g.http[:]...) {
		all.Go(func() { failHandshakes(ctx, addr) })
	}
	requireSlowed := func() {
		for i := range g.nodes {
			retryUntilOK(t, func() error {
				st := g.status(i)
				if len(st.RefusedAddresses) == 0 || st.RefusedAddresses[0].Remaining == 0 {
					return errors.New("no address has failed too often")
				}
				require.Equal(t, "127.0.0.1", st.RefusedAddresses[0].Address)
				require.True(t, st.RefusedAddresses[0].Slowed)
				return nil
			})
		}
	}
	serveNewClients := func() {
		for i := range g.nodes {
			latency, err := g.connectAndWrite(i)
			require.NoError(t, err, "a new client of node %d", i+1)
			require.Less(t, latency, newcomerBound)
			latency, err = g.checkHealth(i)
			require.NoError(t, err, "the health of node %d", i+1)
			require.Less(t, latency, newcomerBound)
		}
	}
	requireSlowed()
	serveNewClients()
	g.requireAddressesHidden("alice")
	g.nodes[1].Kill()
	restarted := time.Now()
	g.nodes[1].Start(t)
	g.awaitConnected()
	require.Less(t, proc.Elapsed(restarted), 10*time.Second, "the restarted node reconnects")
	_, err := g.connectAndWrite(0) // the restarted shards wait for the leases of earlier readers
	require.NoError(t, err)
	requireSlowed()
	serveNewClients()
}

// requireAddressesHidden creates a user without rights, whose status names no address.
func (g *pair) requireAddressesHidden(name string) {
	g.t.Helper()
	root, err := g.open(0, users.Root)
	require.NoError(g.t, err)
	defer root.Close()
	g.user(name)
	_, _, err = admin.New(root).CreateUser(proc.Context(g.t), name, admin.Rights{}, admin.TokenOptions{})
	require.NoError(g.t, err)
	retryUntilOK(g.t, func() error {
		db, err := g.open(0, name)
		if err != nil {
			return err
		}
		defer db.Close()
		st, err := admin.New(db).Status(proc.Context(g.t))
		if err != nil {
			return err
		}
		require.Empty(g.t, st.RefusedAddresses)
		return nil
	})
}

// status returns the status of a node for root.
func (g *pair) status(i int) admin.Status {
	g.t.Helper()
	db, err := g.open(i, users.Root)
	require.NoError(g.t, err)
	defer db.Close()
	st, err := admin.New(db).Status(proc.Context(g.t))
	require.NoError(g.t, err)
	return st
}

// failHandshakes opens connections that do not speak TLS until ctx ends.
func failHandshakes(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		c, err := net.DialTimeout("tcp", addr, proc.WaitTimeout)
		if err == nil {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// awaitConnected waits until the nodes are connected. Before, requests for shards of the other node may be
// rejected at once.
func (g *pair) awaitConnected() {
	g.t.Helper()
	for i := range g.nodes {
		db, err := g.open(i, users.Root)
		require.NoError(g.t, err)
		defer db.Close()
		retryUntilOK(g.t, func() error {
			s, err := admin.New(db).Status(proc.Context(g.t))
			if err != nil {
				return err
			}
			for _, m := range s.Members {
				if !m.Up {
					return fmt.Errorf("node %d does not reach %s", i+1, m.Address)
				}
			}
			return nil
		})
	}
}

// TestUnknownUsersHoldNoConnections: a client with a valid certificate whose user does not exist, or was
// dropped, cannot keep connections open.
func TestUnknownUsersHoldNoConnections(t *testing.T) {
	t.Parallel()
	g := startTarget(t)
	root := admin.New(g.client(client.WithTLSFunc(g.config(users.Root))))
	for _, name := range []string{"absent", "mallory"} {
		g.user(name)
	}
	_, _, err := root.CreateUser(proc.Context(t), "mallory", admin.Rights{Grants: reads("alice/")}, admin.TokenOptions{})
	require.NoError(t, err)
	g.awaitUserKnown(t, "mallory")
	before := g.metric(t, `linchpin_connections{authenticated="true"}`)
	const each = 50
	held := map[string][]*grpc.ClientConn{"absent": g.holdConnections(t, "absent", each),
		"mallory": g.holdConnections(t, "mallory", each)}
	retryUntilOK(t, func() error {
		if n := g.metric(t, `linchpin_connections{authenticated="true"}`); n < before+each {
			return fmt.Errorf("%v connections of users", n)
		}
		return nil
	})
	_, err = root.DropUser(proc.Context(t), "mallory")
	require.NoError(t, err)
	for _, name := range []string{"absent", "mallory"} {
		for _, c := range held[name] {
			require.True(t, c.WaitForStateChange(proc.Context(t), connectivity.Ready), "a connection of %s stays open", name)
		}
	}
	retryUntilOK(t, func() error {
		if n := g.metric(t, `linchpin_connections{authenticated="false"}`); n > 0 {
			return fmt.Errorf("%v unauthenticated connections", n)
		}
		return nil
	})
	require.LessOrEqual(t, g.metric(t, `linchpin_connections{authenticated="true"}`), before)
}

// awaitUserKnown waits until a new user can make calls.
func (g *target) awaitUserKnown(t *testing.T, name string) {
	t.Helper()
	retryUntilOK(t, func() error {
		db, err := client.Open(proc.Context(t), []string{g.addr}, client.WithTLSFunc(g.config(name)))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = admin.New(db).WhoAmI(proc.Context(t))
		return err
	})
}

// holdConnections opens connections with a certificate. They make no calls, but respond to pings.
func (g *target) holdConnections(t *testing.T, name string, n int) (all []*grpc.ClientConn) {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 4, byte(len(name)))}, Timeout: proc.WaitTimeout}
	for range n {
		c := g.grpc(t, d, name, "")
		c.Connect()
		for s := c.GetState(); s != connectivity.Ready; s = c.GetState() {
			require.True(t, c.WaitForStateChange(proc.Context(t), s), "a connection of %s stays %v", name, s)
		}
		all = append(all, c)
	}
	return all
}
