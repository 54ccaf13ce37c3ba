package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// notedAdds are adds of 1 that clients send with no other option than where, and what
// they were told of them.
type notedAdds struct {
	keys                 [][]byte
	acked, unknown, told []atomic.Int64
	all                  sync.WaitGroup
	stop                 context.CancelFunc
	mu                   sync.Mutex
	bad                  []error
}

func startNotedAdds(t *testing.T, addrs []string, keys [][]byte) *notedAdds {
	ctx, cancel := context.WithCancel(context.Background())
	a := &notedAdds{keys: keys, acked: make([]atomic.Int64, len(keys)), unknown: make([]atomic.Int64, len(keys)), told: make([]atomic.Int64, 1), stop: cancel}
	t.Cleanup(a.finish)
	for i := range 8 {
		db := proc.OpenOld(t, addrs)
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
	_, err := db.Execute(ctx, client.Add(a.keys[one], 1), client.Add(a.keys[two], 1))
	a.told[0].Add(1)
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
		out, err := db.Execute(soon(t), client.Get(k))
		require.NoError(t, err)
		n := out.Results[0].Number
		require.GreaterOrEqual(t, n, a.acked[i].Load(), "%s: acknowledged and lost", k)
		require.LessOrEqual(t, n, a.acked[i].Load()+a.unknown[i].Load(), "%s: applied, and told that nothing was", k)
		unknown += a.unknown[i].Load()
	}
	t.Logf("%d transactions, %d adds of which nobody knew", a.told[0].Load(), unknown)
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
func (u *user) use(n int, k, l []byte, needed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), proc.Patience)
	defer cancel()
	begin := time.Now()
	var err error
	switch n % 5 {
	case 0:
		_, err = u.db.Execute(ctx, client.Put(k, []byte("x")), client.Put(l, []byte("x")))
	case 1:
		_, err = u.db.Execute(ctx, client.Get(k), client.Get(l))
	case 2:
		err = u.db.Update(ctx, func(tx *client.Tx) error {
			if _, err := tx.Get(k); err != nil {
				return err
			}
			return tx.Put(l, []byte("y"))
		})
	case 3:
		err = u.db.View(ctx, func(ro *client.ReadTx) error {
			_, err := ro.Get(k)
			if err == nil {
				_, err = ro.Get(l)
			}
			return err
		})
	case 4:
		err = u.db.Update(ctx, func(tx *client.Tx) error { return errors.Join(tx.Put(k, []byte("z")), tx.Put(l, []byte("z"))) })
	}
	u.took, u.errs, u.needed = append(u.took, proc.Took(begin)), append(u.errs, err), append(u.needed, needed)
	u.stood = append(u.stood, proc.Stood(begin.Add(-2*downAfter), time.Now()))
}

// TestLoadGoesOnWhileANodeIsDown: of three nodes one is killed under load. What is told
// of the transactions that were under way is so. From when the node is known to be down
// clients, with no other option than where, do what needs other nodes alone; and whatever needs
// that node fails at once, by its name and that of its shards. Who wants to wait for
// it does, and when it is back everything works.
func TestLoadGoesOnWhileANodeIsDown(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	var counters [][]byte
	for i := range 24 {
		counters = append(counters, fmt.Appendf(nil, "counter%d", i))
	}
	at := c.Places(t, keysOf(36))
	adds := startNotedAdds(t, c.Addrs(), counters)
	proc.Until(t, "the load is on", func(context.Context) bool { return adds.told[0].Load() > 300 }, func() string { return "it is not" })
	down := c.Node(2)
	down.Kill()
	want := awaitDown(t, c.Node(0), down, at[2][0])
	awaitDown(t, c.Node(1), down, at[2][0])
	adds.finish()

	endsInTime(t, proc.OpenOld(t, []string{c.Node(0).Addr}), counters)

	live, gone := slices.Concat(at[0], at[1]), at[2]
	users := make([]*user, 12)
	var all sync.WaitGroup
	for i := range users {
		u := &user{db: proc.OpenOld(t, []string{c.Node(i % 2).Addr, down.Addr})}
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
			require.Contains(t, e.Text, down.Addr)
			require.Contains(t, e.Text, want.Lost())
			require.Less(t, u.took[n], time.Second, "%v", err)
		}
	}

	waiting := proc.OpenOld(t, []string{c.Node(0).Addr}, client.WithWaitForShards(true))
	waited := make(chan error, 1)
	ctx := soon(t)
	go func() {
		_, err := waiting.Execute(ctx, client.Put(gone[0], []byte("waited")), client.Put(live[0], []byte("waited")))
		waited <- err
	}()
	code, out := linchpin(t, "put", string(gone[1]), "at once", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitUnavailable, code, out)
	require.Contains(t, out, want.String())
	code, out = linchpin(t, "status", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitOK, code, out)
	require.Contains(t, out, want.Lost())
	type ended struct {
		code int
		out  string
	}
	command := make(chan ended, 1)
	go func() {
		code, out := linchpin(t, "put", string(gone[1]), "waited", "--addr", c.Node(1).Addr, "--wait-for-shards", "--timeout", "60s")
		command <- ended{code, out}
	}()
	require.Empty(t, waited)
	down.Start(t)
	require.NoError(t, <-waited)
	end := <-command
	require.Equal(t, cli.ExitOK, end.code, end.out)
	c.Met(t)
	for i := range c.Nodes() {
		db := proc.OpenOld(t, []string{c.Node(i).Addr})
		for _, k := range slices.Concat(live, gone) {
			_, err := db.Execute(soon(t), client.Put(k, []byte("back")))
			require.NoError(t, err)
		}
	}
	adds.hold(t, c.OpenOld(t))
}

// endsInTime requires that nobody waits for keys of which some may be left locked by
// transactions that only the dead node can decide.
func endsInTime(t *testing.T, db *client.DB, keys [][]byte) {
	t.Helper()
	refused, locked := 0, 0
	for _, k := range keys {
		for _, op := range []client.Op{client.Add(k, 0), client.Get(k)} {
			begin := time.Now()
			_, err := db.Execute(soon(t), op)
			require.Less(t, proc.Took(begin), 2*time.Second, "%v", err)
			if err == nil {
				continue
			}
			unavailable(t, err)
			e, _ := errors.AsType[*client.Error](err)
			require.NotNil(t, e.Down, "%v", err)
			refused++
			if len(e.Key) > 0 {
				require.Contains(t, e.Text, "which is down")
				locked++
			}
		}
	}
	require.Positive(t, refused)
	t.Logf("%d refused, %d of them for a lock that only the dead node can have released", refused, locked)
}

// awaitDown waits until one node knows that another is down, which has a key, and gives
// what that takes along, as its status says.
func awaitDown(t *testing.T, n, down *proc.Node, key []byte) *kv.Down {
	t.Helper()
	var lost *kv.Down
	proc.WaitStatus(t, n, func(s *admin.Status) bool {
		for i := range s.Members {
			m := &s.Members[i]
			if m.Address != down.Addr || m.Up {
				continue
			}
			lost = &kv.Down{Node: kv.NodeID(m.Node), Address: m.Address, Keyspace: m.Keyspace}
			for _, sh := range m.Shards {
				lost.Shards = append(lost.Shards, kv.ShardID(sh))
				lost.Hot = lost.Hot || sh == s.HotShard
			}
			return true
		}
		return false
	})
	require.NotEmpty(t, lost.Shards)
	// Its status tells that it is silent. That it is down is concluded then, unless this
	// node has stood still itself.
	db := proc.OpenOld(t, []string{n.Addr}, client.WithRetries(false))
	var err error
	proc.Until(t, "what is on it is refused", func(ctx context.Context) bool {
		_, err = db.Execute(ctx, client.Get(key))
		e, ok := errors.AsType[*client.Error](err)
		return ok && e.Down != nil
	}, func() string { return fmt.Sprint(err) })
	return lost
}
