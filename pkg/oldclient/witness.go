package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/grpc/credentials"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// witness sees how one connection fails. gRPC passes the reason on as a text
// alone; here are the error of the dialer or of the handshake itself, and how the
// first bytes of the other side began.
type witness struct {
	mu  sync.Mutex
	err error
	// connected: there was a connection. secure: it was to have TLS.
	connected, secure bool
	first             []byte
	// live is told of all that arrives.
	live liveness
}

func (w *witness) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
	}
}

// dialer gives the connections of d to gRPC.
func (w *witness) dialer(d Dialer) Dialer {
	if d == nil {
		d = func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := d(ctx, addr)
		if err != nil {
			w.note(err)
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.connected = true
		return conn, nil // as it is: gRPC sets options of TCP
	}
}

// witnessed is a connection whose first bytes are looked at, unless they are seen.
type witnessed struct {
	net.Conn
	by   *witness
	seen bool
}

// Write implements net.Conn. The other side may be gone before anything is read.
func (c *witnessed) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		c.by.note(err)
	}
	return n, err
}

// Read implements net.Conn. One goroutine reads at a time.
func (c *witnessed) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.by.live.heard.Add(1)
	}
	if c.seen {
		return n, err
	}
	c.seen = true
	c.by.mu.Lock()
	c.by.first = bytes.Clone(b[:min(n, 5)])
	c.by.mu.Unlock()
	c.by.note(err)
	return n, err
}

// handshakes notes how a handshake fails, and without TLS how the other side begins.
type handshakes struct {
	credentials.TransportCredentials
	by *witness
}

// ClientHandshake implements credentials.TransportCredentials.
func (c handshakes) ClientHandshake(ctx context.Context, host string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	out, info, err := c.TransportCredentials.ClientHandshake(ctx, host, conn)
	c.by.note(err)
	if err == nil {
		out = &witnessed{Conn: out, by: c.by, seen: c.by.secure}
	}
	return out, info, err
}

// Clone implements credentials.TransportCredentials.
func (c handshakes) Clone() credentials.TransportCredentials {
	return handshakes{c.TransportCredentials.Clone(), c.by}
}

const (
	hintTLS      = "the node seems to use TLS: give --certs-dir DIR or --tls-ca FILE (in Go: client.WithTLS)"
	hintHTTP     = "it is perhaps the console's port (--http): give the address of --listen"
	tlsRecord    = 0x15 // an alert, as a server answers who does not begin a handshake
	beginsOfHTTP = "HTTP/"
	noProtocol   = "no application protocol" // the alert of RFC 7301: no HTTP/2
)

// explain says why the connection failed and what to do; nil if that is not known.
func (w *witness) explain() *kv.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && !w.connected {
		return nil
	}
	e := explainDial(w.err)
	if e == nil && w.secure {
		e = explainTLS(w.err)
	}
	if e == nil && !w.secure && w.connected {
		e = w.explainPlain()
	}
	if e != nil {
		e.Kind, e.Op = kv.KindUnavailable, -1
	}
	return e
}

// explainDial is about errors before there is a connection.
func explainDial(err error) *kv.Error {
	var name *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &name):
		return &kv.Error{Text: "there is no host " + name.Name, Hint: "is the name in --addr right?"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &kv.Error{Text: "nothing listens there", Hint: "is linchpin running at this address? \"linchpin start\" begins a node"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &kv.Error{Text: "there is no way to the host", Hint: "is the address right, and the host up?"}
	case errors.As(err, &operation) && operation.Op == "dial" && operation.Timeout():
		return &kv.Error{Text: "the host does not answer", Hint: "is the address right, and does a firewall let the port through?"}
	}
	return nil
}

// explainTLS is about handshakes.
func explainTLS(err error) *kv.Error {
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &record) && string(record.RecordHeader[:]) == beginsOfHTTP:
		return &kv.Error{Text: "what answers is an HTTP server without TLS", Hint: hintHTTP}
	case errors.As(err, &record):
		return &kv.Error{Text: "the node does not use TLS", Hint: "leave out --certs-dir, --tls-ca and their environment variables (in Go: WithTLS)"}
	case errors.As(err, &unknown):
		return &kv.Error{Text: "the node's certificate is signed by an authority that is not known here",
			Hint: "give the authority of this cluster: ca.crt in --certs-dir, or --tls-ca FILE"}
	case errors.As(err, &host):
		names := append([]string(nil), host.Certificate.DNSNames...)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return &kv.Error{Text: "the node's certificate is not for " + host.Host + " but for " + strings.Join(names, ", "),
			Hint: "use one of these names, or make the node a certificate with this one (\"linchpin cert create-node\")"}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &kv.Error{Text: "the node's certificate is not valid now: " + invalid.Detail,
			Hint: "give the node a new one, and look at both clocks"}
	case err != nil && strings.Contains(err.Error(), noProtocol): // an alert of the other side has no type
		return &kv.Error{Text: "what answers is a server for something else", Hint: hintHTTP}
	case errors.Is(err, io.EOF):
		return &kv.Error{Text: "the connection was closed in the middle of the TLS handshake", Hint: "what does the node log?"}
	}
	return nil
}

// explainPlain is about connections without TLS, by what came first.
func (w *witness) explainPlain() *kv.Error {
	switch {
	case strings.HasPrefix(string(w.first), beginsOfHTTP):
		return &kv.Error{Text: "what answers is an HTTP server", Hint: hintHTTP}
	case len(w.first) > 0 && w.first[0] == tlsRecord:
		return &kv.Error{Text: "what answers wants TLS", Hint: hintTLS}
	case len(w.first) == 0 && (errors.Is(w.err, io.EOF) || errors.Is(w.err, syscall.ECONNRESET) || errors.Is(w.err, syscall.EPIPE)):
		return &kv.Error{Text: "the connection was closed without an answer", Hint: hintTLS}
	}
	return nil
}
