package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

const (
	// nodes is the number of nodes, small the position of the one with a small disk.
	nodes, small = 3, 2
	// smallDisk is the size of that disk in bytes, reserve the disk reserve of every node in MiB.
	smallDisk, reserve = 768 * mib, 16
	// maxFiles is the limit of open files of a node.
	maxFiles = 1024
	// prefixCount is the number of prefixes of the torture keys, which the rounds use in turn. It is bounded
	// because the hot keys are arguments of the nodes.
	prefixCount = 4
)

// cluster is the cluster under test.
type cluster struct {
	*proc.Cluster
	// network is nil if the links are proxies.
	network *sandbox.Network
	// replicated: shards have several replicas.
	replicated bool
	// hasSmall reports whether node small has a small disk.
	hasSmall bool
	// runs counts the processes of each node, args are their common arguments.
	runs [nodes]int
	args [nodes][]string
	// logs is the directory of the output of the nodes.
	logs string
}

func torturePrefix(round int) string { return fmt.Sprintf("soak/torture-%d/", round%prefixCount) }

// startCluster starts the cluster. The output of the nodes is retained if the test fails.
func startCluster(t *testing.T, replicas int) *cluster {
	t.Helper()
	c := &cluster{replicated: replicas > 1, hasSmall: sandbox.Why() == ""}
	var err error
	c.logs, err = os.MkdirTemp("", "linchpin-soak-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the output of the nodes is in %s", c.logs)
			return
		}
		if err := os.RemoveAll(c.logs); err != nil {
			t.Error(err)
		}
	})
	// With a short history and small caches the store reaches its final size, and the caches are full, before
	// samples count. So any growth afterwards is a leak.
	o := proc.Options{Args: []string{"--cache-mb", "4", "--disk-reserve-mb", fmt.Sprint(reserve), "--history", "20s",
		"--drain-timeout", "5s", "--pprof", "--replicas", strconv.Itoa(replicas)}}
	for i := range prefixCount {
		for _, k := range torture.HotKeys() {
			o.Args = append(o.Args, "--hot-key", torturePrefix(i)+k)
		}
	}
	if why := sandbox.WhyNoNetwork(); why == "" {
		c.network = sandbox.NewNetwork(t, nodes)
		o.Hosts = c.network.Hosts()
	} else {
		t.Logf("links lose both directions: %s", why)
		o.Proxied = true
	}
	c.Cluster = proc.NewCluster(t, o)
	if c.hasSmall {
		sandbox.MountSmall(t, c.Node(small).Dir, smallDisk)
	} else {
		t.Logf("no disk faults: %s", sandbox.Why())
	}
	if c.network != nil {
		c.network.AssignUsers(t, c.Cluster)
	}
	for i, n := range c.Nodes() {
		n.MaxFiles = maxFiles
		c.args[i] = n.Args
	}
	t.Cleanup(func() { c.saveOutput(t) })
	c.Start(t)
	return c
}

// launch starts a node with additional arguments and returns at once.
func (c *cluster) launch(t testing.TB, i int, more ...string) {
	t.Helper()
	n := c.Node(i)
	n.Args = append(append([]string(nil), c.args[i]...), more...)
	c.runs[i]++
	n.Launch(t)
}

// requireRunning requires that no process has ended unexpectedly.
func (c *cluster) requireRunning(t testing.TB, down *[nodes]bool) {
	t.Helper()
	for i, n := range c.Nodes() {
		if !down[i] && !n.Running() {
			t.Fatalf("node %d exited unexpectedly with exit code %d", i, n.Wait(t))
		}
	}
}

// saveOutput appends the output of the nodes to files.
func (c *cluster) saveOutput(t testing.TB) {
	t.Helper()
	for i, n := range c.Nodes() {
		name := fmt.Sprintf("node[%d]", i)
		text := n.Output.Take(t, name)
		f, err := os.OpenFile(filepath.Join(c.logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := f.WriteString(text); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// saveProfiles saves the profiles of all running nodes.
func (c *cluster) saveProfiles(t testing.TB, when string) {
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for i, n := range c.Nodes() {
		if n.Running() {
			saveProfiles(ctx, t, n, c.logs, fmt.Sprintf("node[%d]-%s", i, when))
		}
	}
}

// deleteKeys deletes the keys of a round.
func deleteKeys(t testing.TB, db *client.DB, prefixes ...string) {
	t.Helper()
	const most = kv.MaxTxnOps / 2 // keys deleted by one transaction
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for _, p := range prefixes {
		for keys, more := client.Prefix(p), true; more; {
			part, n := keys, 0
			for e, err := range db.Scan(ctx, part, client.Limit(most+1)) {
				if err != nil {
					t.Fatalf("reading the keys to delete: %v", err)
				}
				n++
				keys.Start = e.Key
			}
			more = n > most
			if more {
				part.End = keys.Start
			}
			if n == 0 {
				break
			}
			if _, err := db.DeleteRange(ctx, part); err != nil {
				t.Fatalf("deleting %s: %v", p, err)
			}
		}
	}
}

// requireNoKeys requires that no key of a round is left.
func requireNoKeys(t testing.TB, db *client.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for e, err := range db.Scan(ctx, client.Prefix("soak/"), client.Limit(5)) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("key %q exists after its deletion", e.Key)
	}
}
