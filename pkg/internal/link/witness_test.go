package link_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// listen passes each connection to accept.
func listen(t *testing.T, accept func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accept(conn)
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-done
	})
	return l.Addr().String()
}

// dialNames dials; it knows no names, and queries no server for them.
func dialNames(ctx context.Context, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || net.ParseIP(host) != nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

// TestWhyNoConnection: the error describes the cause, with what to do.
func TestWhyNoConnection(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler()) // HTTP/1.1 alone
	secure.StartTLS()
	defer secure.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate())
	named := httptest.NewUnstartedServer(http.NotFoundHandler())
	named.EnableHTTP2 = true
	named.StartTLS()
	defer named.Close()
	node := servertest.Serve(t, servertest.New(), "", server.Options{}).Addr
	hangUp := listen(t, func(c net.Conn) { _ = c.Close() })
	closed := httptest.NewServer(nil)
	closed.Close() // last, so that none of the others has its port
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for _, x := range []struct {
		name, addr, text, hint string
		config                 *tls.Config
	}{
		{"nothing there", at(closed), "nothing listens there", "check the address", nil},
		{"unknown host", "no.such.host.invalid:7070", "there is no host no.such.host.invalid", "check the name", nil},
		{"HTTP", at(plain), "what answers is an HTTP server", "--listen", nil},
		{"TLS is wanted", at(secure), "closed without an answer", "--certs-dir", nil},
		{"hung up", hangUp, "closed without an answer", "--certs-dir", nil},
		{"no TLS", node, "the node does not use TLS", "leave out client.WithTLS", &tls.Config{RootCAs: trusted}},
		{"HTTP, asked for TLS", at(plain), "an HTTP server without TLS", "--listen", &tls.Config{RootCAs: trusted}},
		{"HTTPS", at(secure), "a server for something else", "--listen", &tls.Config{RootCAs: trusted}},
		{"unknown authority", at(named), "signed by an unknown authority", "--tls-ca", &tls.Config{}},
		{"wrong name", at(named), "is not for db1.invalid but for example.com", "linchpin cert create-node",
			&tls.Config{RootCAs: trusted, ServerName: "db1.invalid"}},
		{"expired", at(named), "not valid now", "check both clocks",
			&tls.Config{RootCAs: trusted, Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := link.Options{MaxInFlight: 1, ConnectTimeout: 3 * time.Second, RetryFor: time.Minute,
				LeastPause: time.Millisecond,
				MostPause:  time.Millisecond, Dialer: dialNames}
			if x.config != nil {
				o.TLS = func() *tls.Config { return x.config }
			}
			_, err := link.Open(context.Background(), []string{x.addr}, o)
			require.NotNil(t, err)
			require.Equal(t, kv.KindUnavailable, err.Kind)
			require.Contains(t, err.Text, x.addr+": ")
			require.Contains(t, err.Text, x.text)
			require.Contains(t, err.Hint, x.hint)
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
