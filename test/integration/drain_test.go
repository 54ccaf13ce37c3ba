package integration

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// linchpin runs the program, and returns its exit code and its output. Any goroutine may call it: if the
// program cannot be run, the code is -1, and the test does not end.
func linchpin(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	program := proc.Build(t).Linchpin // the first call takes long
	ctx, cancel := context.WithTimeout(context.Background(), 2*proc.WaitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	raw, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), string(raw)
}

// adders add to counters through one node each, without retries, and count the outcomes.
type adders struct {
	acked, rejected atomic.Int64
	mu              sync.Mutex
	unexpected      map[string]int
	stop            context.CancelFunc
	all             sync.WaitGroup
	keys            []string
}

func startAdders(t *testing.T, c *proc.Cluster, keys []string) *adders {
	ctx, cancel := context.WithCancel(context.Background())
	a := &adders{unexpected: map[string]int{}, stop: cancel, keys: keys}
	t.Cleanup(func() { a.finish() })
	for i, addr := range c.Addrs() {
		db := proc.Open(t, []string{addr}).With(client.NoRetry())
		for j := range 4 {
			a.all.Go(func() { a.run(ctx, db, 4*i+j) })
		}
	}
	return a
}

func (a *adders) run(ctx context.Context, db *client.DB, i int) {
	for n := i; ctx.Err() == nil; n++ {
		// Two keys of any shards: most transactions have participants on several nodes.
		one, two := a.keys[n%len(a.keys)], a.keys[(n*7+3)%len(a.keys)]
		deadline, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
		err := db.Execute(deadline, add(one, 1), add(two, 1))
		cancel()
		switch {
		case err == nil:
			a.acked.Add(2)
		case kv.KindOf(err) == kv.KindUnavailable:
			a.rejected.Add(1)
			// A client without retries has to limit its rate itself.
			wait, cancel := context.WithTimeout(ctx, time.Millisecond)
			<-wait.Done()
			cancel()
		case kv.KindOf(err) == kv.KindAborted: // nothing was applied
		default:
			a.mu.Lock()
			a.unexpected[kv.KindOf(err).String()+": "+err.Error()]++
			a.mu.Unlock()
		}
	}
}

func (a *adders) await(t *testing.T, more int64) {
	t.Helper()
	at := a.acked.Load()
	proc.Until(t, "transactions commit", func(context.Context) bool { return a.acked.Load() >= at+more },
		func() string { return fmt.Sprint(a.acked.Load()) })
}

func (a *adders) finish() {
	a.stop()
	a.all.Wait()
}

// TestDrainLosesNothing drains each node in turn under load. The load fails only with Unavailable or
// Aborted, never with an unknown outcome; every acknowledged add is applied; and the shards have shut down
// cleanly.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: hotKeyArgs()})
	var keys []string
	for i := range 24 {
		keys = append(keys, fmt.Sprintf("drained%d", i))
	}
	a := startAdders(t, c, keys)
	for i, n := range c.Nodes() {
		a.await(t, 200)
		if i == 0 { // once by the command, then by signals
			code, out := linchpin(t, "drain", "--addr", n.Addr)
			require.Equal(t, cli.ExitOK, code, out)
			require.Contains(t, out, "stopping")
			require.Contains(t, out, "the node has stopped")
			require.Equal(t, cli.ExitOK, n.Wait(t))
		} else {
			require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
		}
		n.AwaitOutput(t, "drain finished")
		n.Start(t)
		n.AwaitOutput(t, "shards recovered")
		c.WaitConnected(t)
	}
	a.await(t, 200)
	a.finish()
	require.Empty(t, slices.Collect(maps.Keys(a.unexpected)), "only rejections")
	for _, n := range c.Nodes() {
		text := n.Output.String()
		text = text[strings.LastIndex(text, "shards recovered"):]
		text, _, _ = strings.Cut(text, "\n")
		var shards, clean int
		_, err := fmt.Sscanf(text[strings.Index(text, "shards="):], "shards=%d clean_shutdowns=%d", &shards, &clean)
		require.NoError(t, err, text)
		require.Equal(t, shards, clean, "the shards of a drained node have shut down cleanly")
	}
	db := c.Open(t)
	sum := int64(0)
	for _, k := range keys {
		n, err := client.NewCounter(k).Get(testContext(t), db)
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, a.acked.Load(), sum)
	require.Positive(t, a.rejected.Load(), "some transactions ran during a drain")
}

// TestDrainWaitsForOpenTransactions: readiness is red at once, new transactions are rejected, and an open
// interactive transaction commits, also on shards of other nodes.
func TestDrainWaitsForOpenTransactions(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: hotKeyArgs()})
	n := c.Node(0)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	other := proc.Open(t, []string{c.Node(1).Addr}).With(client.NoRetry())
	ctx := testContext(t)
	require.Equal(t, http.StatusOK, readiness(t, n))
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
	err := db.Update(ctx, func(txCtx context.Context, tx *client.Tx) error {
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
				code, out := linchpin(t, "drain", "--addr", n.Addr, "--limit", "30s")
				done <- drained{code, out}
			}()
			n.AwaitOutput(t, "drain started")
			proc.Until(t, "the node is not ready", func(context.Context) bool {
				return readiness(t, n) == http.StatusServiceUnavailable
			}, func() string { return "" })
			proc.Until(t, "the node reports that it drains", func(context.Context) bool {
				_, err := admin.New(proc.Open(t, []string{c.Node(1).Addr})).Status(ctx)
				require.NoError(t, err, "other nodes serve")
				code, out := linchpin(t, "health", "--addr", n.Addr)
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
			value, _, err := all.Get(testContext(t), fmt.Sprintf("%s%d", k, i))
			require.NoError(t, err)
			require.Equal(t, "x", string(value), k)
		}
	}
}

func readiness(t *testing.T, n *proc.Node) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.HTTP+"/readyz", nil)
	require.NoError(t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestDrainLimitCutsOffTransactions: an open transaction delays a drain only up to the limit. The command
// reports that it was cut off, and nothing of it is applied.
func TestDrainLimitCutsOffTransactions(t *testing.T) {
	t.Parallel()
	n := newSingleNode(t, "node", t.TempDir())
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	err := db.Update(testContext(t), func(ctx context.Context, tx *client.Tx) error {
		if _, _, err := tx.Get(ctx, "begins"); err != nil {
			return err
		}
		if err := tx.Put(ctx, "k", []byte("never")); err != nil {
			return err
		}
		code, out := linchpin(t, "drain", "--addr", n.Addr, "--limit", "200ms")
		require.Equal(t, cli.ExitUnavailable, code, out)
		require.Contains(t, out, "transactions in flight were cut off")
		return nil
	})
	require.Error(t, err)
	require.Equal(t, cli.ExitOK, n.Wait(t))
	n.Start(t)
	_, found, err := proc.Open(t, []string{n.Addr}).Get(testContext(t), "k")
	require.NoError(t, err)
	require.False(t, found)
}

// TestSecondSignalExitsAtOnce: it does not wait for the drain, and no acknowledged write is lost.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	n := newSingleNode(t, "node", t.TempDir(), "--drain-timeout", "10m")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	err := db.Put(testContext(t), "retained", []byte("v"))
	require.NoError(t, err)
	err = db.Update(testContext(t), func(ctx context.Context, tx *client.Tx) error {
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
	require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(testContext(t), retained, open))
	require.True(t, retained.Found())
	require.False(t, open.Found())
}

// TestDebugZip collects from a cluster with a node that is down: the files of the other nodes are complete,
// the error of the down node is recorded, and with --redact-keys the file contains neither keys nor values.
func TestDebugZip(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: hotKeyArgs()})
	db := c.Open(t)
	for i := range 50 {
		put := client.PutOp(fmt.Sprintf("privatekey%d", i), []byte("privatevalue"))
		require.NoError(t, db.Execute(testContext(t), put, add("privatehot", 1)))
	}
	c.Node(2).Kill()
	name := filepath.Join(t.TempDir(), "debug.zip")
	args := []string{"debug", "zip", name, "--addr", strings.Join(c.Addrs()[:2], ","), "--redact-keys", "--profile",
		"200ms"}
	code, out := linchpin(t, args...)
	require.Equal(t, cli.ExitOK, code, out)
	code, out = linchpin(t, args...)
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
	n := newSingleNode(t, "node", t.TempDir(), "--log-format", "json", "--log-level", "error")
	n.Start(t)
	require.NotContains(t, n.Output.String(), `"msg":"node serving"`)
	code, out := linchpin(t, "log", "level", "info", "--component", "node", "--addr", n.Addr)
	require.Equal(t, cli.ExitOK, code, out)
	require.Regexp(t, `node +info\ncluster +error\n`, out)
	n.AwaitOutput(t, `"msg":"log level changed","component":"node"`)
	code, out = linchpin(t, "log", "level", "info", "--component", "nodes", "--addr", n.Addr)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, out, "there is no component")
	require.Equal(t, cli.ExitOK, n.Stop(t))
	require.Contains(t, n.Output.String(), `"msg":"drain finished","component":"node","duration":`)
	require.Contains(t, n.Output.String(), `"node":"n1"`)
}
