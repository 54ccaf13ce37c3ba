package integration

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// TestDrainLosesNothing drains each node in turn under load of every kind, without retries. Transactions that
// run or begin meanwhile do not delay the drain up to its limit. They fail only with Unavailable or Aborted, never
// with an unknown outcome; every acknowledged one is applied; and the shards have shut down cleanly.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1, Args: torture.HotKeyArgs()})
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 7, NoRetry: true, Timeout: proc.WaitTimeout})
	for i, n := range c.Nodes() {
		run.Await(t, 200)
		if i < 2 { // twice by the command, then by a signal
			code, out := proc.Exec(t, "drain", "--addr", n.Addr)
			require.Equal(t, cli.ExitOK, code, out)
			require.Contains(t, out, "stopping")
			require.Contains(t, out, "the node has stopped")
			require.Equal(t, cli.ExitOK, n.Wait(t))
		} else {
			require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
		}
		n.AwaitOutput(t, "drain finished")
		require.False(t, n.HasWritten("drain timed out"), n.Output)
		n.Start(t)
		n.AwaitOutput(t, "shards recovered")
		c.WaitConnected(t)
	}
	run.Await(t, 200)
	run.Finish(t)
	ended := run.Counts()
	require.Zero(t, ended.Unknown)
	require.Positive(t, ended.Unavailable, "some transactions ran during a drain")
	for _, n := range c.Nodes() {
		text := n.Output.String()
		text = text[strings.LastIndex(text, "shards recovered"):]
		text, _, _ = strings.Cut(text, "\n")
		var shards, clean int
		_, err := fmt.Sscanf(text[strings.Index(text, "shards="):], "shards=%d clean_shutdowns=%d", &shards, &clean)
		require.NoError(t, err, text)
		require.Equal(t, shards, clean, "the shards of a drained node have shut down cleanly")
	}
}

// TestDrainWaitsForOpenTransactions: readiness is red at once, new transactions are rejected, and an open
// interactive transaction commits, also on shards of other nodes.
func TestDrainWaitsForOpenTransactions(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1, Args: torture.HotKeyArgs()})
	n := c.Node(0)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	other := proc.Open(t, []string{c.Node(1).Addr}).With(client.NoRetry())
	ctx := proc.Context(t)
	status, _, err := n.Get(ctx, "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	// A gateway that does not know the incarnation of a shard yet aborts the first transaction that only
	// writes there. Without retries that would fail the test, so use every shard once.
	for _, d := range []*client.DB{db, other} {
		for i := range 8 {
			mine, others := fmt.Sprintf("mine%d", i), fmt.Sprintf("others%d", i)
			require.NoError(t, d.Execute(ctx, client.PutOp(mine, []byte("before")), client.PutOp(others, []byte("before"))))
		}
	}
	type drained struct {
		code int
		out  string
	}
	done := make(chan drained, 1)
	err = db.Update(ctx, func(txCtx context.Context, tx *client.Tx) error {
		return other.Update(ctx, func(acrossCtx context.Context, across *client.Tx) error {
			// Puts are buffered: only a read begins the transaction on the node.
			if _, _, err := tx.Get(txCtx, "begins"); err != nil {
				return err
			}
			for i := range 8 {
				if err := tx.Put(txCtx, fmt.Sprintf("mine%d", i), []byte("x")); err != nil {
					return err
				}
				if _, _, err := across.GetForUpdate(acrossCtx, fmt.Sprintf("others%d", i)); err != nil {
					return err
				}
				if err := across.Put(acrossCtx, fmt.Sprintf("others%d", i), []byte("x")); err != nil {
					return err
				}
			}
			go func() {
				code, out := proc.Exec(t, "drain", "--addr", n.Addr, "--limit", "30s")
				done <- drained{code, out}
			}()
			n.AwaitOutput(t, "drain started")
			proc.Until(t, "the node is not ready", func(context.Context) bool {
				status, _, err := n.Get(ctx, "/readyz")
				return err == nil && status == http.StatusServiceUnavailable
			}, func() string { return "" })
			proc.Until(t, "the node reports that it drains", func(context.Context) bool {
				_, err := admin.New(proc.Open(t, []string{c.Node(1).Addr})).Status(ctx)
				require.NoError(t, err, "other nodes serve")
				code, out := proc.Exec(t, "health", "--addr", n.Addr)
				return code == cli.ExitUnavailable && strings.Contains(out, "draining")
			}, func() string { return "" })
			proc.WaitStatus(t, c.Node(1), func(s *admin.Status) bool {
				return slices.ContainsFunc(s.Members, func(m admin.Member) bool { return m.Draining && m.Address == n.Addr })
			})
			select {
			case d := <-done:
				return fmt.Errorf("the drain did not wait: %s", d.out)
			default:
			}
			return nil
		})
	})
	require.NoError(t, err)
	d := <-done
	require.Equal(t, cli.ExitOK, d.code, d.out)
	require.Contains(t, d.out, "1 interactive transactions")
	require.Equal(t, cli.ExitOK, n.Wait(t))
	n.Start(t)
	c.WaitConnected(t)
	all := c.Open(t)
	for i := range 8 {
		for _, k := range []string{"mine", "others"} {
			value, _, err := all.Get(proc.Context(t), fmt.Sprintf("%s%d", k, i))
			require.NoError(t, err)
			require.Equal(t, "x", string(value), k)
		}
	}
}

// TestDrainLimitCutsOffTransactions: an open transaction delays a drain, by the command or a signal, only up to
// the limit. The command reports that it was cut off, and nothing of it is left: no write and no lock.
func TestDrainLimitCutsOffTransactions(t *testing.T) {
	t.Parallel()
	for how, drain := range map[string]func(t *testing.T, n *proc.Node){
		"command": func(t *testing.T, n *proc.Node) {
			code, out := proc.Exec(t, "drain", "--addr", n.Addr, "--limit", "200ms")
			require.Equal(t, cli.ExitUnavailable, code, out)
			require.Contains(t, out, "transactions in flight were cut off")
		},
		"signal": func(t *testing.T, n *proc.Node) { n.Terminate(t) },
	} {
		t.Run(how, func(t *testing.T) {
			n := proc.NewSingle(t, t.TempDir(), "--drain-timeout", "500ms")
			n.Start(t)
			db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
			err := db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
				if _, _, err := tx.GetForUpdate(ctx, "k"); err != nil {
					return err
				}
				if err := tx.Put(ctx, "k", []byte("never")); err != nil {
					return err
				}
				drain(t, n)
				require.Equal(t, cli.ExitOK, n.Wait(t))
				return nil
			})
			require.Error(t, err)
			n.Start(t)
			before := client.GetOp("k")
			require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(proc.Context(t), before, client.PutOp("k", nil)))
			require.False(t, before.Found())
		})
	}
}

// TestSecondSignalExitsAtOnce: it does not wait for the drain, and no acknowledged write is lost.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	n := proc.NewSingle(t, t.TempDir(), "--drain-timeout", "10m")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	err := db.Put(proc.Context(t), "retained", []byte("v"))
	require.NoError(t, err)
	err = db.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
		if _, _, err := tx.Get(ctx, "begins"); err != nil {
			return err
		}
		if err := tx.Put(ctx, "open", []byte("v")); err != nil {
			return err
		}
		n.Terminate(t)
		n.AwaitOutput(t, "drain started")
		n.AwaitOutput(t, "msg=draining")
		n.Terminate(t)
		require.NotEqual(t, cli.ExitOK, n.Wait(t))
		return errors.New("the node has exited") // a commit would be retried until the node is back
	})
	require.Error(t, err)
	n.Start(t)
	retained, open := client.GetOp("retained"), client.GetOp("open")
	require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(proc.Context(t), retained, open))
	require.True(t, retained.Found())
	require.False(t, open.Found())
}

// TestDebugZip collects from a cluster with a node that is down: the files of the other nodes are complete,
// the error of the down node is recorded, and with --redact-keys the file contains neither keys nor values.
func TestDebugZip(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: torture.HotKeyArgs()})
	db := c.Open(t)
	for i := range 50 {
		put := client.PutOp(fmt.Sprintf("privatekey%d", i), []byte("privatevalue"))
		require.NoError(t, db.Execute(proc.Context(t), put, add("privatehot", 1)))
	}
	c.Node(2).Kill()
	name := filepath.Join(t.TempDir(), "debug.zip")
	args := []string{"debug", "zip", name, "--addr", strings.Join(c.Addrs()[:2], ","), "--redact-keys", "--profile",
		"200ms"}
	code, out := proc.Exec(t, args...)
	require.Equal(t, cli.ExitOK, code, out)
	code, out = proc.Exec(t, args...)
	require.Equal(t, cli.ExitUsage, code, "a file is not overwritten")
	require.Contains(t, out, "exists")

	z, err := zip.OpenReader(name)
	require.NoError(t, err)
	defer z.Close()
	byNode := map[string][]string{}
	for _, f := range z.File {
		dir, base := filepath.Split(f.Name)
		byNode[dir] = append(byNode[dir], base)
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NotEmpty(t, text, f.Name)
		require.NotContains(t, string(text), "privatevalue", f.Name)
		require.NotContains(t, string(text), "privatekey", f.Name)
		if base == "metrics.txt" {
			require.True(t, bytes.Contains(text, []byte("linchpin_log_fsyncs_total")))
		}
	}
	want := []string{"cpu.pprof", "disk.json", "goroutines.txt", "heap.pprof", "hot-keys.json", "log.txt", "metrics.txt",
		"mutex.pprof", "receipts.json", "runtime.json",
		"settings.txt", "shards.json", "status.json", "version.txt", "waits.json"}
	require.Len(t, byNode, 3)
	down := 0
	for dir, files := range byNode {
		slices.Sort(files)
		if slices.Equal(files, []string{"unreachable.txt"}) {
			down++
			continue
		}
		// The hot shard may be on the down node.
		files = slices.DeleteFunc(files, func(f string) bool { return f == "hot-keys.json.error.txt" })
		if !slices.Contains(files, "hot-keys.json") {
			files = append(files, "hot-keys.json")
			slices.Sort(files)
		}
		require.Equal(t, want, files, dir)
	}
	require.Equal(t, 1, down)
}

// TestLogLevelChangesAtRuntime: log levels change without a restart, and log lines name the node and the
// component.
func TestLogLevelChangesAtRuntime(t *testing.T) {
	t.Parallel()
	n := proc.NewSingle(t, t.TempDir(), "--log-format", "json", "--log-level", "error")
	n.Start(t)
	require.NotContains(t, n.Output.String(), `"msg":"node serving"`)
	code, out := proc.Exec(t, "log", "level", "info", "--component", "node", "--addr", n.Addr)
	require.Equal(t, cli.ExitOK, code, out)
	require.Regexp(t, `node +info\ncluster +error\n`, out)
	n.AwaitOutput(t, `"msg":"log level changed","component":"node"`)
	code, out = proc.Exec(t, "log", "level", "info", "--component", "nodes", "--addr", n.Addr)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, out, "there is no component")
	require.Equal(t, cli.ExitOK, n.Stop(t))
	require.Contains(t, n.Output.String(), `"msg":"drain finished","component":"node","duration":`)
	require.Contains(t, n.Output.String(), `"node":"n1"`)
}
