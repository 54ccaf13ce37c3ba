package dashboards

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// coldKeys is the number of keys loaded before a restart, so that they are read from the
// store afterwards.
const coldKeys = 2000

func cold(i int) string { return fmt.Sprintf("cold/%05d", i%coldKeys) }

// Prepare fills a cluster and restarts it: it then has tables on disk, and keys that are not
// in memory.
func Prepare(t testing.TB, c *proc.Cluster) {
	t.Helper()
	db := c.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	defer cancel()
	for i := 0; i < coldKeys; i += 20 {
		var ops []client.Op
		for j := range 20 {
			ops = append(ops, client.PutOp(cold(i+j), make([]byte, 4096)))
		}
		if err := db.Execute(ctx, ops...); err != nil {
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
		db := proc.Open(t, []string{c.Node(i).Addr})
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

const hotA, hotB = "hot/a", "hot/b"

var (
	views   = client.NewCounter("views")
	tags    = client.NewSet("tags", client.String)
	tickets = client.NewBoundedCounter("tickets")
)

// uses are the transactions of the clients; n differs each time.
var uses = []func(ctx context.Context, db *client.DB, n int) error{
	// Two hot keys in either order, with think time: waits, wounds, moves.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			keys := []string{hotA, hotB}
			for i := range keys {
				k := keys[(i+n)%2]
				if _, _, err := tx.GetForUpdate(ctx, k); err != nil {
					return err
				}
				workload.Sleep(ctx, 3*time.Millisecond)
				if err := tx.Put(ctx, k, fmt.Append(nil, n)); err != nil {
					return err
				}
			}
			return nil
		})
	},
	// An optimistic read that is stale at commit.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.Get(ctx, hotA); err != nil {
				return err
			}
			workload.Sleep(ctx, 2*time.Millisecond)
			return tx.Put(ctx, hotA, fmt.Append(nil, n))
		})
	},
	// Operations that commute, on several shards.
	func(ctx context.Context, db *client.DB, n int) error {
		log := client.PutOp(fmt.Sprintf("log/%d", n%500), []byte("x"))
		return db.Execute(ctx, views.AddOp(1), tags.AddOp(fmt.Sprint(n%50)), log)
	},
	// Operations that do not commute, on the same keys, and a failed condition.
	func(ctx context.Context, db *client.DB, n int) error {
		err := db.Execute(ctx, views.AddGetOp(1), client.PutOp(hotB, fmt.Append(nil, n)), tags.LenOp())
		if n%7 == 0 {
			err = db.Execute(ctx, client.PutOp("once", nil, client.IfAbsent()), tags.RemoveOp(fmt.Sprint(n%50)))
		}
		return err
	},
	// Operations whose lock plan depends on a value that changes while they wait.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			change := [...]func(int64) *client.Result[bool]{tickets.TrySubtractOp, tickets.TryAddOp}[n%2]
			err := tx.Execute(ctx, tickets.CreateOp(0, 1, 1), change(1))
			workload.Sleep(ctx, 3*time.Millisecond)
			return err
		})
	},
	// Reads of one key, of several, and of keys that are not in memory.
	func(ctx context.Context, db *client.DB, n int) error {
		if _, _, err := db.Get(ctx, hotA); err != nil {
			return err
		}
		if err := db.Execute(ctx, client.GetOp(hotA), client.GetOp(hotB), views.GetOp()); err != nil {
			return err
		}
		return db.Execute(ctx, client.GetOp(cold(n*7)), client.GetOp(cold(n*11)))
	},
	// An interactive reader, which holds updates.
	func(ctx context.Context, db *client.DB, n int) error {
		return db.View(ctx, func(ctx context.Context, v *client.View) error {
			for _, k := range []string{hotA, hotB, views.Key()} {
				if _, _, err := v.Entry(ctx, k); err != nil {
					return err
				}
				workload.Sleep(ctx, 2*time.Millisecond)
			}
			return nil
		})
	},
	// Keys that rules move to the hot shard, and home.
	func(ctx context.Context, db *client.DB, n int) error {
		policy := [...]admin.HotPolicy{admin.HotPin, admin.HotBan}[n/3%2]
		_, err := admin.New(db).SetHotRule(ctx, admin.HotRule{Key: fmt.Sprintf("log/%d", n%3), Policy: policy})
		workload.Sleep(ctx, 700*time.Millisecond)
		return err
	},
	// Keys that expire.
	func(ctx context.Context, db *client.DB, n int) error {
		err := db.Put(ctx, fmt.Sprintf("short/%d", n%100), nil, client.TTL(50*time.Millisecond))
		workload.Sleep(ctx, 20*time.Millisecond)
		return err
	},
	// Scans, snapshots, reads as of a time.
	func(ctx context.Context, db *client.DB, n int) error {
		for _, err := range db.Scan(ctx, client.Prefix("log/")) {
			if err != nil {
				return err
			}
		}
		name := fmt.Sprintf("s%d", n)
		snapshot, err := db.CreateSnapshot(ctx, name, client.TTL(time.Minute))
		if err != nil {
			return err
		}
		if err := snapshot.Execute(ctx, client.GetOp(hotA), views.GetOp()); err != nil {
			return err
		}
		if err := db.AsOf(time.Now().Add(-time.Second)).Execute(ctx, views.GetOp(), client.GetOp(hotB)); err != nil {
			return err
		}
		workload.Sleep(ctx, 200*time.Millisecond)
		return db.DropSnapshot(ctx, name)
	},
}
