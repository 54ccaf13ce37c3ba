package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// startSecureNode starts a node process with certificates.
func startSecureNode(t *testing.T) (*authority, *proc.Node, string) {
	t.Helper()
	a := newAuthority(t)
	n := proc.NewSingle(t, filepath.Join(t.TempDir(), "store"), "--certs-dir", a.Dir)
	n.Start(t)
	return a, n, n.Addr
}

// TestSecretsAreNotDisclosed: neither in the output or the command line of programs that use them, nor in
// the log or the store of the node.
func TestSecretsAreNotDisclosed(t *testing.T) {
	a, n, addr := startSecureNode(t)
	file := filepath.Join(t.TempDir(), "alice.token")
	connection := []string{"--addr", addr, "--certs-dir", a.Dir}
	run := func(want int, args ...string) string {
		r := proc.Linchpin(t, args...)
		require.Equal(t, want, r.Code, "%v: %s%s", args, r.Out, r.Err)
		return r.Out + r.Err
	}
	visible := run(0, append([]string{"user", "create", "alice", "--write", "orders/", "--out", file}, connection...)...)
	st, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	token := strings.TrimSpace(string(raw))
	_, is := users.HashToken(token)
	require.True(t, is)
	key, err := os.ReadFile(a.file(certs.NodeKey))
	require.NoError(t, err)
	block, _ := pem.Decode(key)
	require.NotNil(t, block)

	alice := []string{"--addr", addr, "--tls-ca", a.file(certs.CAFile), "--token-file", file}
	visible += run(0, append([]string{"put", "orders/1", "x"}, alice...)...)
	visible += run(8, append([]string{"put", "other", "x"}, alice...)...)
	visible += run(0, append([]string{"user", "list", "--output", "json"}, connection...)...)
	visible += run(0, append([]string{"user", "whoami"}, alice...)...)
	invalid := filepath.Join(t.TempDir(), "invalid")
	require.NoError(t, os.WriteFile(invalid, []byte(token+"x"), 0o600))
	visible += run(2, "get", "k", "--addr", addr, "--tls-ca", a.file(certs.CAFile), "--token-file", invalid)
	t.Setenv(identity.TokenVariable, token)
	visible += run(0, "get", "orders/1", "--addr", addr, "--tls-ca", a.file(certs.CAFile))

	// A program that runs long enough to be inspected.
	ctx, stop := context.WithCancel(proc.Context(t))
	load := exec.CommandContext(ctx, proc.Build(t).Linchpin, append([]string{"txn", "-"}, alice...)...)
	in, err := load.StdinPipe() // it waits for input
	require.NoError(t, err)
	var output bytes.Buffer
	load.Stdout, load.Stderr = &output, &output
	require.NoError(t, load.Start())
	for _, pid := range []int{load.Process.Pid, n.PID()} {
		require.NotContains(t, commandLine(t, pid), token)
	}
	require.NoError(t, in.Close())
	stop()
	_ = load.Wait() // it was ended
	visible += output.String()
	visible += n.Output.String()
	require.Equal(t, 0, n.Stop(t))
	visible += n.Output.String()
	for what, secret := range map[string]string{"the token": token[len("linchpin_"):],
		"the key": strings.Split(strings.TrimSpace(string(key)), "\n")[1]} {
		require.NotContains(t, visible, secret, what)
	}
	require.NoError(t, filepath.WalkDir(n.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		stored, err := os.ReadFile(path)
		require.NotContains(t, string(stored), token[len("linchpin_"):], path)
		return err
	}))
}

// commandLine returns the command line of a process that all users can read. It is empty for a moment after
// the start of the program.
func commandLine(t *testing.T, pid int) string {
	t.Helper()
	var line []byte
	retryUntilOK(t, func() (err error) {
		line, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(line) == 0 {
			err = fmt.Errorf("process %d has no command line", pid)
		}
		return err
	})
	return string(line)
}

// TestCertificatesAreReloaded without a restart; connections stay open.
func TestCertificatesAreReloaded(t *testing.T) {
	a, n, addr := startSecureNode(t)
	db, err := client.Open(proc.Context(t), []string{addr}, client.WithTLSFunc(a.config(users.Root)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	serial := func() string {
		c, err := tls.Dial("tcp", addr, withProtocol(a.config(users.Root)(), "h2"))
		require.NoError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	a.Overwrite = true
	_, err = a.CreateNode("127.0.0.1")
	require.NoError(t, err)
	retryUntilOK(t, func() error {
		if serial() == before {
			return fmt.Errorf("the node uses the old certificate")
		}
		return nil
	})
	current := serial()
	require.NoError(t, os.WriteFile(a.file(certs.NodeFile), []byte("broken"), 0o644))
	retryUntilOK(t, func() error {
		if !strings.Contains(n.Output.String(), "new certificates rejected; the previous ones stay in use") {
			return fmt.Errorf("the node has not detected it")
		}
		return nil
	})
	require.Equal(t, current, serial())
	require.NoError(t, db.Put(proc.Context(t), "k", nil))
}

func withProtocol(c *tls.Config, protocol string) *tls.Config {
	c.NextProtos = []string{protocol}
	return c
}
