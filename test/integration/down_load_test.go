package integration

import (
	"context"
	"errors"
	"fmt"
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

// notedAdds are adds of 1 that clients send with no other option than where, and what
// they were told of them.
type notedAdds struct {
	keys           []string
	acked, unknown []atomic.Int64 // by key
	ended          atomic.Int64
	all            sync.WaitGroup
	stop           context.CancelFunc
	mu             sync.Mutex
	bad            []error
}

func startNotedAdds(t *testing.T, addrs, keys []string) *notedAdds {
	ctx, cancel := context.WithCancel(context.Background())
	n := len(keys)
	a := &notedAdds{keys: keys, acked: make([]atomic.Int64, n), unknown: make([]atomic.Int64, n), stop: cancel}
	t.Cleanup(a.finish)
	for i := range 8 {
		db := proc.Open(t, addrs)
		a.all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				a.add(db, n%len(keys), (n*5+1)%len(keys))
			}
		})
	}
	return a
}

// add adds to two keys, which mostly are on different nodes.
func (a *notedAdds) add(db *client.DB, one, two int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := db.Execute(ctx, add(a.keys[one], 1), add(a.keys[two], 1))
	a.ended.Add(1)
	switch kv.KindOf(err) {
	case kv.KindOK:
		a.acked[one].Add(1)
		a.acked[two].Add(1)
	case kv.KindOutcomeUnknown:
		a.unknown[one].Add(1)
		a.unknown[two].Add(1)
	case kv.KindUnavailable, kv.KindDeadlineExceeded, kv.KindAborted: // nothing was applied
	default:
		a.mu.Lock()
		defer a.mu.Unlock()
		a.bad = append(a.bad, err)
	}
}

func (a *notedAdds) finish() {
	a.stop()
	a.all.Wait()
}

// hold requires that what was told is so.
func (a *notedAdds) hold(t *testing.T, db *client.DB) {
	t.Helper()
	require.Empty(t, a.bad)
	unknown := int64(0)
	for i, k := range a.keys {
		n, err := client.NewCounter(k).Get(soon(t), db)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, a.acked[i].Load(), "%s: acknowledged and lost", k)
		require.LessOrEqual(t, n, a.acked[i].Load()+a.unknown[i].Load(), "%s: applied, and told that nothing was", k)
		unknown += a.unknown[i].Load()
	}
	t.Logf("%d transactions, %d adds of which nobody knew", a.ended.Load(), unknown)
}

// downAfter is how long a node is silent until others take it for down.
const downAfter = 3 * time.Second

// user does one thing after the other with keys that live on some nodes, and keeps how
// each ended.
type user struct {
	db   *client.DB
	took []time.Duration
	errs []error
	// needed says of each whether it needed the keys that are gone, and stood for how
	// long the machine stood still before and during it.
	needed []bool
	stood  []time.Duration
}

// use does what clients do, in turn, with two keys.
func (u *user) use(n int, k, l string, needed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	begin := time.Now()
	var err error
	switch n % 5 {
	case 0:
		err = u.db.Execute(ctx, client.PutOp(k, []byte("x")), client.PutOp(l, []byte("x")))
	case 1:
		err = u.db.Execute(ctx, client.GetOp(k), client.GetOp(l))
	case 2:
		err = u.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.Get(ctx, k); err != nil {
				return err
			}
			return tx.Put(ctx, l, []byte("y"))
		})
	case 3:
		err = u.db.View(ctx, func(ctx context.Context, v *client.View) error {
			_, _, err := v.Get(ctx, k)
			if err == nil {
				_, _, err = v.Get(ctx, l)
			}
			return err
		})
	case 4:
		err = u.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			return errors.Join(tx.Put(ctx, k, []byte("z")), tx.Put(ctx, l, []byte("z")))
		})
	}
	u.took, u.errs, u.needed = append(u.took, proc.Elapsed(begin)), append(u.errs, err), append(u.needed, needed)
	u.stood = append(u.stood, proc.StallTime(begin.Add(-2*downAfter), time.Now()))
}

// TestLoadGoesOnWhileANodeIsDown: of three nodes one is killed under load. What is told
// of the transactions that were under way is so. From when the node is known to be down
// clients, with no other option than where, do what needs other nodes alone; and whatever needs
// that node fails at once, by its name and that of its shards. Who wants to wait for
// it does, and when it is back everything works.
func TestLoadGoesOnWhileANodeIsDown(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	var counters []string
	for i := range 24 {
		counters = append(counters, fmt.Sprintf("counter%d", i))
	}
	at := c.KeysByNode(t, keysOf(36))
	adds := startNotedAdds(t, c.Addrs(), counters)
	on := func(context.Context) bool { return adds.ended.Load() > 300 }
	proc.Until(t, "the load is on", on, func() string { return "it is not" })
	down := c.Node(2)
	down.Kill()
	want := awaitDown(t, c.Node(0), down, at[2][0])
	_, lost, _ := strings.Cut(want.String(), ", and with it ")
	awaitDown(t, c.Node(1), down, at[2][0])
	adds.finish()

	endsInTime(t, proc.Open(t, []string{c.Node(0).Addr}), counters)

	live, gone := slices.Concat(at[0], at[1]), at[2]
	users := make([]*user, 12)
	var all sync.WaitGroup
	for i := range users {
		u := &user{db: proc.Open(t, []string{c.Node(i % 2).Addr, down.Addr})}
		users[i] = u
		all.Go(func() {
			for n := range 60 {
				k, l := live[(i+7*n)%len(live)], live[(3*i+n)%len(live)]
				if n%3 == 0 {
					u.use(n/3, k, gone[(i+n)%len(gone)], true)
				} else {
					u.use(n, k, l, false)
				}
			}
		})
	}
	all.Wait()
	for _, u := range users {
		for n, err := range u.errs {
			e, _ := errors.AsType[*client.Error](err)
			if !u.needed[n] {
				if e != nil && e.Down != nil && e.Down.Node != want.Node && u.stood[n] >= downAfter/2 {
					t.Logf("the machine stood still for %v: %v", u.stood[n], err)
					continue
				}
				require.NoError(t, err, "what other nodes have")
				continue
			}
			unavailable(t, err)
			require.Equal(t, want, e.Down)
			require.Contains(t, e.Message, down.Addr)
			require.Contains(t, e.Message, lost)
			require.Less(t, u.took[n], time.Second, "%v", err)
		}
	}

	waiting := proc.Open(t, []string{c.Node(0).Addr}).With(client.WaitForNodes())
	waited := make(chan error, 1)
	ctx := soon(t)
	go func() {
		value := []byte("waited")
		waited <- waiting.Execute(ctx, client.PutOp(gone[0], value), client.PutOp(live[0], value))
	}()
	code, out := linchpin(t, "put", gone[1], "at once", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitUnavailable, code, out)
	require.Contains(t, out, want.String())
	code, out = linchpin(t, "status", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitOK, code, out)
	require.Contains(t, out, lost)
	type ended struct {
		code int
		out  string
	}
	command := make(chan ended, 1)
	go func() {
		code, out := linchpin(t, "put", gone[1], "waited", "--addr", c.Node(1).Addr, "--wait-for-shards", "--timeout", "60s")
		command <- ended{code, out}
	}()
	require.Empty(t, waited)
	down.Start(t)
	require.NoError(t, <-waited)
	end := <-command
	require.Equal(t, cli.ExitOK, end.code, end.out)
	c.WaitConnected(t)
	for i := range c.Nodes() {
		db := proc.Open(t, []string{c.Node(i).Addr})
		for _, k := range slices.Concat(live, gone) {
			require.NoError(t, db.Put(soon(t), k, []byte("back")))
		}
	}
	adds.hold(t, c.Open(t))
}

// endsInTime requires that nobody waits for keys of which some may be left locked by
// transactions that only the dead node can decide.
func endsInTime(t *testing.T, db *client.DB, keys []string) {
	t.Helper()
	refused, locked := 0, 0
	for _, k := range keys {
		for _, op := range []client.Op{add(k, 0), client.NewCounter(k).GetOp()} {
			begin := time.Now()
			err := db.Execute(soon(t), op)
			require.Less(t, proc.Elapsed(begin), 2*time.Second, "%v", err)
			if err == nil {
				continue
			}
			unavailable(t, err)
			e, _ := errors.AsType[*client.Error](err)
			require.NotNil(t, e.Down, "%v", err)
			refused++
			if e.Key != "" {
				require.Contains(t, e.Message, "which is down")
				locked++
			}
		}
	}
	require.Positive(t, refused)
	t.Logf("%d refused, %d of them for a lock that only the dead node can have released", refused, locked)
}

// awaitDown waits until one node knows that another is down, which has a key, and gives
// what that takes along, as its status says.
func awaitDown(t *testing.T, n, down *proc.Node, key string) *client.NodeDown {
	t.Helper()
	var lost *client.NodeDown
	proc.WaitStatus(t, n, func(s *admin.Status) bool {
		for i := range s.Members {
			m := &s.Members[i]
			if m.Address != down.Addr || m.Up {
				continue
			}
			lost = &client.NodeDown{Node: m.Node, Address: m.Address, Shards: m.Shards, Keyspace: m.Keyspace,
				Hot: slices.Contains(m.Shards, s.HotShard)}
			return true
		}
		return false
	})
	require.NotEmpty(t, lost.Shards)
	// Its status tells that it is silent. That it is down is concluded then, unless this
	// node has stood still itself.
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	var err error
	proc.Until(t, "what is on it is refused", func(ctx context.Context) bool {
		_, _, err = db.Get(ctx, key)
		e, ok := errors.AsType[*client.Error](err)
		return ok && e.Down != nil
	}, func() string { return fmt.Sprint(err) })
	return lost
}
