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

// pair are two real nodes of one cluster, with TLS.
type pair struct {
	*authority
	nodes [2]*proc.Node
	// addrs are of gRPC, http of HTTP.
	addrs, http [2]string
}

// startPair starts them.
func startPair(t *testing.T) *pair {
	t.Helper()
	g := &pair{authority: newAuthority(t)}
	for i := range g.nodes {
		g.addrs[i], g.http[i] = proc.FreeAddr(t), proc.FreeAddr(t)
	}
	for i := range g.nodes {
		g.nodes[i] = proc.NewNode(t, fmt.Sprint("node ", i+1), filepath.Join(t.TempDir(), "store"), "--listen", g.addrs[i], "--join", g.addrs[0]+","+g.addrs[1],
			"--http", g.http[i], "--certs-dir", g.Dir, "--shards", "3", "--cache-mb", "16")
		g.nodes[i].Launch(t)
	}
	for i := range g.nodes {
		g.nodes[i].AwaitServing(t)
	}
	return g
}

// open opens a client of a node on a connection of its own.
func (g *pair) open(i int, name string) (*client.DB, error) {
	return client.Open(soon(g.t), []string{g.addrs[i]}, client.WithTLSFunc(g.config(name)))
}

// newcomer is a client that comes, writes on all shards and goes: how long that took.
func (g *pair) newcomer(i int) (time.Duration, error) {
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
	err = db.Execute(soon(g.t), ops...)
	return proc.Elapsed(began), err
}

// healthy asks for a node's health on a connection of its own.
func (g *pair) healthy(i int) (time.Duration, error) {
	return healthy(g.authority, &net.Dialer{}, g.http[i])
}

// healthy asks for the health of the node at an address.
func healthy(a *authority, d *net.Dialer, addr string) (time.Duration, error) {
	began := time.Now()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: a.config("")(), DisableKeepAlives: true, DialContext: d.DialContext}, Timeout: proc.WaitTimeout}
	resp, err := web.Get("https://" + addr + "/healthz")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the node's health is %s", resp.Status)
	}
	return proc.Elapsed(began), nil
}

// silent opens connections from an address and begins a handshake on each that it never
// goes on with. What is closed is opened again, as long as ctx lasts.
func silent(ctx context.Context, d *net.Dialer, addr string) {
	for ctx.Err() == nil {
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			break // of the test's end, or of files
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		_, _ = c.Write([]byte{0x16, 0x03, 0x01, 0x02}) // the first bytes of a greeting
		_, _ = io.Copy(io.Discard, c)
		stop()
		c.Close()
		select { // a flood would take processors, not places
		case <-ctx.Done():
		case <-time.After(reopen):
		}
	}
}

const (
	// besiegedFor is how long strangers besiege the nodes at least: longer than they may
	// remain so.
	besiegedFor = 14 * time.Second
	// strangersEach is how many connections each address holds on each port: all that it
	// may have, and some.
	strangersEach = 80
	// reopen is when one that was closed is opened again.
	reopen = 300 * time.Millisecond
	// inTime is how long a newcomer may need, on a machine that has other things to do.
	inTime = 3 * time.Second
	// roundsEach is how often newcomers come before a node is started again, and after that.
	roundsEach = 21
)

// TestStrangersKeepNobodyOut: four addresses take all places of strangers that there are
// on all ports of two nodes. Who has a certificate comes in all the same, the nodes tell
// their health, and find each other anew when one is started again.
func TestStrangersKeepNobodyOut(t *testing.T) {
	t.Parallel()
	g := startPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for a := range 4 {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(a+2))}, Timeout: proc.WaitTimeout}
		for _, addr := range append(g.addrs[:], g.http[:]...) {
			for range strangersEach {
				all.Go(func() { silent(ctx, d, addr) })
			}
		}
	}
	defer all.Wait()
	defer cancel()
	var slowest [2]time.Duration
	came := 0
	come := func() {
		for i := range g.nodes {
			took, err := g.newcomer(i)
			require.NoError(t, err, "a newcomer is kept out of node %d", i+1)
			slowest[0] = max(slowest[0], took)
			took, err = g.healthy(i)
			require.NoError(t, err, "the health of node %d is not told", i+1)
			slowest[1] = max(slowest[1], took)
		}
		came++
	}
	begin := time.Now()
	for range roundsEach {
		come()
	}
	g.nodes[1].Kill()
	g.nodes[1].Start(t)
	g.met()
	_, err := g.newcomer(0) // the restarted shards wait for readers of before
	require.NoError(t, err, "the nodes do not find each other")
	for n := 0; n < roundsEach || time.Since(begin) < besiegedFor; n++ {
		come()
	}
	t.Logf("%d newcomers, at most %v; health, at most %v", 2*came, slowest[0], slowest[1])
	require.Less(t, slowest[0], inTime)
	require.Less(t, slowest[1], inTime)
}

// TestAStrangerAtANodesAddressLocksNobodyOut: connections from the address of the nodes
// themselves fail all the time on all ports. Users and health checks are served, a node that
// is restarted comes back, and the status names the address.
func TestAStrangerAtANodesAddressLocksNobodyOut(t *testing.T) {
	t.Parallel()
	g := startPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, addr := range append(g.addrs[:], g.http[:]...) {
		all.Go(func() { failing(ctx, addr) })
	}
	slowed := func() {
		for i := range g.nodes {
			eventually(t, func() error {
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
	come := func() {
		for i := range g.nodes {
			took, err := g.newcomer(i)
			require.NoError(t, err, "a newcomer is kept out of node %d", i+1)
			require.Less(t, took, inTime)
			took, err = g.healthy(i)
			require.NoError(t, err, "the health of node %d is not reported", i+1)
			require.Less(t, took, inTime)
		}
	}
	slowed()
	come()
	g.seesNoAddresses("alice")
	g.nodes[1].Kill()
	slowedAgain := time.Now()
	g.nodes[1].Start(t)
	g.met()
	require.Less(t, proc.Elapsed(slowedAgain), 10*time.Second, "the restarted node comes back")
	_, err := g.newcomer(0) // the restarted shards wait for the leases of before
	require.NoError(t, err)
	slowed()
	come()
}

// seesNoAddresses creates a user without rights, whose status names no address.
func (g *pair) seesNoAddresses(name string) {
	g.t.Helper()
	root, err := g.open(0, users.Root)
	require.NoError(g.t, err)
	defer root.Close()
	g.user(name)
	_, _, err = admin.New(root).CreateUser(soon(g.t), name, admin.Rights{}, admin.TokenOptions{})
	require.NoError(g.t, err)
	eventually(g.t, func() error {
		db, err := g.open(0, name)
		if err != nil {
			return err
		}
		defer db.Close()
		st, err := admin.New(db).Status(soon(g.t))
		if err != nil {
			return err
		}
		require.Empty(g.t, st.RefusedAddresses)
		return nil
	})
}

// status is that of a node, as root sees it.
func (g *pair) status(i int) admin.Status {
	g.t.Helper()
	db, err := g.open(i, users.Root)
	require.NoError(g.t, err)
	defer db.Close()
	st, err := admin.New(db).Status(soon(g.t))
	require.NoError(g.t, err)
	return st
}

// failing opens connections that do not speak TLS, as long as ctx lasts.
func failing(ctx context.Context, addr string) {
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

// met waits until the nodes find each other: until then what needs the other one's shards
// may be refused at once.
func (g *pair) met() {
	g.t.Helper()
	for i := range g.nodes {
		db, err := g.open(i, users.Root)
		require.NoError(g.t, err)
		defer db.Close()
		eventually(g.t, func() error {
			s, err := admin.New(db).Status(soon(g.t))
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

// TestWhoIsNoUserHoldsNoPlace: a certificate of the cluster's authority whose name is no
// user, or is one no longer, does not hold connections of a real node for ever.
func TestWhoIsNoUserHoldsNoPlace(t *testing.T) {
	t.Parallel()
	g := besiege(t)
	root := admin.New(g.client(client.WithTLSFunc(g.config(users.Root))))
	for _, name := range []string{"nobody", "mallory"} {
		g.user(name)
	}
	_, _, err := root.CreateUser(soon(t), "mallory", admin.Rights{Grants: reads("alice/")}, admin.TokenOptions{})
	require.NoError(t, err)
	g.untilKnown(t, "mallory")
	before := g.metric(t, `linchpin_connections{authenticated="true"}`)
	const each = 50
	held := map[string][]*grpc.ClientConn{"nobody": g.hold(t, "nobody", each), "mallory": g.hold(t, "mallory", each)}
	eventually(t, func() error {
		if n := g.metric(t, `linchpin_connections{authenticated="true"}`); n < before+each {
			return fmt.Errorf("%v connections are of users", n)
		}
		return nil
	})
	_, err = root.DropUser(soon(t), "mallory")
	require.NoError(t, err)
	for _, who := range []string{"nobody", "mallory"} {
		for _, c := range held[who] {
			require.True(t, c.WaitForStateChange(soon(t), connectivity.Ready), "a connection of %s is left open", who)
		}
	}
	eventually(t, func() error {
		if n := g.metric(t, `linchpin_connections{authenticated="false"}`); n > 0 {
			return fmt.Errorf("%v strangers are left", n)
		}
		return nil
	})
	require.LessOrEqual(t, g.metric(t, `linchpin_connections{authenticated="true"}`), before)
}

// untilKnown waits until a user who has just been made can call.
func (g *target) untilKnown(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() error {
		db, err := client.Open(soon(t), []string{g.addr}, client.WithTLSFunc(g.config(name)))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = admin.New(db).WhoAmI(soon(t))
		return err
	})
}

// hold opens connections by a certificate, on which nothing is called and all that the
// node asks is answered.
func (g *target) hold(t *testing.T, name string, n int) (all []*grpc.ClientConn) {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 4, byte(len(name)))}, Timeout: proc.WaitTimeout}
	for range n {
		c := g.grpc(t, d, name, "")
		c.Connect()
		for s := c.GetState(); s != connectivity.Ready; s = c.GetState() {
			require.True(t, c.WaitForStateChange(soon(t), s), "a connection of %s stays %v", name, s)
		}
		all = append(all, c)
	}
	return all
}
