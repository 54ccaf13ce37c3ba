package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/users"
)

// version is the least version of TLS. All that speak to a node know 1.3, which
// has no renegotiation and no weak ciphers to choose.
const version = tls.VersionTLS13

// Server is the configuration of a server. With require set, a client without a
// certificate is refused in the handshake; else it may show who it is by a token.
// protocols are those of ALPN.
//
// Sessions are not resumed: who it is, is checked with each connection.
func (k *Reloader) Server(require bool, protocols ...string) *tls.Config {
	auth := tls.VerifyClientCertIfGiven
	if require {
		auth = tls.RequireAndVerifyClientCert
	}
	return &tls.Config{MinVersion: version, NextProtos: protocols, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			l := k.current.Load()
			return &tls.Config{MinVersion: version, NextProtos: protocols, SessionTicketsDisabled: true, Time: k.opt.Now,
				Certificates: []tls.Certificate{*l.own}, ClientAuth: auth, ClientCAs: l.any,
				VerifyConnection: func(cs tls.ConnectionState) error { return k.checkCaller(l, cs) }}, nil
		}}
}

// checkCaller refuses a certificate that the wrong authority has signed: one of a
// node by the users', or one of a user by the nodes'. That some authority has, is
// verified before.
func (k *Reloader) checkCaller(l *loaded, cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return nil // a token may follow
	}
	leaf := cs.PeerCertificates[0]
	v := x509.VerifyOptions{Roots: l.clients, Intermediates: x509.NewCertPool(), CurrentTime: k.opt.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if leaf.Subject.CommonName == users.Node {
		v.Roots = l.nodes
	}
	for _, c := range cs.PeerCertificates[1:] {
		v.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(v); err != nil {
		return fmt.Errorf("certs: the certificate of %q was not signed by the authority for such certificates: %w",
			leaf.Subject.CommonName, err)
	}
	return nil
}

// Peer is the configuration with which a node calls another one: who answers
// must show a node's certificate, for the host that was called. It has the
// authorities as they are now, so that each connection wants a new one.
func (k *Reloader) Peer() *tls.Config {
	c := k.Client()
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		if cs.PeerCertificates[0].Subject.CommonName != users.Node {
			return errors.New("certs: the server's certificate is not that of a node")
		}
		return nil
	}
	return c
}

// Client is the configuration with which a user calls a node, now.
func (k *Reloader) Client() *tls.Config {
	l := k.current.Load()
	c := &tls.Config{MinVersion: version, RootCAs: l.nodes, Time: k.opt.Now}
	if l.own != nil {
		c.Certificates = []tls.Certificate{*l.own}
	}
	return c
}
