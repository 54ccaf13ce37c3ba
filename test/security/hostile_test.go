package security

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// target is a node that is attacked while an honest client uses it.
type target struct {
	*authority
	node *proc.Node
	// addr is the gRPC address, http the HTTP address.
	addr, http string
	honest     *client.DB
	// served counts the writes of the honest client.
	served atomic.Int64
	// latencies are the durations of these writes.
	latenciesMu sync.Mutex
	latencies   []time.Duration
	// attackers counts the loopback addresses that were used, one for each attack.
	attackers int
	token     string
}

// startTarget starts a node with flags, and the honest client.
func startTarget(t *testing.T, flags ...string) *target {
	t.Helper()
	g := &target{authority: newAuthority(t)}
	g.node = proc.NewSingle(t, filepath.Join(t.TempDir(), "store"), append([]string{"--certs-dir", g.Dir}, flags...)...)
	g.addr, g.http = g.node.Addr, g.node.HTTP
	g.node.Start(t)
	root := g.client(client.WithTLSFunc(g.config(users.Root)))
	rights := admin.Rights{Grants: writes("alice/")}
	_, token, err := admin.New(root).CreateUser(proc.Context(t), "alice", rights, admin.TokenOptions{})
	require.NoError(t, err)
	g.token = token
	g.honest = root
	ctx, cancel := context.WithCancel(context.Background())
	counted := client.NewCounter("honest")
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			each, stop := context.WithTimeout(ctx, proc.WaitTimeout)
			began := time.Now()
			err := counted.Add(each, g.honest, 1)
			stop()
			if err != nil && ctx.Err() == nil {
				t.Errorf("honest client: %v", err)
				return
			}
			g.served.Add(1)
			g.latenciesMu.Lock()
			g.latencies = append(g.latencies, time.Since(began))
			g.latenciesMu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	return g
}

func (g *target) client(opts ...client.Option) *client.DB {
	g.t.Helper()
	db, err := client.Open(proc.Context(g.t), []string{g.addr}, opts...)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, db.Close()) })
	return db
}

// attack runs an attack from its own address. Meanwhile the honest client is served, and afterwards no
// unauthenticated connection is left.
func (g *target) attack(t *testing.T, name string, run func(t *testing.T, d *net.Dialer)) {
	t.Helper()
	g.attackers++
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(g.attackers))}, Timeout: proc.WaitTimeout}
	t.Run(name, func(t *testing.T) {
		before := g.served.Load()
		run(t, d)
		retryUntilOK(t, func() error { // also if the attack was short
			if n := g.served.Load() - before; n < 100 {
				return fmt.Errorf("%d writes of the honest client", n)
			}
			return nil
		})
		retryUntilOK(t, func() error {
			if n := g.metric(t, `linchpin_connections{authenticated="false"}`); n != 0 {
				return fmt.Errorf("%v unauthenticated connections", n)
			}
			return nil
		})
		require.True(t, g.node.Running())
		require.Less(t, g.metric(t, "process_resident_memory_bytes"), 700e6)
	})
}

// metric returns a metric by its name and labels.
func (g *target) metric(t testing.TB, name string) float64 {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: g.config(users.Root)(), DisableKeepAlives: true},
		Timeout: proc.WaitTimeout}
	resp, err := web.Get("https://" + g.http + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// dial opens a connection, and fails the test on an error.
func dial(t *testing.T, d *net.Dialer, addr string) net.Conn {
	t.Helper()
	c, err := d.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(proc.WaitTimeout)))
	return c
}

// requireClosed reads until the node has closed the connection, and fails the test if it does not.
func requireClosed(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Error("the connection stays open")
	}
}

// TestHostileClientsDoNotDisturbOthers: attacks on the protocols fail, and the honest client is served
// during each of them.
func TestHostileClientsDoNotDisturbOthers(t *testing.T) {
	g := startTarget(t)
	goroutines := g.metric(t, "go_goroutines")
	okBefore := func() float64 { return g.metric(t, `linchpin_authentications_total{result="ok"}`) }

	g.attack(t, "garbage", func(t *testing.T, d *net.Dialer) {
		for i, text := range []string{"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
			strings.Repeat("\x00", 70_000), strings.Repeat("\xff", 70_000),
			"\x16\x03\x01\xff\xff" + strings.Repeat("x", 70_000),
			"\x16\x03\x03\x40\x00\x01\x00\x3f\xfc" + strings.Repeat("\x01", 20_000), "SSH-2.0-x\r\n"} {
			for _, addr := range []string{g.addr, g.http} {
				c := dial(t, d, addr)
				_, _ = c.Write([]byte(text)) // it may be closed by now
				if i%2 == 0 {
					_ = c.(*net.TCPConn).CloseWrite()
				}
				requireClosed(t, c)
			}
		}
	})

	g.attack(t, "silent connections", func(t *testing.T, d *net.Dialer) {
		before := g.metric(t, `linchpin_connections_rejected_total{limit="address"}`)
		var all []net.Conn
		for i := range 200 {
			c := dial(t, d, g.addr)
			if i%2 == 0 {
				_, _ = c.Write([]byte("\x16\x03\x01\x02\x00\x01")) // an incomplete ClientHello
			}
			all = append(all, c)
		}
		require.LessOrEqual(t, g.metric(t, `linchpin_connections{authenticated="false"}`), 64.0)
		for _, c := range all {
			requireClosed(t, c)
		}
		require.GreaterOrEqual(t, g.metric(t, `linchpin_connections_rejected_total{limit="address"}`)-before, 136.0)
	})

	g.attack(t, "endless headers over HTTP", func(t *testing.T, d *net.Dialer) {
		for range 20 {
			config := g.config("")()
			config.ServerName = "127.0.0.1"
			c := tls.Client(dial(t, d, g.http), config)
			_, err := c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\nX: "))
			require.NoError(t, err)
			defer requireClosed(t, c)
		}
	})

	g.attack(t, "foreign certificates", func(t *testing.T, d *net.Dialer) {
		foreign := newAuthority(t)
		foreign.Lifetime = time.Hour
		foreign.Overwrite = true
		g.requireCertificatesRejected(t, d, foreign)
	})

	g.attack(t, "a user certificate on the peer services", func(t *testing.T, d *net.Dialer) {
		g.user("mallory")
		conn := g.grpc(t, d, "mallory", "")
		for method, streams := range map[string]bool{"/linchpin.peer.v1.Peer/Meet": false,
			"/linchpin.peer.v1.Peer/Stream": true, "/linchpin.peer.v1.Peer/Replicate": true,
			"/linchpin.peer.v1.Peer/SendSnapshot": true} {
			require.Contains(t, []string{"Unauthenticated", "PermissionDenied", "Unavailable"},
				call(t, conn, method, streams).String())
		}
	})

	g.attack(t, "guessed tokens", func(t *testing.T, d *net.Dialer) {
		before, ok := g.metric(t, `linchpin_connections_rejected_total{limit="failures"}`), okBefore()
		for i := range 40 {
			from := func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
			db, err := client.Open(proc.Context(t), []string{g.addr}, client.WithTLSFunc(g.config("")), client.WithDialer(from),
				withToken(users.TokenText([users.SecretBytes]byte{byte(i)})))
			if err == nil {
				db.Close()
				t.Fatal("a guessed token was accepted")
			}
			require.Contains(t, []kv.Kind{kv.KindUnauthenticated, kv.KindUnavailable}, kv.KindOf(err), "%v", err)
		}
		require.Greater(t, g.metric(t, `linchpin_connections_rejected_total{limit="failures"}`), before,
			"after some failures the address is rejected")
		require.Greater(t, okBefore(), ok, "other clients are authenticated")
	})

	g.runFloods(t)

	retryUntilOK(t, func() error { // the resources of the attacks are freed
		if n := g.metric(t, "go_goroutines"); n > goroutines+20 {
			return fmt.Errorf("%v goroutines, %v before", n, goroutines)
		}
		return nil
	})
	require.NotContains(t, g.node.Output.String(), "panic")
	for _, r := range []string{"secret", g.token} {
		require.NotContains(t, g.node.Output.String(), r)
	}
}

// requireCertificatesRejected tries certificates of another authority.
func (g *target) requireCertificatesRejected(t *testing.T, d *net.Dialer, foreign *authority) {
	t.Helper()
	for _, name := range []string{users.Root, users.Node} {
		forged := g.config("")()
		own := foreign.config(name)().Certificates[0]
		forged.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
		forged.NextProtos = []string{"h2"}
		forged.ServerName = "127.0.0.1"
		for _, addr := range []string{g.addr, g.http} {
			c := tls.Client(dial(t, d, addr), forged)
			_, err := c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			if err == nil {
				_, err = c.Read(make([]byte, 1))
			}
			require.Error(t, err)
			require.NotContains(t, err.Error(), "timeout")
		}
	}
}
