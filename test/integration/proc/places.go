package proc

import (
	"context"
	"slices"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
)

// Places sorts keys by the node that they live on: 0 is the place in Nodes of
// the first, and so on. Each node must have some of them. hotKeys are those
// that the cluster was made with.
func (c *Cluster) Places(t testing.TB, keys []string, hotKeys ...string) [][]string {
	t.Helper()
	var hot [][]byte
	for _, k := range hotKeys {
		hot = append(hot, []byte(k))
	}
	r, err := hotshard.NewRouter(c.shards-1, len(c.nodes), hot)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []uint32
	for _, n := range c.nodes {
		numbers = append(numbers, n.number(t))
	}
	out := make([][]string, len(c.nodes))
	for _, k := range keys {
		at := slices.Index(numbers, uint32(r.Node(r.Shard([]byte(k)))))
		out[at] = append(out[at], k)
	}
	for i := range out {
		if len(out[i]) == 0 {
			t.Fatalf("node %d has none of the keys", i)
		}
	}
	return out
}

// number is the node's number in its cluster.
func (n *Node) number(t testing.TB) uint32 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	s, err := admin.New(Open(t, []string{n.Addr})).Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(s.Node)
}
