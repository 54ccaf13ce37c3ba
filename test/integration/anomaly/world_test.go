package anomaly

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// placement is the placement of the keys of a test.
type placement string

const (
	spread   placement = "spread"       // on several ordinary shards
	together placement = "one-shard"    // on one ordinary shard
	mixed    placement = "hot+ordinary" // the first on the hot shard
	hot      placement = "hot"          // all on the hot shard
)

// maxTests bounds the tests of one cluster, keysPerTest the keys of each.
const maxTests, keysPerTest = 120, 4

// world is a cluster with clients of each node.
type world struct {
	cluster *embed.Cluster
	// dbs has one client per node that retries, noRetry one that does not.
	dbs, noRetry []*client.DB
	tests        int
}

func newWorld(t *testing.T, order txn.Order) *world {
	t.Helper()
	w := &world{}
	o := embed.ClusterOptions{Dir: t.TempDir(), Nodes: 3, Shards: 5, Protocol: embed.Protocol{Order: order}, Listen: true}
	for i := range maxTests {
		for k := range keysPerTest {
			o.HotKeys = append(o.HotKeys, []byte(key(i, "hot", k)))
		}
	}
	var err error
	w.cluster, err = embed.StartCluster(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, w.cluster.Stop(ctx))
	})
	for _, addr := range w.cluster.Addrs() {
		db := open(t, addr)
		w.dbs = append(w.dbs, db)
		w.noRetry = append(w.noRetry, db.With(client.NoRetry()))
	}
	return w
}

func open(t *testing.T, addr string) *client.DB {
	t.Helper()
	db, err := client.Open(t.Context(), []string{addr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// key returns a key of a test. The keys of a test are contiguous.
func key(test int, kind string, i int) string {
	return fmt.Sprintf("t/%04d/%s/%d", test, kind, i)
}

// scene is the environment of one test: two keys with the value "0".
type scene struct {
	*testing.T
	*world
	ctx context.Context
	// x and y are the two keys with this prefix.
	x, y, prefix string
	// otherKey is an absent key on an ordinary shard.
	otherKey string
}

func (w *world) scene(t *testing.T, p placement) *scene {
	t.Helper()
	n := w.tests
	w.tests++
	require.Less(t, n, maxTests)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s := &scene{T: t, world: w, ctx: ctx, prefix: fmt.Sprintf("t/%04d/", n), otherKey: fmt.Sprintf("aside/%04d", n)}
	switch p {
	case hot:
		s.x, s.y = key(n, "hot", 0), key(n, "hot", 1)
	case mixed:
		s.x, s.y = key(n, "hot", 0), key(n, "any", 0)
	case together:
		s.x, s.y = key(n, "{any}", 0), key(n, "{any}", 1)
	case spread:
		s.x = key(n, "any", 0)
		shard := func(key string) kv.ShardID { return w.cluster.Router().Shard([]byte(key)) }
		for i := 1; s.y == ""; i++ {
			if k := key(n, "any", i); shard(k) != shard(s.x) {
				s.y = k
			}
		}
	}
	s.requireExecute(0, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	return s
}

// db returns the client of a node, modulo the number of nodes.
func (s *scene) db(i int) *client.DB { return s.dbs[i%len(s.dbs)] }

// requireExecute runs a one-shot transaction that has to commit.
func (s *scene) requireExecute(node int, ops ...client.Op) {
	s.Helper()
	require.NoError(s.T, s.db(node).Execute(s.ctx, ops...))
}

// keyRange returns the range of the scene's keys.
func (s *scene) keyRange() client.Range { return client.Prefix(s.prefix) }

// keyf returns a key of the scene.
func (s *scene) keyf(format string, args ...any) string {
	return s.prefix + fmt.Sprintf(format, args...)
}

// readXY reads x and y.
func (s *scene) readXY(node int) (x, y int) {
	s.Helper()
	vx, vy := client.GetOp(s.x), client.GetOp(s.y)
	s.requireExecute(node, vx, vy)
	return number(vx.Value()), number(vy.Value())
}

// scan reads the scene's range.
func (s *scene) scan(node int) (map[string]int, error) {
	out := map[string]int{}
	for e, err := range s.db(node).Scan(s.ctx, s.keyRange(), client.PageSize(1)) {
		if err != nil {
			return nil, err
		}
		out[e.Key] = number(e.Value)
	}
	return out, nil
}

func value(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// number parses a value. It returns -1 for a value that no test writes.
func number(v []byte) int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return -1
	}
	return n
}

// isAborted reports whether err is an abort, which any transaction may suffer.
func isAborted(err error) bool { return errors.Is(err, client.ErrAborted) }

// awaitBlocked waits until a transaction waits for a lock or is held by readers on any shard.
func (s *scene) awaitBlocked() {
	s.Helper()
	require.Eventually(s.T, func() bool {
		for i := range s.dbs {
			n := s.cluster.Node(kv.NodeID(i + 1))
			n.CheckPeers()
			for _, sh := range n.ShardStats(0) {
				if sh.Waiting+sh.Held > 0 {
					return true
				}
			}
		}
		return false
	}, 10*time.Second, time.Millisecond, "no transaction is blocked")
}
