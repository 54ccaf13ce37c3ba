package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// HTTPListener is the listener of an HTTP server behind the gate, with TLS if
// there is any.
func (g *Gate) HTTPListener(inner net.Listener) net.Listener {
	l := &listener{inner, g, Web}
	if !g.Secure() {
		return l
	}
	return tls.NewListener(l, g.opt.Certificates.Server(false, "http/1.1"))
}

type connKey struct{}

// ConnContext is for http.Server, so that HTTP knows the connections.
func (g *Gate) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if k, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, k)
	}
	return ctx
}

// ConnState is for http.Server, which does handshakes by itself and does not report
// failed ones: they count as those of gRPC do, with the same exception.
func (g *Gate) ConnState(c net.Conn, state http.ConnState) {
	t, ok := c.(*tls.Conn)
	if !ok || state != http.StateClosed || t.ConnectionState().HandshakeComplete {
		return
	}
	if k, ok := t.NetConn().(*conn); ok && !k.ended.Load() {
		g.unshaken(k, errUnshaken)
	}
}

var errUnshaken = errors.New("the client closed the connection, timed out, or does not use TLS (plain HTTP); level " +
	"debug logs more")

// HTTP lets requests through to next that may, by what each needs. A token is
// shown as a bearer token, or as the password of its user, for browsers.
func (g *Gate) HTTP(next http.Handler, needs func(*http.Request) Need) http.Handler {
	if !g.Secure() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		need := needs(r)
		k, ok := r.Context().Value(connKey{}).(*conn)
		if need == NeedNothing {
			if ok {
				k.blameless.Store(true)
			}
			next.ServeHTTP(w, r)
			return
		}
		if !ok || r.TLS == nil {
			http.Error(w, "unknown connection", http.StatusInternalServerError)
			return
		}
		c, err := g.enterHTTP(r, need)
		err = g.settle(k, c, err, r.URL.Path)
		if err != nil {
			answer(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, &call{caller: c, account: c.account})))
	})
}

func (g *Gate) enterHTTP(r *http.Request, need Need) (*Caller, *kv.Error) {
	name, password, basic := r.BasicAuth()
	if !basic && certificate(r.TLS) == nil && r.Header.Get("Authorization") == "" && !g.opt.RequireCertificate {
		return nil, unauthenticated("sign in with a user name, and the token of the user as the password",
			"a client certificate, or a bearer token, authenticates as well")
	}
	if !basic {
		return g.enter(r.TLS, map[string][]string{"authorization": r.Header.Values("Authorization")}, need, r.URL.Path)
	}
	c, err := g.enter(r.TLS, map[string][]string{"authorization": {"Bearer " + password}}, need, r.URL.Path)
	if err != nil {
		return c, err
	}
	if u, err := c.User(); err != nil || u.Name != name {
		return nil, unauthenticated("the token belongs to another user", "use the user's name and its token as the password")
	}
	return c, nil
}

// answer refuses a request.
func answer(w http.ResponseWriter, e *kv.Error) {
	code := http.StatusServiceUnavailable
	switch e.Kind {
	case kv.KindUnauthenticated:
		w.Header().Set("WWW-Authenticate", `Basic realm="linchpin: user and token", charset="UTF-8"`)
		code = http.StatusUnauthorized
	case kv.KindPermissionDenied:
		code = http.StatusForbidden
	}
	http.Error(w, e.Error(), code)
}
