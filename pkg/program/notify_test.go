package program

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
)

// supervisor listens where systemd would, at a path or an abstract address.
func supervisor(t *testing.T, name string) (received func() string) {
	t.Helper()
	t.Setenv("NOTIFY_SOCKET", name)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(60*time.Second)))
	return func() string {
		t.Helper()
		b := make([]byte, 4096)
		n, err := conn.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
}

// TestSystemdIsNotifiedOfServingAndStopping: until then, a service of
// Type=notify counts as starting.
func TestSystemdIsNotifiedOfServingAndStopping(t *testing.T) {
	dir, err := os.MkdirTemp("", "n") // the name of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{filepath.Join(dir, "s"), "@linchpin-test-" + filepath.Base(dir)} {
		received := supervisor(t, name)
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs bytes.Buffer
		code := make(chan int, 1)
		go func() {
			code <- run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
				[]string{"start", "--store", t.TempDir(), "--listen", "127.0.0.1:0", "--shards", "1"})
		}()
		require.Regexp(t, `^READY=1\nSTATUS=serving at 127\.0\.0\.1:\d+$`, received())
		interrupt()
		require.Equal(t, "STOPPING=1\nSTATUS=draining", received())
		require.Equal(t, cli.ExitOK, <-code, errs.String())
		require.NotContains(t, errs.String(), "systemd")
	}
}

// TestNotifyWithoutSocketIsReported: without systemd nothing is sent, and a failed notification ends
// nothing.
func TestNotifyWithoutSocketIsReported(t *testing.T) {
	var errs bytes.Buffer
	t.Setenv("NOTIFY_SOCKET", "")
	notify(&errs, "READY=1")
	require.Empty(t, errs.String())
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	notify(&errs, "READY=1")
	require.Contains(t, errs.String(), "cannot notify systemd")
}
