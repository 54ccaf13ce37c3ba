package proc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client"
)

// Context returns a context for calls that normally take milliseconds.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// Keys returns n keys. If n is 12 or more, each of three nodes most likely has some of them.
func Keys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key/%03d", i))
	}
	return keys
}

// FaultCount returns the number of faults that a test injects: usual, half of it in a short run, or the value of
// LINCHPIN_FAULTS.
func FaultCount(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("LINCHPIN_FAULTS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return (usual + 1) / 2
	}
	return usual
}

// NewSingle prepares a cluster of one node on a directory.
func NewSingle(t testing.TB, dir string, args ...string) *Node {
	t.Helper()
	listen, http := FreeAddr(t), FreeAddr(t)
	args = append([]string{"--listen", listen, "--http", http, "--shards", "3", "--cache-mb", "16"}, args...)
	n := NewNode(t, "single", dir, args...)
	n.Listen, n.HTTP, n.Addr = listen, http, listen
	return n
}

// Exec runs linchpin, and returns its exit code and its output. Any goroutine may call it: if the program
// cannot be run, the code is -1, and the test does not end.
func Exec(t testing.TB, args ...string) (code int, out string) {
	t.Helper()
	program := Build(t).Linchpin // the first call takes long
	ctx, cancel := context.WithTimeout(context.Background(), 2*WaitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	raw, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), string(raw)
}

// Get requests a path of the HTTP server of the node. The status is 0 if there is an error.
func (n *Node) Get(ctx context.Context, path string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, string(raw), nil
}

// Hold begins a transaction that acquires locks by lock, and keeps them until commit is called, which returns
// how the transaction ended. It fails the test if the transaction ends before it holds the locks.
func Hold(t testing.TB, db *client.DB,
	lock func(context.Context, *client.Tx) error) (id client.TxID, commit func() error) {
	t.Helper()
	held, release, ended := make(chan client.TxID, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
			if err := lock(ctx, tx); err != nil {
				return err
			}
			select {
			case held <- tx.ID():
			default: // a later attempt
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	select {
	case id = <-held:
	case err := <-ended:
		t.Fatalf("the transaction ended before it held its locks: %v", err)
	}
	return id, func() error {
		close(release)
		return <-ended
	}
}
