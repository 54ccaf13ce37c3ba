package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

const (
	// nodes is how many there are, and small the one with a small disk.
	nodes, small = 3, 2
	// smallDisk is its size, and reserve what every node keeps free, in MiB.
	smallDisk, reserve = 768 * mib, 16
	// maxFiles is how many files a node may have open.
	maxFiles = 1024
	// names is how many names the rounds' histories take turns with: their
	// hottest keys were named when the cluster was made.
	names = 4
)

// cluster is what the soak is done to.
type cluster struct {
	*proc.Cluster
	// network is nil where links are proxies.
	network *sandbox.Network
	// hasSmall: node small has a small disk.
	hasSmall bool
	// lives counts the processes of each node, and args are what they are
	// started with.
	lives [nodes]int
	args  [nodes][]string
	// logs is the directory of what they wrote.
	logs string
}

func tortureName(round int) string { return fmt.Sprintf("soak/torture-%d/", round%names) }

// startCluster starts it. What nodes wrote is kept if the test fails.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{hasSmall: sandbox.Why() == ""}
	var err error
	c.logs, err = os.MkdirTemp("", "linchpin-soak-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the nodes wrote is kept in %s", c.logs)
			return
		}
		if err := os.RemoveAll(c.logs); err != nil {
			t.Error(err)
		}
	})
	// A short history, so that the store soon has all that it keeps, and caches so
	// small that they are full before samples count: what grows then is no cache.
	o := proc.Options{Args: []string{"--cache-mb", "4", "--disk-reserve-mb", fmt.Sprint(reserve), "--history", "20s", "--drain-timeout", "5s", "--pprof"}}
	for i := range names {
		for _, k := range torture.HotKeys() {
			o.Args = append(o.Args, "--hot-key", tortureName(i)+k)
		}
	}
	if why := sandbox.WhyNoNetwork(); why == "" {
		c.network = sandbox.NewNetwork(t, nodes)
		o.Hosts = c.network.Hosts()
	} else {
		t.Logf("no link loses one way only, since %s", why)
		o.Proxied = true
	}
	c.Cluster = proc.NewCluster(t, o)
	if c.hasSmall {
		sandbox.MountSmall(t, c.Node(small).Dir, smallDisk)
	} else {
		t.Logf("no disk gets full, since %s", sandbox.Why())
	}
	if c.network != nil {
		c.network.AssignUsers(t, c.Cluster)
	}
	for i, n := range c.Nodes() {
		n.MaxFiles = maxFiles
		c.args[i] = n.Args
	}
	t.Cleanup(func() { c.keepOutput(t) })
	c.Start(t)
	return c
}

// launch starts a node with more arguments than usual, and does not wait.
func (c *cluster) launch(t testing.TB, i int, more ...string) {
	t.Helper()
	n := c.Node(i)
	n.Args = append(append([]string(nil), c.args[i]...), more...)
	c.lives[i]++
	n.Launch(t)
}

// alive requires that no process has ended but those that were made to.
func (c *cluster) alive(t testing.TB, down *[nodes]bool) {
	t.Helper()
	for i, n := range c.Nodes() {
		if !down[i] && !n.Running() {
			t.Fatalf("node %d has ended by itself, with exit code %d", i, n.Wait(t))
		}
	}
}

// keepOutput moves what the nodes wrote to files.
func (c *cluster) keepOutput(t testing.TB) {
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

// keepProfiles saves the profiles of every node that answers.
func (c *cluster) keepProfiles(t testing.TB, when string) {
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for i, n := range c.Nodes() {
		if n.Running() {
			keepProfiles(ctx, t, n, c.logs, fmt.Sprintf("node[%d]-%s", i, when))
		}
	}
}

// forget deletes the keys of a round.
func forget(t testing.TB, db *client.DB, prefixes ...string) {
	t.Helper()
	const most = kv.MaxTxnOps / 2 // that a transaction may delete
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

// empty requires that no key of any round is left.
func empty(t testing.TB, db *client.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for e, err := range db.Scan(ctx, client.Prefix("soak/"), client.Limit(5)) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("key %q exists, although it was deleted and no client runs", e.Key)
	}
}
