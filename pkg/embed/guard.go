package embed

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/users"
)

// guard reads the certificates, and makes the gate. The directory of users begins
// to ask before there is a store to be asked, which answers when there is.
func (i *Instance) guard() error {
	i.users = &userStore{ready: make(chan struct{})}
	dir := guard.DirectoryOptions{Store: i.users, Log: i.opt.log(logs.Security), Stopping: i.drain.begun}
	if i.opt.TLS.Given() {
		var err error
		i.certificates, err = certs.Open(certs.Options{Files: i.opt.TLS, Server: true, Log: i.opt.log(logs.Security)})
		if err != nil {
			return err
		}
	} else {
		dir.Every = -1          // it authenticates no caller
		level := slog.LevelInfo // the node can be called from this machine only
		if i.opt.Insecure {
			level = slog.LevelWarn
		}
		i.opt.log(logs.Security).Log(context.Background(), level,
			"no TLS: traffic is unencrypted, and every client has full access without authentication")
	}
	i.directory = guard.NewDirectory(dir)
	var err error
	i.gate, err = guard.New(guard.Options{Certificates: i.certificates, RequireCertificate: i.opt.RequireClientCert,
		Directory: i.directory,
		Needs:     server.Needs, Limits: i.opt.Limits, Budget: i.callers, Log: i.opt.log(logs.Security)})
	return err
}

// isOpen reports whether addresses beyond the loopback are allowed.
func (i *Instance) isOpen() bool { return i.opt.Insecure || i.certificates != nil }

// peerTLS is how other nodes are called; nil without TLS.
func (i *Instance) peerTLS() func() *tls.Config {
	if i.certificates == nil {
		return nil
	}
	return i.certificates.Peer
}

// ask is how other nodes are asked at meetings; nil is the way without TLS.
func (i *Instance) ask() membership.CallFunc {
	if i.certificates == nil {
		return nil
	}
	return membership.CallOverTLS(i.certificates.Peer)
}

// guardOptions are the gate's for the gRPC server.
func (i *Instance) guardOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ConnectionTimeout(i.gate.Timeout()), grpc.Creds(i.gate.Credentials()),
		grpc.InTapHandle(i.gate.Tap)}
}

// webNeeds says what requests over HTTP want of their callers: health checks
// nothing, and what looks at the cluster a monitor. What changes something, and
// what looks into the process, is for administrators.
func webNeeds(r *http.Request) guard.Need {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead, strings.HasPrefix(r.URL.Path, "/debug/"):
		return guard.NeedAdmin
	case r.URL.Path == "/healthz", r.URL.Path == "/readyz":
		return guard.NeedNothing
	}
	return guard.NeedMonitor
}

// userStore keeps the table of users under a key of the cluster
// (guard.Store).
type userStore struct {
	once sync.Once
	// ready is closed when there is a gateway.
	ready   chan struct{}
	gateway *gateway.Gateway
}

// serve says that there is a gateway now.
func (s *userStore) serve(g *gateway.Gateway) {
	s.once.Do(func() {
		s.gateway = g
		close(s.ready)
	})
}

// execute runs an operation when there is a gateway.
func (s *userStore) execute(ctx context.Context, op msg.Op) (msg.Result, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return msg.Result{}, server.NotReady()
	}
	until, _ := ctx.Deadline()
	r := s.gateway.Execute(ctx, gateway.Request{Ops: []msg.Op{op}, Deadline: until, Internal: true})
	if r.Err != nil {
		return msg.Result{}, r.Err
	}
	if len(r.Results) != 1 {
		return msg.Result{}, kv.Errorf(kv.KindInternal, "reading the table of users returned %d results", len(r.Results))
	}
	return r.Results[0], nil
}

// Load implements guard.Store.
func (s *userStore) Load(ctx context.Context) ([]byte, kv.Version, error) {
	r, err := s.execute(ctx, msg.Op{Kind: msg.OpGet, Key: []byte(users.TableKey)})
	if err != nil || !r.Found {
		return nil, kv.Version{}, err
	}
	return r.Value, r.Version, nil
}

// Save implements guard.Store.
func (s *userStore) Save(ctx context.Context, table []byte, old kv.Version) error {
	op := msg.Op{Kind: msg.OpPut, Key: []byte(users.TableKey), Value: table, Expect: msg.ExpectVersion, ExpectVersion: old}
	if old.IsZero() {
		op.Expect = msg.ExpectAbsent
	}
	_, err := s.execute(ctx, op)
	return err
}

// watchGuard exports the metrics of the gate and of the certificates, which are nil without TLS.
func watchGuard(m *metrics.Node, gate *guard.Gate, certificates *certs.Reloader, memoryBudget int64) {
	m.WatchGuard(func() metrics.GuardStats {
		s := metrics.GuardStats{Stats: gate.Stats(), MemoryBudget: memoryBudget}
		if certificates != nil {
			k := certificates.Stats()
			s.Certificates = &k
		}
		return s
	})
}

// userName is the name of the user with an account, as far as the directory knows it.
func (i *Instance) userName(a kv.Account) string {
	if i.directory == nil {
		return ""
	}
	table, err := i.directory.Table(time.Now())
	if err != nil || table == nil {
		return ""
	}
	for _, u := range table.Users() {
		if kv.AccountOf(u.Name) == a {
			return u.Name
		}
	}
	return ""
}
