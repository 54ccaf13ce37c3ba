package security

import (
	"context"
	"crypto/tls"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// authority is a directory of certificates.
type authority struct {
	t testing.TB
	*certs.Maker
}

// newAuthority creates an authority with the certificates of a node and of root.
func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t, &certs.Maker{Dir: filepath.Join(t.TempDir(), "certs")}}
	_, err := a.CreateCA()
	require.NoError(t, err)
	_, err = a.CreateNode("127.0.0.1")
	require.NoError(t, err)
	a.user(users.Root)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.Dir, name) }

func (a *authority) user(name string) {
	a.t.Helper()
	_, err := a.CreateClient(name)
	require.NoError(a.t, err)
}

// nodes returns the certificate files of a node.
func (a *authority) nodes() certs.Files {
	return certs.Files{Cert: a.file(certs.NodeFile), Key: a.file(certs.NodeKey), CA: a.file(certs.CAFile)}
}

// config returns the TLS configuration of a user, without a certificate if the name is empty.
func (a *authority) config(name string) func() *tls.Config {
	a.t.Helper()
	files := certs.Files{CA: a.file(certs.CAFile)}
	if name == users.Node {
		files = a.nodes()
	} else if name != "" {
		files.Cert, files.Key = a.file(certs.ClientFile(name)), a.file(certs.ClientKey(name))
	}
	k, err := certs.Open(certs.Options{Files: files, Every: -1})
	require.NoError(a.t, err)
	k.Close()
	return k.Client
}

// cluster is a cluster in this process.
type cluster struct {
	*authority
	nodes []*embed.Instance
}

// start starts n nodes. change, unless nil, modifies their options.
func start(t testing.TB, n int, change func(*embed.Options)) *cluster {
	t.Helper()
	c := &cluster{authority: newAuthority(t), nodes: make([]*embed.Instance, n)}
	join := ""
	var addrs []string
	for i := range n {
		addrs = append(addrs, proc.FreeAddr(t))
		join += map[bool]string{true: ","}[i > 0] + addrs[i]
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		opt := embed.Options{Dir: t.TempDir(), Listen: addrs[i], Join: join, HTTP: "127.0.0.1:0", Shards: 3,
			CacheBytes: 8 << 20, TLS: c.authority.nodes()}
		if change != nil {
			change(&opt)
		}
		all.Go(func() { c.nodes[i], errs[i] = embed.Start(proc.Context(t), opt) })
	}
	all.Wait()
	t.Cleanup(func() {
		var stops sync.WaitGroup
		for _, i := range c.nodes {
			if i != nil {
				stops.Go(func() {
					if err := i.Stop(); err != nil {
						t.Error(err)
					}
				})
			}
		}
		stops.Wait()
	})
	require.NoError(t, errors.Join(errs...))
	root := c.admin(0, users.Root)
	retryUntilOK(t, func() error {
		s, err := root.Status(proc.Context(t))
		if err != nil {
			return err
		}
		for _, m := range s.Members {
			if !m.Up {
				return kv.Errorf(kv.KindUnavailable, "member %d is not up", m.Node)
			}
		}
		return nil
	})
	return c
}

// openAs opens a client of a node with a user's certificate.
func (c *cluster) openAs(node int, name string) *client.DB {
	c.t.Helper()
	return c.open(node, client.WithTLSFunc(c.config(name)))
}

// admin opens an admin client of a node with a user's certificate.
func (c *cluster) admin(node int, name string) *admin.Admin {
	c.t.Helper()
	return admin.New(c.openAs(node, name))
}

// openWithToken opens a client of a node with a token.
func (c *cluster) openWithToken(node int, token string) *client.DB {
	c.t.Helper()
	return c.open(node, client.WithTLSFunc(c.config("")), withToken(token))
}

// withToken authenticates a client with a token.
func withToken(token string) client.Option {
	return client.WithAPIToken(func(context.Context) (string, error) { return token, nil })
}

func (c *cluster) open(node int, opts ...client.Option) *client.DB {
	c.t.Helper()
	var db *client.DB
	// A new user becomes known to all nodes within a moment.
	retryUntilOK(c.t, func() (err error) {
		db, err = client.Open(proc.Context(c.t), []string{c.nodes[node].Addr()}, opts...)
		return err
	})
	c.t.Cleanup(func() { require.NoError(c.t, db.Close()) })
	return db
}

// dial opens a gRPC connection, for calls that the client does not make.
func (c *cluster) dial(node int, name string) *grpc.ClientConn {
	c.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+c.nodes[node].Addr(),
		grpc.WithTransportCredentials(credentials.NewTLS(c.config(name)())), codec.DialOption())
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, conn.Close()) })
	return conn
}

// createUser creates a user with a certificate and a token, and returns the token.
func (c *cluster) createUser(name string, rights admin.Rights) string {
	c.t.Helper()
	c.user(name)
	_, token, err := c.admin(0, users.Root).CreateUser(proc.Context(c.t), name, rights, admin.TokenOptions{})
	require.NoError(c.t, err)
	return token
}

// retryUntilOK calls try until it returns no error.
func retryUntilOK(t testing.TB, try func() error) {
	t.Helper()
	var err error
	proc.Until(t, "the call succeeds", func(context.Context) bool {
		err = try()
		return err == nil
	}, func() string { return err.Error() })
}

// requireDenied requires an error of kind PermissionDenied with a text.
func requireDenied(t testing.TB, err error, text string) {
	t.Helper()
	require.Equal(t, kv.KindPermissionDenied, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}

func reads(prefixes ...string) (gs []admin.Grant) {
	for _, p := range prefixes {
		gs = append(gs, admin.Grant{Prefix: p})
	}
	return gs
}

func writes(prefixes ...string) (gs []admin.Grant) {
	for _, p := range prefixes {
		gs = append(gs, admin.Grant{Prefix: p, Write: true})
	}
	return gs
}

func b(s string) []byte { return []byte(s) }
