package dashboards

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// coldKeys is the number of keys loaded before a restart, so that they are read from the
// store afterwards.
const coldKeys = 2000

func cold(i int) []byte { return fmt.Appendf(nil, "cold/%05d", i%coldKeys) }

// Prepare fills a cluster and restarts it: it then has tables on disk, and keys that are not
// in memory.
func Prepare(t testing.TB, c *proc.Cluster) {
	t.Helper()
	db := proc.OpenOld(t, c.Addrs())
	ctx, cancel := context.WithTimeout(t.Context(), proc.Patience)
	defer cancel()
	for i := 0; i < coldKeys; i += 20 {
		var ops []client.Op
		for j := range 20 {
			ops = append(ops, client.Put(cold(i+j), make([]byte, 4096)))
		}
		if _, err := db.Execute(ctx, ops...); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.Nodes() {
		if code := n.Stop(t); code != 0 {
			t.Fatalf("a node exited with %d", code)
		}
	}
	c.Start(t)
}

// Load runs clients that produce everything that the dashboards show, until the test ends or
// most has passed. Each client pauses between its transactions, so that there is contention
// but the machine is not saturated.
func Load(t testing.TB, c *proc.Cluster, most time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	var wg sync.WaitGroup
	for i := range c.Nodes() {
		db := proc.OpenOld(t, []string{c.Node(i).Addr})
		for _, use := range uses {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					// Errors, by contention or at the end, are part of the metrics.
					_ = use(ctx, db, n*len(c.Nodes())+i)
					workload.Sleep(ctx, 2*time.Millisecond)
				}
			})
		}
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

var hotA, hotB, views, tags, tickets = []byte("hot/a"), []byte("hot/b"), []byte("views"), []byte("tags"), []byte("tickets")

// uses are the transactions of the clients; n differs each time.
var uses = []func(ctx context.Context, db *client.DB, n int) error{
	// Two hot keys in either order, with think time: waits, wounds, moves.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(tx *client.Tx) error {
			keys := [][]byte{hotA, hotB}
			for i := range keys {
				k := keys[(i+n)%2]
				if _, err := tx.GetForUpdate(k); err != nil {
					return err
				}
				workload.Sleep(ctx, 3*time.Millisecond)
				if err := tx.Put(k, fmt.Append(nil, n)); err != nil {
					return err
				}
			}
			return nil
		})
	},
	// An optimistic read that is stale at commit.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(tx *client.Tx) error {
			if _, err := tx.Get(hotA); err != nil {
				return err
			}
			workload.Sleep(ctx, 2*time.Millisecond)
			return tx.Put(hotA, fmt.Append(nil, n))
		})
	},
	// Operations that commute, on several shards.
	func(ctx context.Context, db *client.DB, n int) error {
		_, err := db.Execute(ctx, client.Add(views, 1), client.Call(tags, "set", "add", fmt.Sprint(n%50)), client.Put(fmt.Appendf(nil, "log/%d", n%500), []byte("x")))
		return err
	},
	// Operations that do not commute, on the same keys, and a failed condition.
	func(ctx context.Context, db *client.DB, n int) error {
		_, err := db.Execute(ctx, client.AddGet(views, 1), client.Put(hotB, fmt.Append(nil, n)), client.Call(tags, "set", "len"))
		if n%7 == 0 {
			_, err = db.Execute(ctx, client.Put([]byte("once"), nil).IfAbsent(), client.Call(tags, "set", "remove", fmt.Sprint(n%50)))
		}
		return err
	},
	// Operations whose lock plan depends on a value that changes while they wait.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(tx *client.Tx) error {
			method := [...]string{"try-subtract", "try-add"}[n%2]
			_, err := tx.Do(client.Call(tickets, "bounded-counter", "create", 0, 1, 1), client.Call(tickets, "bounded-counter", method, 1))
			workload.Sleep(ctx, 3*time.Millisecond)
			return err
		})
	},
	// Reads of one key, of several, and of keys that are not in memory.
	func(ctx context.Context, db *client.DB, n int) error {
		if _, err := db.Execute(ctx, client.Get(hotA)); err != nil {
			return err
		}
		if _, err := db.Execute(ctx, client.Get(hotA), client.Get(hotB), client.Get(views)); err != nil {
			return err
		}
		_, err := db.Execute(ctx, client.Get(cold(n*7)), client.Get(cold(n*11)))
		return err
	},
	// An interactive reader, which holds updates.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.View(ctx, func(ro *client.ReadTx) error {
			for _, k := range [][]byte{hotA, hotB, views} {
				if _, err := ro.Get(k); err != nil {
					return err
				}
				workload.Sleep(ctx, 2*time.Millisecond)
			}
			return nil
		})
	},
	// Keys that rules move to the hot shard, and home.
	func(ctx context.Context, db *client.DB, n int) error {
		order := []pb.HotPolicy{pb.HotPolicy_HOT_PIN, pb.HotPolicy_HOT_BAN}[n/3%2]
		_, err := db.SetHotRule(ctx, pb.HotRule{Key: fmt.Appendf(nil, "log/%d", n%3), Policy: order})
		workload.Sleep(ctx, 700*time.Millisecond)
		return err
	},
	// Keys that expire.
	func(ctx context.Context, db *client.DB, n int) error {
		_, err := db.Execute(ctx, client.Put(fmt.Appendf(nil, "short/%d", n%100), nil).WithTTL(50*time.Millisecond))
		workload.Sleep(ctx, 20*time.Millisecond)
		return err
	},
	// Scans, snapshots, reads as of a time.
	func(ctx context.Context, db *client.DB, n int) error {
		for p, err := range db.Scan(ctx, []byte("log/"), []byte("log0"), client.ScanOptions{}) {
			if err != nil {
				return err
			}
			_ = p
		}
		name := fmt.Sprintf("s%d", n)
		if _, err := db.CreateSnapshot(ctx, name, time.Minute); err != nil {
			return err
		}
		if _, err := db.With(client.AtSnapshot(name)).Execute(ctx, client.Get(hotA), client.Get(views)); err != nil {
			return err
		}
		if _, err := db.With(client.AsOf(time.Now().Add(-time.Second))).Execute(ctx, client.Get(views), client.Get(hotB)); err != nil {
			return err
		}
		workload.Sleep(ctx, 200*time.Millisecond)
		_, err := db.DropSnapshot(ctx, name)
		return err
	},
}
