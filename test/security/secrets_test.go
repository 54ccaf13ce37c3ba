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

// process starts a real node with certificates.
func process(t *testing.T) (*authority, *proc.Node, string) {
	t.Helper()
	a, addr := newAuthority(t), proc.FreeAddr(t)
	n := proc.NewNode(t, "node", filepath.Join(t.TempDir(), "store"), "--listen", addr, "--http", proc.FreeAddr(t),
		"--certs-dir", a.Dir, "--shards", "2", "--cache-mb", "16")
	n.Start(t)
	return a, n, addr
}

// TestNoSecretIsShown: by programs that are given one, in what they write, in the
// list of processes, and by the node in its log and its store.
func TestNoSecretIsShown(t *testing.T) {
	a, n, addr := process(t)
	file := filepath.Join(t.TempDir(), "alice.token")
	who := []string{"--addr", addr, "--certs-dir", a.Dir}
	run := func(want int, args ...string) string {
		r := proc.Linchpin(t, args...)
		require.Equal(t, want, r.Code, "%v: %s%s", args, r.Out, r.Err)
		return r.Out + r.Err
	}
	shown := run(0, append([]string{"user", "create", "alice", "--write", "orders/", "--out", file}, who...)...)
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
	shown += run(0, append([]string{"put", "orders/1", "x"}, alice...)...)
	shown += run(8, append([]string{"put", "other", "x"}, alice...)...)
	shown += run(0, append([]string{"user", "list", "--output", "json"}, who...)...)
	shown += run(0, append([]string{"user", "whoami"}, alice...)...)
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte(token+"x"), 0o600))
	shown += run(2, "get", "k", "--addr", addr, "--tls-ca", a.file(certs.CAFile), "--token-file", bad)
	t.Setenv(identity.TokenVariable, token)
	shown += run(0, "get", "orders/1", "--addr", addr, "--tls-ca", a.file(certs.CAFile))

	// A program that lives long enough to be looked at.
	ctx, stop := context.WithCancel(soon(t))
	load := exec.CommandContext(ctx, proc.Build(t).Linchpin, append([]string{"txn", "-"}, alice...)...)
	in, err := load.StdinPipe() // it waits for more
	require.NoError(t, err)
	var said bytes.Buffer
	load.Stdout, load.Stderr = &said, &said
	require.NoError(t, load.Start())
	for _, pid := range []int{load.Process.Pid, n.PID()} {
		require.NotContains(t, commandLine(t, pid), token)
	}
	require.NoError(t, in.Close())
	stop()
	_ = load.Wait() // it was ended
	shown += said.String()
	shown += n.Output.String()
	require.Equal(t, 0, n.Stop(t))
	shown += n.Output.String()
	for what, secret := range map[string]string{"the token": token[len("linchpin_"):], "the key": strings.Split(strings.TrimSpace(string(key)), "\n")[1]} {
		require.NotContains(t, shown, secret, what)
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

// commandLine is what everybody sees of a process. The kernel shows nothing for a
// moment after the program was started.
func commandLine(t *testing.T, pid int) string {
	t.Helper()
	var line []byte
	eventually(t, func() (err error) {
		line, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(line) == 0 {
			err = fmt.Errorf("process %d shows no command line", pid)
		}
		return err
	})
	return string(line)
}

// TestCertificatesAreReloaded without a restart, and connections stay.
func TestCertificatesAreReloaded(t *testing.T) {
	a, n, addr := process(t)
	db, err := client.Open(soon(t), []string{addr}, client.WithTLSFunc(a.config(users.Root)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	serial := func() string {
		c, err := tls.Dial("tcp", addr, with(a.config(users.Root)(), "h2"))
		require.NoError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	a.Overwrite = true
	_, err = a.CreateNode("127.0.0.1")
	require.NoError(t, err)
	eventually(t, func() error {
		if serial() == before {
			return fmt.Errorf("it shows the old certificate")
		}
		return nil
	})
	taken := serial()
	require.NoError(t, os.WriteFile(a.file(certs.NodeFile), []byte("broken"), 0o644))
	eventually(t, func() error {
		if !strings.Contains(n.Output.String(), "new certificates rejected; the previous ones stay in use") {
			return fmt.Errorf("it has not noticed")
		}
		return nil
	})
	require.Equal(t, taken, serial())
	require.NoError(t, db.Put(soon(t), "k", nil))
}

func with(c *tls.Config, protocol string) *tls.Config {
	c.NextProtos = []string{protocol}
	return c
}
