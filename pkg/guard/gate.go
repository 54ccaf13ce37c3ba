package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	"github.com/linchpindb/linchpin/pkg/users"
)

// Need is what a method wants of its caller.
type Need int

const (
	// NeedAdmin, the zero value, is for methods without another need.
	NeedAdmin Need = iota
	// NeedUser is for all users; the method itself looks at the keys.
	NeedUser
	NeedMonitor
	// NeedNode is for the other nodes.
	NeedNode
	// NeedNothing needs no authentication. Calls over gRPC never are: their messages
	// would have to be read.
	NeedNothing
)

// role is that of users that a need is about.
func (n Need) role() users.Role {
	switch n {
	case NeedUser:
		return users.AnyUser
	case NeedMonitor:
		return users.Monitor
	}
	return users.Admin
}

// Options are a gate's.
type Options struct {
	// Certificates are the node's. Nil: no TLS, and no authentication.
	Certificates *certs.Reloader
	// RequireCertificate refuses callers without a certificate even if they have
	// a token.
	RequireCertificate bool
	// Directory knows the users; it is needed if Certificates is set.
	Directory *Directory
	// Needs says what methods need, by their full names.
	Needs  func(method string) Need
	Limits Limits
	// Budget is the memory for what callers have the node hold. Default without
	// bounds.
	Budget *memory.Budget
	// Log receives failures and refused connections, at most once a second of each
	// kind. Default none.
	Log *slog.Logger
	// Now is the time. Default time.Now.
	Now func() time.Time
}

// Gate lets callers in.
type Gate struct {
	opt    Options
	ledger *ledger
	// counted are calls by result.
	counted [numResults]atomic.Uint64

	mu sync.Mutex
	// logged is what was logged, by its text, of which there are a dozen.
	logged map[string]*logState
}

// logState is when a text was logged last, and how often it was left out since.
type logState struct {
	at    time.Time
	since int
}

// result is the result of the check of a call, at the gate or at a key.
type result int

const (
	letIn result = iota
	failed
	denied
	unavailable
	numResults
)

func (r result) String() string {
	return [numResults]string{"ok", "unauthenticated", "denied", "unavailable"}[r]
}

// New makes a gate.
func New(o Options) (*Gate, error) {
	if err := o.Limits.check(); err != nil {
		return nil, err
	}
	if o.Certificates != nil && (o.Directory == nil || o.Needs == nil) {
		return nil, errors.New("guard: Directory or Needs is missing")
	}
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Gate{opt: o, ledger: newLedger(o.Limits, o.Certificates == nil), logged: map[string]*logState{}}, nil
}

// Secure reports whether there is TLS.
func (g *Gate) Secure() bool { return g.opt.Certificates != nil }

// Timeout is how long a caller may take to be known, handshake included.
func (g *Gate) Timeout() time.Duration { return g.opt.Limits.Timeout }

// Credentials are those of a gRPC server behind the gate's Listener.
func (g *Gate) Credentials() credentials.TransportCredentials {
	if !g.Secure() {
		return &handshaker{insecure.NewCredentials(), g}
	}
	return &handshaker{credentials.NewTLS(g.opt.Certificates.Server(g.opt.RequireCertificate, "h2")), g}
}

// handshaker reports the result of its handshake to the connection.
type handshaker struct {
	credentials.TransportCredentials
	gate *Gate
}

// info is what calls know of their connection; nothing of TLS if there is none.
type info struct {
	credentials.TLSInfo
	conn *conn
}

func (h *handshaker) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, auth, err := h.TransportCredentials.ServerHandshake(raw)
	c, ok := raw.(*conn)
	if !ok {
		return secure, auth, err
	}
	if err != nil {
		h.gate.unshaken(c, err)
		return nil, nil, err
	}
	if !h.gate.Secure() {
		return secure, info{conn: c}, nil
	}
	t, ok := auth.(credentials.TLSInfo)
	if !ok {
		return nil, nil, fmt.Errorf("guard: a handshake returned %T", auth)
	}
	h.gate.shaken(c, &t.State)
	return secure, info{t, c}, nil
}

// shaken looks at the certificate of a new connection. If its name is a user's, the
// caller is known before it has called. If the users cannot be read, that does not
// count as a failure.
func (g *Gate) shaken(c *conn, s *tls.ConnectionState) {
	if certificate(s) == nil {
		return
	}
	who, err := g.caller(s, nil)
	if err != nil {
		return
	}
	if !who.isNode() {
		if _, err := who.User(); err != nil {
			c.blameless.Store(err.Kind == kv.KindUnavailable)
			return
		}
	}
	_ = g.settled(c, who) // if there is no slot, its first call fails
}

func (h *handshaker) Clone() credentials.TransportCredentials {
	return &handshaker{h.TransportCredentials.Clone(), h.gate}
}

// unshaken counts and logs a failed handshake. A connection that was closed before any
// byte is not a failure: it may check whether the port is open.
func (g *Gate) unshaken(c *conn, err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	c.failed()
	g.count(kv.KindUnauthenticated)
	g.logFailure("TLS handshake failed", c.place.from, "error", err)
}

// certificate is the caller's, verified; nil if it has shown none.
func certificate(s *tls.ConnectionState) *x509.Certificate {
	if len(s.VerifiedChains) == 0 {
		return nil
	}
	return s.VerifiedChains[0][0]
}

// Tap lets a call in, or not, when its headers have come. It is called by the
// goroutine that reads the connection, so it does nothing that takes long.
func (g *Gate) Tap(ctx context.Context, call *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx)
	var auth info
	if p != nil {
		auth, _ = p.AuthInfo.(info)
	}
	if auth.conn == nil {
		return ctx, refuse(unauthenticated("the connection does not use TLS", "use --tls-ca"))
	}
	if !g.Secure() {
		a := auth.conn.account("")
		if g.opt.Needs != nil && g.opt.Needs(call.FullMethodName) == NeedNode {
			a = nil // without TLS a node is not authenticated, and memory of callers must not limit it
		}
		return withCall(ctx, nil, a, auth.conn), nil
	}
	c, err := g.enter(&auth.State, call.Header, g.opt.Needs(call.FullMethodName), call.FullMethodName)
	err = g.settle(auth.conn, c, err, call.FullMethodName)
	if err != nil {
		return ctx, refuse(err)
	}
	return withCall(ctx, c, c.account, auth.conn), nil
}

// settle counts the result of a call, whose caller is c if it is authenticated, and
// returns an error if it must not go on.
func (g *Gate) settle(k *conn, c *Caller, err *kv.Error, what string) *kv.Error {
	if err == nil {
		err = g.settled(k, c)
		if err == nil {
			g.counted[letIn].Add(1)
			return nil
		}
	}
	g.count(err.Kind)
	switch err.Kind {
	case kv.KindUnauthenticated:
		k.failed()
		g.logFailure("authentication failed", k.place.from, "request", what, "error", err.Text)
	case kv.KindUnavailable, kv.KindResourceExhausted:
		k.blameless.Store(true)
		k.refused()
	case kv.KindPermissionDenied:
		_ = g.settled(k, c) // it is known, only it may not
		g.logFailure("request denied", k.place.from, "request", what, "error", err.Text)
	}
	return err
}

// settled says who the caller of a connection is, and gives it its account.
func (g *Gate) settled(k *conn, c *Caller) *kv.Error {
	if !c.isNode() {
		c.account = k.account(c.Name())
	}
	return k.knows(c)
}

func (g *Gate) count(k kv.Kind) {
	switch k {
	case kv.KindUnauthenticated:
		g.counted[failed].Add(1)
	case kv.KindPermissionDenied:
		g.counted[denied].Add(1)
	case kv.KindUnavailable, kv.KindResourceExhausted:
		g.counted[unavailable].Add(1)
	}
}

// refuse makes a gRPC error.
func refuse(e *kv.Error) error {
	d := detail.Of(e)
	switch e.Kind {
	case kv.KindUnauthenticated:
		d.Code = uint32(codes.Unauthenticated)
	case kv.KindPermissionDenied:
		d.Code = uint32(codes.PermissionDenied)
	case kv.KindResourceExhausted:
		d.Code = uint32(codes.ResourceExhausted)
	default:
		d.Code = uint32(codes.Unavailable)
	}
	return detail.Status(d)
}

// enter finds out who calls, and whether it may. The caller is given also if it is
// known and denied.
func (g *Gate) enter(s *tls.ConnectionState, header metadata.MD, need Need, what string) (*Caller, *kv.Error) {
	c, err := g.caller(s, header.Get("authorization"))
	if err != nil {
		return nil, err
	}
	switch {
	case need == NeedNode && c.isNode():
		return c, nil
	case c.isNode():
		return c, &kv.Error{Kind: kv.KindPermissionDenied, Op: -1,
			Text: "the certificate of a node is valid only for calls between nodes",
			Hint: "create one for a user: linchpin cert create-client NAME"}
	}
	// Who is refused as a user has been found to be one: what is denied, and not
	// unauthenticated, counts as known.
	u, err := c.User()
	if err != nil {
		return nil, err
	}
	if need == NeedNode {
		return c, &kv.Error{Kind: kv.KindPermissionDenied, Op: -1, Text: what + " is reserved for nodes",
			Hint: "the certificate of a node is created by: linchpin cert create-node"}
	}
	return c, u.CheckRole(need.role(), what)
}

// caller is who calls, by its token if it shows one, and else by its certificate.
// Whether there is such a user is not asked here.
func (g *Gate) caller(s *tls.ConnectionState, authorization []string) (*Caller, *kv.Error) {
	leaf := certificate(s)
	if g.opt.RequireCertificate && leaf == nil {
		// Over gRPC the handshake has refused that. HTTP has health checks without
		// authentication, so that its handshake cannot.
		return nil, unauthenticated("the caller sent no certificate, and this node does not accept a token alone",
			"use a certificate of the user: linchpin cert create-client NAME")
	}
	if len(authorization) > 0 {
		hash, ok := bearer(authorization)
		if !ok {
			return nil, unauthenticated("the authorization header does not contain a linchpin token",
				`send "authorization: Bearer TOKEN"`)
		}
		return &Caller{gate: g, hash: hash}, nil
	}
	if leaf != nil && leaf.Subject.CommonName != "" {
		return &Caller{gate: g, name: leaf.Subject.CommonName, until: leaf.NotAfter}, nil
	}
	return nil, unauthenticated("the caller sent neither a certificate nor a token",
		"use --tls-cert and --tls-key, or --token-file")
}

// bearer takes the token out of headers, of which there must be one.
func bearer(headers []string) (hash [32]byte, ok bool) {
	if len(headers) != 1 {
		return hash, false
	}
	scheme, text, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return hash, false
	}
	return users.HashToken(text)
}

// logEvery is the least time between two lines of one kind of failure.
const logEvery = time.Second

// logFailure logs a failure, unless one of its kind was logged within logEvery: failing
// clients must not fill the disk. The next line of the kind says how many were left out.
func (g *Gate) logFailure(text string, from netip.Prefix, args ...any) {
	now := g.opt.Now()
	g.mu.Lock()
	last := g.logged[text]
	if last == nil {
		last = &logState{}
		g.logged[text] = last
	} else if d := now.Sub(last.at); d >= 0 && d < logEvery { // the time of day may go back
		last.since++
		g.mu.Unlock()
		return
	}
	more := last.since
	last.at, last.since = now, 0
	g.mu.Unlock()
	args = append(args, "from", from.Addr())
	if more > 0 {
		args = append(args, "not_logged", more)
	}
	g.opt.Log.Warn(text, args...)
}

// Stats count what the gate has done since the start.
type Stats struct {
	// Open counts connections, Strangers those of them whose callers are not
	// known.
	Open, Strangers int
	// Refused counts connections that were closed, by why; Calls counts calls by
	// result.
	Refused, Calls map[string]uint64
	// Age is how old the table of users is.
	Age time.Duration
	// Memory is what callers have.
	Memory memory.Stats
}

// Stats returns what the gate has done.
func (g *Gate) Stats() Stats {
	s := Stats{Refused: map[string]uint64{}, Calls: map[string]uint64{}, Memory: g.opt.Budget.Stats()}
	s.Open, s.Strangers = g.ledger.counts()
	for r := range numRefusals {
		s.Refused[r.String()] = g.ledger.refused[r].Load()
	}
	for r := range numResults {
		s.Calls[r.String()] = g.counted[r].Load()
	}
	if g.opt.Directory != nil {
		s.Age = g.opt.Directory.Age()
	}
	return s
}
