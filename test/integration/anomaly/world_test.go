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

// placement says where the keys of a test live.
type placement string

const (
	spread   placement = "spread"    // on several ordinary shards
	together placement = "one-shard" // on one ordinary shard
	mixed    placement = "hot+cold"  // the first on the hot shard
	hot      placement = "hot"       // all on the hot shard
)

// maxTests bounds the tests of one cluster, and keysPerTest the keys of each.
const maxTests, keysPerTest = 120, 4

// world is a cluster with clients on each of its nodes.
type world struct {
	cluster *embed.Cluster
	// dbs have one client per node that tries again, once one that does not.
	dbs, once []*client.DB
	tests     int
}

func newWorld(t *testing.T, order txn.Order) *world {
	t.Helper()
	w := &world{}
	o := embed.ClusterOptions{Dir: t.TempDir(), Nodes: 3, Shards: 5, Order: order, Listen: true}
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
		w.once = append(w.once, db.With(client.NoRetry()))
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

// key is one of a test's keys. They sort by test, so that each test's keys
// are a range.
func key(test int, kind string, i int) string {
	return fmt.Sprintf("t/%04d/%s/%d", test, kind, i)
}

// scene is what one test runs on: fresh keys, all of which hold "0".
type scene struct {
	*testing.T
	*world
	ctx context.Context
	// x and y are the two keys that begin with prefix.
	x, y, prefix string
	// aside is a key for other purposes, on an ordinary shard, which does not
	// exist yet.
	aside string
}

func (w *world) scene(t *testing.T, p placement) *scene {
	t.Helper()
	n := w.tests
	w.tests++
	require.Less(t, n, maxTests)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s := &scene{T: t, world: w, ctx: ctx, prefix: fmt.Sprintf("t/%04d/", n), aside: fmt.Sprintf("aside/%04d", n)}
	switch p {
	case hot:
		s.x, s.y = key(n, "hot", 0), key(n, "hot", 1)
	case mixed:
		s.x, s.y = key(n, "hot", 0), key(n, "cold", 0)
	case together:
		s.x, s.y = key(n, "{cold}", 0), key(n, "{cold}", 1)
	case spread:
		s.x = key(n, "cold", 0)
		shard := func(key string) kv.ShardID { return w.cluster.Router().Shard([]byte(key)) }
		for i := 1; s.y == ""; i++ {
			if k := key(n, "cold", i); shard(k) != shard(s.x) {
				s.y = k
			}
		}
	}
	s.must(0, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	return s
}

// db gives the client of a node, counted round.
func (s *scene) db(i int) *client.DB { return s.dbs[i%len(s.dbs)] }

// must runs a one-shot transaction that has to commit.
func (s *scene) must(node int, ops ...client.Op) {
	s.Helper()
	require.NoError(s.T, s.db(node).Execute(s.ctx, ops...))
}

// keys is the range of the scene's keys.
func (s *scene) keys() client.Range { return client.Prefix(s.prefix) }

// name is a key of the scene.
func (s *scene) name(format string, args ...any) string {
	return s.prefix + fmt.Sprintf(format, args...)
}

// now reads x and y.
func (s *scene) now(node int) (x, y int) {
	s.Helper()
	vx, vy := client.GetOp(s.x), client.GetOp(s.y)
	s.must(node, vx, vy)
	return number(vx.Value()), number(vy.Value())
}

// scan reads the scene's range.
func (s *scene) scan(node int) (map[string]int, error) {
	out := map[string]int{}
	for e, err := range s.db(node).Scan(s.ctx, s.keys(), client.PageSize(1)) {
		if err != nil {
			return nil, err
		}
		out[e.Key] = number(e.Value)
	}
	return out, nil
}

func value(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// number is a value's number; -1 stands for bytes that nobody wrote.
func number(v []byte) int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return -1
	}
	return n
}

// aborted reports whether err says that a transaction lost against another,
// which any transaction may.
func aborted(err error) bool { return errors.Is(err, client.ErrAborted) }

// waiting waits until something waits for a lock, or for readers, somewhere, after a test has
// sent what must wait.
func (s *scene) waiting() {
	s.Helper()
	require.Eventually(s.T, func() bool {
		for i := range s.dbs {
			n := s.cluster.Node(kv.NodeID(i + 1))
			n.Look()
			for _, sh := range n.Snapshots(0) {
				if sh.Waiting+sh.Held > 0 {
					return true
				}
			}
		}
		return false
	}, 10*time.Second, time.Millisecond, "nobody waits")
}
