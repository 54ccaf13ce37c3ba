package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// people keeps users in memory (server.Directory).
type people struct {
	mu    sync.Mutex
	table users.Table
}

func (p *people) Users(context.Context) ([]*users.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.Users(), nil
}

func (p *people) Change(_ context.Context, change func(*users.Table) (*users.Table, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, err := change(&p.table)
	if err == nil {
		p.table = *next
	}
	return err
}

func TestUser(t *testing.T) {
	n := start(t)
	out := n.runSub(t, "user", "create", "alice", "--write", "orders/", "--read", "").ok(t)
	require.Contains(t, out, "alice  read all keys, write orders/  1\n")
	_, token, _ := strings.Cut(out, "token (shown once): ")
	_, is := users.HashToken(strings.TrimSpace(token))
	require.True(t, is, out)
	n.runSub(t, "user", "create", "alice").fails(t, 3, `user "alice" already exists`)
	n.runSub(t, "user", "create", "root").fails(t, 2, "reserved")
	n.runSub(t, "user", "create", "bob", "--token-ttl", "-1s").fails(t, 2, "--token-ttl is -1s")

	file := filepath.Join(t.TempDir(), "bob.token")
	out = n.runSub(t, "user", "create", "bob", "--monitor", "--out", file, "--token-ttl", "1h", "--output", "json").ok(t)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, out, strings.TrimSpace(string(raw)))
	bob := objects(t, out)[0]
	require.Equal(t, true, bob["monitor"])
	require.NotContains(t, bob, "token")
	require.Contains(t, bob["tokens"].([]any)[0], "expires")

	require.Contains(t, n.runSub(t, "user", "grant", "bob", "--write", "00ff", "--hex").ok(t), "bob   monitor, write 00ff")
	require.Contains(t, n.runSub(t, "user", "revoke", "bob", "--write", "00ff", "--hex", "--monitor").ok(t),
		"bob   read 00ff")
	n.runSub(t, "user", "revoke", "bob", "--read", "x").fails(t, 1, "has no grant to read")
	n.runSub(t, "user", "grant", "bob").fails(t, 2, "nothing to grant")
	n.runSub(t, "user", "grant", "eve", "--admin").fails(t, 1, `user "eve" does not exist`)

	require.Contains(t, n.runSub(t, "user", "rotate", "alice", "--keep", "1h").ok(t), "2, until 2")
	require.Contains(t, n.runSub(t, "user", "rotate", "alice", "--out", file).ok(t),
		"alice  read all keys, write orders/  1\n")
	next, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotEqual(t, raw, next)
	n.runSub(t, "user", "rotate", "alice", "--out", filepath.Join(file, "x")).fails(t, 2, "linchpin user rotate alice")

	require.Contains(t, n.runSub(t, "user", "create", "carol", "--no-token").ok(t), "carol  nothing  none\n")
	require.Len(t, objects(t, n.runSub(t, "user", "list", "--output", "json").ok(t)), 3)
	require.Contains(t, n.runSub(t, "user", "drop", "carol").ok(t), "carol")
	n.runSub(t, "user", "drop", "carol").fails(t, 1, "does not exist")
	require.Contains(t, n.runSub(t, "user", "whoami").ok(t), "root  admin  none\n")
}

// TestUsersAreCarried to another cluster, with what they may do and their tokens.
func TestUsersAreCarried(t *testing.T) {
	from, to := start(t), start(t)
	file := filepath.Join(t.TempDir(), "users")
	_, token, _ := strings.Cut(from.runSub(t, "user", "create", "alice", "--write", "orders/").ok(t),
		"token (shown once): ")
	from.runSub(t, "user", "create", "boss", "--admin", "--no-token").ok(t)
	require.Equal(t, "exported to "+file+"\n", from.runSub(t, "user", "export", file).ok(t))
	st, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(raw), strings.TrimSpace(token))
	from.runSub(t, "user", "export", file).fails(t, 2, "exists; choose another name")

	to.runSub(t, "user", "create", "carol", "--monitor").ok(t)
	out := to.runSub(t, "user", "import", file).ok(t)
	require.Contains(t, out, "alice  write orders/  1\n")
	require.Equal(t, out, to.runSub(t, "user", "import", file).ok(t), "twice is the same as once")
	require.Len(t, objects(t, to.runSub(t, "user", "list", "--output", "json").ok(t)), 3)

	to.runSub(t, "user", "grant", "alice", "--admin").ok(t)
	to.runSub(t, "user", "import", file).fails(t, 3, `user "alice" already exists`)
	require.Contains(t, to.runSub(t, "user", "import", file, "--replace").ok(t), "alice  write orders/  1\n")

	to.runSub(t, "user", "import", filepath.Join(file, "none")).fails(t, 2, "cannot be read")
	for _, text := range []string{"", "{}", "something else", `{"format":1,"users":[{"name":"root"}]}`, `{"format":2}`} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		to.runSub(t, "user", "import", file).fails(t, 2, "linchpin user export")
	}
	require.NoError(t, os.WriteFile(file, make([]byte, kv.MaxValueBytes+2), 0o600))
	to.runSub(t, "user", "import", file).fails(t, 2, "an export at most")
}

// runSub runs a command of a command.
func (n *node) runSub(t *testing.T, args ...string) ran {
	t.Helper()
	return run(t, "", append([]string{args[0], args[1], "--addr", n.addr}, args[2:]...)...)
}

func TestWhoCallsIsChecked(t *testing.T) {
	n := start(t)
	missing := filepath.Join(t.TempDir(), "none")
	n.run(t, "get", "--token-file", missing, "k").fails(t, 2, "needs TLS")
	n.run(t, "get", "--tls-ca", missing, "k").fails(t, 2, "the certificate cannot be read")
	n.run(t, "get", "--tls-cert", missing, "k").fails(t, 2, "only one of")
	n.run(t, "get", "--certs-dir", missing, "--user", "alice", "k").fails(t, 2, "none/ca.crt")
	t.Setenv("LINCHPIN_TOKEN", "x")
	n.run(t, "put", "k", "v").ok(t) // without TLS it is not sent
	dir := filepath.Join(t.TempDir(), "certs")
	run(t, "", "cert", "create-ca", "--certs-dir", dir).ok(t)
	r := n.run(t, "get", "--certs-dir", dir, "k")
	r.fails(t, 2, "LINCHPIN_TOKEN does not hold a token")
	t.Setenv("LINCHPIN_TOKEN", users.TokenText([32]byte{1}))
	r = n.run(t, "get", "--certs-dir", dir, "--timeout", "2s", "k")
	require.Equal(t, 4, r.code, "the node has no TLS")
	require.Equal(t, kv.KindUnavailable.String(), strings.Fields(r.errs)[1][:len("Unavailable")])
}

func TestCert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	cert := func(args ...string) ran {
		return run(t, "", append([]string{"cert", args[0], "--certs-dir", dir}, args[1:]...)...)
	}
	cert("create-client", "root").fails(t, 2, "linchpin cert")
	require.Equal(t, dir+"/ca.crt\n"+dir+"/ca.key\n", cert("create-ca").ok(t))
	require.Equal(t, dir+"/node.crt\n"+dir+"/node.key\n", cert("create-node", "localhost", "::1", "--lifetime",
		"48h").ok(t))
	cert("create-client", "root").ok(t)
	cert("create-client", "root").fails(t, 2, "already exists")
	cert("create-client", "root", "--overwrite").ok(t)
	cert("create-client").fails(t, 2, "too few")
	cert("create-client", "root", "--lifetime", "1s", "--overwrite").fails(t, 2, "the minimum is 1m")
	require.Regexp(t, `(?s)FILE +NAME +FOR +EXPIRES\nca.crt +linchpin CA +authority .*client.root.crt +root +- `+
		`.*node.crt +node +localhost, ::1 `, cert("list").ok(t))
	require.Len(t, objects(t, cert("list", "--output", "json").ok(t)), 3)
}
