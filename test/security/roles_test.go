package security

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// methodRoles are the roles that the methods require, independently of the implementation. "user" is any
// authenticated user.
var methodRoles = map[string]string{
	"KV/Execute": "user", "KV/Pipeline": "user", "KV/Transact": "user", "KV/Scan": "user", "KV/Outcome": "user",
	"KV/CreateSnapshot": "admin", "KV/DropSnapshot": "admin", "KV/ListSnapshots": "monitor",
	"Admin/Status": "user", "Admin/Types": "user", "Admin/WhoAmI": "user",
	"Admin/CancelTransaction": "admin", "Admin/Shards": "monitor", "Admin/HotKeys": "monitor",
	"Admin/Activity": "monitor", "Admin/SetHotRule": "admin", "Admin/SetHotMode": "admin",
	"Admin/CreateUser": "admin", "Admin/ListUsers": "admin", "Admin/GrantUser": "admin", "Admin/RevokeUser": "admin",
	"Admin/DropUser": "admin", "Admin/RotateToken": "admin",
	"Admin/ExportUsers": "admin", "Admin/ImportUsers": "admin",
	"Admin/Drain": "admin", "Admin/Reclaim": "admin", "Admin/LogLevels": "admin", "Admin/Debug": "admin",
	"Peer/Meet": "node", "Peer/Stream": "node", "Peer/Replicate": "node", "Peer/SendSnapshot": "node",
}

// TestEveryMethodNeedsItsRole calls each method of each service as each kind of caller.
func TestEveryMethodNeedsItsRole(t *testing.T) {
	c := start(t, 1, func(o *embed.Options) { o.Limits.Failures = 1000 }) // the default would block the test's address
	c.createUser("alice", admin.Rights{Grants: writes("")})
	c.createUser("watcher", admin.Rights{Monitor: true, Grants: reads("")}) // an empty message is a scan of all keys
	c.createUser("boss", admin.Rights{Admin: true})
	c.user("stranger") // a certificate without a user
	allowed := map[string][]string{"user": {"alice", "watcher", "boss", users.Root},
		"monitor": {"watcher", "boss", users.Root}, "admin": {"boss", users.Root}, "node": {users.Node}}
	seen := 0
	for _, desc := range []grpc.ServiceDesc{pb.KV_ServiceDesc, pb.Admin_ServiceDesc, peerpb.Peer_ServiceDesc} {
		for method, streams := range methodsOf(desc) {
			seen++
			name := desc.ServiceName[strings.LastIndexByte(desc.ServiceName, '.')+1:] + "/" + method
			require.Contains(t, methodRoles, name)
			for _, caller := range []string{"alice", "watcher", "boss", users.Root, users.Node, "stranger", ""} {
				if name == "Admin/Drain" && slices.Contains(allowed[methodRoles[name]], caller) {
					continue // it would stop the node: TestAdministratorDrains
				}
				code := call(t, c.dial(0, caller), "/"+desc.ServiceName+"/"+method, streams)
				refused := code == codes.PermissionDenied || code == codes.Unauthenticated
				ok := false
				for _, a := range allowed[methodRoles[name]] {
					ok = ok || a == caller
				}
				require.Equal(t, ok, !refused, "%s by %q: %v", name, caller, code)
				if caller == "" || caller == "stranger" {
					require.Equal(t, codes.Unauthenticated, code)
				}
			}
		}
	}
	require.Len(t, methodRoles, seen)
}

// TestAdministratorDrains: a draining node authenticates its callers until the end.
func TestAdministratorDrains(t *testing.T) {
	c := start(t, 1, nil)
	c.createUser("boss", admin.Rights{Admin: true})
	require.Equal(t, codes.OK, call(t, c.dial(0, "boss"), pb.Admin_Drain_FullMethodName, true))
	require.Equal(t, codes.OK, call(t, c.dial(0, "boss"), pb.Admin_LogLevels_FullMethodName, false))
	require.Equal(t, codes.Unavailable, call(t, c.dial(0, "boss"), pb.KV_Pipeline_FullMethodName, true))
}

func methodsOf(desc grpc.ServiceDesc) map[string]bool {
	all := map[string]bool{}
	for _, m := range desc.Methods {
		all[m.MethodName] = false
	}
	for _, s := range desc.Streams {
		all[s.StreamName] = true
	}
	return all
}

// call makes a call with an empty message and returns the code of the first response.
func call(t *testing.T, conn *grpc.ClientConn, method string, streams bool) codes.Code {
	t.Helper()
	ctx, cancel := context.WithCancel(proc.Context(t))
	defer cancel()
	if !streams {
		return status.Code(conn.Invoke(ctx, method, &pb.StatusRequest{}, &pb.StatusRequest{}))
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err == nil {
		err = s.SendMsg(&pb.StatusRequest{})
		if err == nil {
			err = s.CloseSend()
		}
		if rerr := s.RecvMsg(&pb.StatusRequest{}); rerr != nil {
			err = rerr
		}
	}
	return status.Code(err)
}

// TestGRPCServicesNeedAuthentication: also the services of gRPC itself and unknown methods.
func TestGRPCServicesNeedAuthentication(t *testing.T) {
	c := start(t, 1, nil)
	for _, method := range []string{"/grpc.health.v1.Health/Check",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/linchpin.v1.KV/NoSuchMethod", "/x/y"} {
		require.Equal(t, codes.Unauthenticated, call(t, c.dial(0, ""), method, false), method)
	}
	require.Equal(t, codes.OK, call(t, c.dial(0, users.Root), "/grpc.health.v1.Health/Check", false))
	require.Equal(t, codes.Unimplemented, call(t, c.dial(0, users.Root), "/linchpin.v1.KV/NoSuchMethod", false))
	c.createUser("alice", admin.Rights{})
	require.Equal(t, codes.OK, call(t, c.dial(0, "alice"), "/grpc.health.v1.Health/Check", false))
	require.Equal(t, codes.PermissionDenied, call(t, c.dial(0, "alice"), "/linchpin.v1.KV/NoSuchMethod", false),
		"unknown methods need the role admin")
}

func TestCertificatesMayBeRequired(t *testing.T) {
	c := start(t, 1, func(o *embed.Options) { o.RequireClientCert = true })
	token := c.createUser("alice", admin.Rights{Grants: writes("")})
	_, err := client.Open(proc.Context(t), []string{c.nodes[0].Addr()}, client.WithTLSFunc(c.config("")), withToken(token))
	require.Equal(t, kv.KindUnavailable, kv.KindOf(err), "%v", err)
	db := c.open(0, client.WithTLSFunc(c.config(users.Root)), withToken(token))
	u, err := admin.New(db).WhoAmI(proc.Context(t))
	require.NoError(t, err)
	require.Equal(t, "alice", u.Name, "a token has precedence over a certificate")

	// HTTP requires them too, except for health, because load balancers have none.
	boss := c.createUser("boss", admin.Rights{Admin: true})
	for _, q := range []struct {
		caller, path, token string
		want                int
	}{{"", "/metrics", boss, 401}, {"", "/debug/none", boss, 401}, {"", "/healthz", "", 200},
		{"alice", "/debug/none", boss, 404}, {"boss", "/metrics", "", 200}} {
		require.Equal(t, q.want, c.httpDo(q.caller, "GET", q.path, func(r *http.Request) {
			if q.token != "" {
				r.Header.Set("Authorization", "Bearer "+q.token)
			}
		}).StatusCode, "%v", q)
	}
}

// httpDo sends a request to the first node over HTTP. The body of the response is not read.
func (c *cluster) httpDo(caller, method, path string, set func(*http.Request)) *http.Response {
	c.t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config(caller)(), DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(proc.Context(c.t), method, "https://"+c.nodes[0].HTTPAddr()+path, nil)
	require.NoError(c.t, err)
	if set != nil {
		set(r)
	}
	resp, err := web.Do(r)
	require.NoError(c.t, err)
	require.NoError(c.t, resp.Body.Close())
	return resp
}

func TestTokenIsNotSentWithoutTLS(t *testing.T) {
	_, err := client.Open(proc.Context(t), []string{"127.0.0.1:1"}, withToken("x"))
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	require.ErrorContains(t, err, "an API token needs TLS")
}

// TestHTTPNeedsRoles: all paths except health and readiness require a role.
func TestHTTPNeedsRoles(t *testing.T) {
	c := start(t, 1, nil)
	watcher, alice := c.createUser("watcher", admin.Rights{Monitor: true}),
		c.createUser("alice", admin.Rights{Grants: writes("")})
	get := func(caller, path, method string, set func(*http.Request)) int {
		resp := c.httpDo(caller, method, path, set)
		if resp.StatusCode == http.StatusUnauthorized {
			require.Contains(t, resp.Header.Get("WWW-Authenticate"), "Basic")
		}
		return resp.StatusCode
	}
	basic := func(user, token string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, token) }
	}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	for _, q := range []struct {
		name, caller, path, method string
		set                        func(*http.Request)
		want                       int
	}{
		{"health needs no role", "", "/healthz", "GET", nil, 200},
		{"readiness neither", "", "/readyz", "GET", nil, 200},
		{"metrics need one", "", "/metrics", "GET", nil, 401},
		{"a monitor by certificate", "watcher", "/metrics", "GET", nil, 200},
		{"a monitor by token", "", "/metrics", "GET", bearer(watcher), 200},
		{"a monitor by password", "", "/metrics", "GET", basic("watcher", watcher), 200},
		{"the name of another user", "", "/metrics", "GET", basic("alice", watcher), 401},
		{"a wrong token", "", "/metrics", "GET", bearer(users.TokenText([32]byte{1})), 401},
		{"not a token", "", "/metrics", "GET", basic("watcher", "secret"), 401},
		{"a user without the role", "", "/metrics", "GET", bearer(alice), 403},
		{"a node", users.Node, "/metrics", "GET", nil, 403},
		{"debug paths, as monitor", "watcher", "/debug/pprof/", "GET", nil, 403},
		{"debug paths, as administrator", users.Root, "/debug/none", "GET", nil, 404},
		{"a POST, as monitor", "watcher", "/metrics", "POST", nil, 403},
		{"an unknown path", "", "/none", "GET", nil, 401},
	} {
		require.Equal(t, q.want, get(q.caller, q.path, q.method, q.set), q.name)
	}
	clear := &http.Client{Timeout: proc.WaitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := clear.Get("http://" + c.nodes[0].HTTPAddr() + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadRequest, resp.StatusCode, "health needs TLS too")
}

// TestWithoutTLSOnlyLoopback: without TLS a node listens on the loopback only, unless --insecure is set.
func TestWithoutTLSOnlyLoopback(t *testing.T) {
	for _, o := range []embed.Options{{Listen: "0.0.0.0:0"}, {Listen: "[::]:0"}, {Listen: "192.0.2.1:0"},
		{Listen: "127.0.0.1:0", HTTP: "0.0.0.0:0"}} {
		o.Dir = t.TempDir()
		_, err := embed.Start(proc.Context(t), o)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
		require.ErrorContains(t, err, "--insecure")
	}
	a := newAuthority(t)
	_, err := embed.Start(proc.Context(t), embed.Options{Dir: t.TempDir(),
		Security: embed.Security{Insecure: true, TLS: a.nodes()}})
	require.ErrorContains(t, err, "TLS and --insecure exclude each other")
	_, err = embed.Start(proc.Context(t), embed.Options{Dir: t.TempDir(),
		Security: embed.Security{RequireClientCert: true}})
	require.ErrorContains(t, err, "TLS is off")
}

// TestCommandsReachAllNodes: the calls to other nodes are authenticated too.
func TestCommandsReachAllNodes(t *testing.T) {
	c := start(t, 2, nil)
	for _, command := range []string{"shards", "status", "hot", "waits", "receipts"} {
		var out, errs bytes.Buffer
		root := cli.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		require.Equal(t, 0, cli.Main(proc.Context(t), root,
			[]string{command, "--addr", c.nodes[0].Addr(), "--certs-dir", c.Dir}), errs.String())
		require.NotContains(t, errs.String(), "does not respond")
	}
}
