package link

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

// witness notes how one connection fails. gRPC passes the reason on only as a text; the witness has
// the error of the dialer or of the handshake itself, and the first bytes that the other side sent.
type witness struct {
	mu  sync.Mutex
	err error
	// connected: there was a connection. secure: it was to have TLS.
	connected, secure bool
	first             []byte
	// live counts what arrives.
	live liveness
}

func (w *witness) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
	}
}

// dialer returns d for gRPC.
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

// witnessed is a connection whose first bytes are noted, unless seen is set.
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
		c.by.live.received.Add(1)
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
func (c handshakes) ClientHandshake(ctx context.Context, host string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
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
	hintTLS      = "the node seems to use TLS: use client.WithTLS (on the command line --certs-dir or --tls-ca)"
	hintHTTP     = "it may be the port of the console (--http): use the address of --listen"
	tlsRecord    = 0x15 // an alert: the answer of a TLS server to bytes that begin no handshake
	beginsOfHTTP = "HTTP/"
	noProtocol   = "no application protocol" // the alert of RFC 7301: no HTTP/2
)

// explain returns why the connection failed and what to do, nil if that is not known.
func (w *witness) explain() *Error {
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
	return e
}

func noConnection(why, hint string) *Error {
	e := errorf(kv.KindUnavailable, nil, "%s", why)
	e.Hint = hint
	return e
}

// explainDial explains errors before there is a connection.
func explainDial(err error) *Error {
	var name *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &name):
		return noConnection("there is no host "+name.Name, "check the name in the address")
	case errors.Is(err, syscall.ECONNREFUSED):
		return noConnection("nothing listens there", "check the address, and that a linchpin node runs there")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return noConnection("there is no route to the host", "check the address, and that the host is up")
	case errors.As(err, &operation) && operation.Op == "dial" && operation.Timeout():
		return noConnection("the host does not answer", "check the address, and that no firewall blocks the port")
	}
	return nil
}

// explainTLS explains errors of handshakes.
func explainTLS(err error) *Error {
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &record) && string(record.RecordHeader[:]) == beginsOfHTTP:
		return noConnection("what answers is an HTTP server without TLS", hintHTTP)
	case errors.As(err, &record):
		return noConnection("the node does not use TLS",
			"leave out client.WithTLS (on the command line --certs-dir, --tls-ca and their environment variables)")
	case errors.As(err, &unknown):
		return noConnection("the node's certificate is signed by an unknown authority",
			"use the authority of this cluster: RootCAs of client.WithTLS "+
				"(on the command line ca.crt in --certs-dir, or --tls-ca)")
	case errors.As(err, &host):
		names := append([]string(nil), host.Certificate.DNSNames...)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return noConnection("the node's certificate is not for "+host.Host+" but for "+strings.Join(names, ", "),
			"use one of these names, or create a certificate with this one (\"linchpin cert create-node\")")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return noConnection("the node's certificate is not valid now: "+invalid.Detail, "renew it, and check both clocks")
	case err != nil && strings.Contains(err.Error(), noProtocol): // an alert of the other side has no Go type
		return noConnection("what answers is a server for something else", hintHTTP)
	case errors.Is(err, io.EOF):
		return noConnection("the connection was closed in the middle of the TLS handshake", "see the log of the node")
	}
	return nil
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// explainPlain explains errors of connections without TLS, by the first bytes.
func (w *witness) explainPlain() *Error {
	switch {
	case strings.HasPrefix(string(w.first), beginsOfHTTP):
		return noConnection("what answers is an HTTP server", hintHTTP)
	case len(w.first) > 0 && w.first[0] == tlsRecord:
		return noConnection("what answers requires TLS", hintTLS)
	case len(w.first) == 0 && hungUp(w.err):
		return noConnection("the connection was closed without an answer", hintTLS)
	}
	return nil
}
