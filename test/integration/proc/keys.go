package proc

import (
	"context"
	"slices"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
)

// KeysByNode groups keys by the position of their node, in the order of Nodes. It fails the test if a node
// has none of them. hotKeys are the --hot-key arguments of the cluster.
func (c *Cluster) KeysByNode(t testing.TB, keys []string, hotKeys ...string) [][]string {
	t.Helper()
	var hot [][]byte
	for _, k := range hotKeys {
		hot = append(hot, []byte(k))
	}
	r, err := hotshard.NewRouter(c.shards-1, len(c.nodes), hot)
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint32
	for _, n := range c.nodes {
		ids = append(ids, n.id(t))
	}
	out := make([][]string, len(c.nodes))
	for _, k := range keys {
		at := slices.Index(ids, uint32(r.Node(r.Shard([]byte(k)))))
		out[at] = append(out[at], k)
	}
	for i := range out {
		if len(out[i]) == 0 {
			t.Fatalf("no key is on node %d", i)
		}
	}
	return out
}

// id returns the id of the node in its cluster.
func (n *Node) id(t testing.TB) uint32 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitTimeout)
	defer cancel()
	s, err := admin.New(Open(t, []string{n.Addr})).Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(s.Node)
}
