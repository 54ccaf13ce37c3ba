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

// countedAdds are concurrent adds of 1 by clients with default options, and their outcomes.
type countedAdds struct {
	keys           []string
	acked, unknown []atomic.Int64 // by key
	ended          atomic.Int64
	all            sync.WaitGroup
	stop           context.CancelFunc
	mu             sync.Mutex
	unexpected     []error
}

func startCountedAdds(t *testing.T, addrs, keys []string) *countedAdds {
	ctx, cancel := context.WithCancel(context.Background())
	n := len(keys)
	a := &countedAdds{keys: keys, acked: make([]atomic.Int64, n), unknown: make([]atomic.Int64, n), stop: cancel}
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

// add adds to two keys, which are on different nodes in most cases.
func (a *countedAdds) add(db *client.DB, one, two int) {
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
		a.unexpected = append(a.unexpected, err)
	}
}

func (a *countedAdds) finish() {
	a.stop()
	a.all.Wait()
}

// requireConsistent requires that the counters agree with the outcomes.
func (a *countedAdds) requireConsistent(t *testing.T, db *client.DB) {
	t.Helper()
	require.Empty(t, a.unexpected)
	unknown := int64(0)
	for i, k := range a.keys {
		n, err := client.NewCounter(k).Get(proc.Context(t), db)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, a.acked[i].Load(), "%s: acknowledged and lost", k)
		require.LessOrEqual(t, n, a.acked[i].Load()+a.unknown[i].Load(), "%s: applied, and reported as not applied", k)
		unknown += a.unknown[i].Load()
	}
	t.Logf("%d transactions, %d adds with unknown outcome", a.ended.Load(), unknown)
}

// downAfter is the time after which a silent node is considered down.
const downAfter = 3 * time.Second

// probeClient runs transactions sequentially and records how each ended.
type probeClient struct {
	db        *client.DB
	durations []time.Duration
	errs      []error
	// needsDownNode records for each transaction whether it needed a key of the down node. stalls records for
	// how long the machine was stalled before and during it.
	needsDownNode []bool
	stalls        []time.Duration
}

// run runs one of five kinds of transactions on two keys.
func (u *probeClient) run(n int, k, l string, needed bool) {
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
	u.durations, u.errs, u.needsDownNode = append(u.durations, proc.Elapsed(begin)), append(u.errs, err),
		append(u.needsDownNode, needed)
	u.stalls = append(u.stalls, proc.StallTime(begin.Add(-2*downAfter), time.Now()))
}

// TestLoadContinuesWhileNodeIsDown kills one of three nodes under load.
//
//  1. The outcomes of the transactions in flight are correct.
//  2. After the node is detected as down, clients with default options succeed with transactions that do not need it.
//  3. A transaction that needs it fails at once with Unavailable; the error names the node and its shards.
//  4. A client with WaitForNodes waits instead, and succeeds when the node is back.
func TestLoadContinuesWhileNodeIsDown(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1})
	var counters []string
	for i := range 24 {
		counters = append(counters, fmt.Sprintf("counter%d", i))
	}
	at := c.KeysByNode(t, proc.Keys(36))
	adds := startCountedAdds(t, c.Addrs(), counters)
	started := func(context.Context) bool { return adds.ended.Load() > 300 }
	proc.Until(t, "the load runs", started, func() string { return "" })
	down := c.Node(2)
	down.Kill()
	want := awaitDown(t, c.Node(0), down, at[2][0])
	_, shards, _ := strings.Cut(want.String(), ", and with it ")
	awaitDown(t, c.Node(1), down, at[2][0])
	adds.finish()

	requireNoBlocking(t, proc.Open(t, []string{c.Node(0).Addr}), counters)

	otherKeys, downKeys := slices.Concat(at[0], at[1]), at[2]
	users := make([]*probeClient, 12)
	var all sync.WaitGroup
	for i := range users {
		u := &probeClient{db: proc.Open(t, []string{c.Node(i % 2).Addr, down.Addr})}
		users[i] = u
		all.Go(func() {
			for n := range 60 {
				k, l := otherKeys[(i+7*n)%len(otherKeys)], otherKeys[(3*i+n)%len(otherKeys)]
				if n%3 == 0 {
					u.run(n/3, k, downKeys[(i+n)%len(downKeys)], true)
				} else {
					u.run(n, k, l, false)
				}
			}
		})
	}
	all.Wait()
	for _, u := range users {
		for n, err := range u.errs {
			e, _ := errors.AsType[*client.Error](err)
			if !u.needsDownNode[n] {
				if e != nil && e.Down != nil && e.Down.Node != want.Node && u.stalls[n] >= downAfter/2 {
					t.Logf("the machine was stalled for %v: %v", u.stalls[n], err)
					continue
				}
				require.NoError(t, err, "keys of other nodes")
				continue
			}
			requireUnavailable(t, err)
			require.Equal(t, want, e.Down)
			require.Contains(t, e.Message, down.Addr)
			require.Contains(t, e.Message, shards)
			require.Less(t, u.durations[n], time.Second, "%v", err)
		}
	}

	errs := 0
	for _, err := range users[0].db.Scan(proc.Context(t), client.Prefix("key/")) {
		errs++
		requireUnavailable(t, err)
	}
	require.Equal(t, 1, errs, "a scan that needs the node fails once")

	waiting := proc.Open(t, []string{c.Node(0).Addr}).With(client.WaitForNodes())
	waited := make(chan error, 1)
	ctx := proc.Context(t)
	go func() {
		value := []byte("waited")
		waited <- waiting.Execute(ctx, client.PutOp(downKeys[0], value), client.PutOp(otherKeys[0], value))
	}()
	code, out := proc.Exec(t, "put", downKeys[1], "at once", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitUnavailable, code, out)
	require.Contains(t, out, want.String())
	code, out = proc.Exec(t, "status", "--addr", c.Node(0).Addr)
	require.Equal(t, cli.ExitOK, code, out)
	require.Contains(t, out, shards)
	type ended struct {
		code int
		out  string
	}
	command := make(chan ended, 1)
	go func() {
		code, out := proc.Exec(t, "put", downKeys[1], "waited", "--addr", c.Node(1).Addr, "--wait-for-shards",
			"--timeout", "60s")
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
		for _, k := range slices.Concat(otherKeys, downKeys) {
			require.NoError(t, db.Put(proc.Context(t), k, []byte("back")))
		}
	}
	adds.requireConsistent(t, c.Open(t))
}

// requireNoBlocking requires that transactions on the keys end in time. Some keys may be locked by
// transactions that only the down node can decide.
func requireNoBlocking(t *testing.T, db *client.DB, keys []string) {
	t.Helper()
	rejected, locked := 0, 0
	for _, k := range keys {
		for _, op := range []client.Op{add(k, 0), client.NewCounter(k).GetOp()} {
			begin := time.Now()
			err := db.Execute(proc.Context(t), op)
			require.Less(t, proc.Elapsed(begin), 2*time.Second, "%v", err)
			if err == nil {
				continue
			}
			requireUnavailable(t, err)
			e, _ := errors.AsType[*client.Error](err)
			require.NotNil(t, e.Down, "%v", err)
			rejected++
			if e.Key != "" {
				require.Contains(t, e.Message, "which is down")
				locked++
			}
		}
	}
	require.Positive(t, rejected)
	t.Logf("%d rejected, %d of them for a lock that only the down node can release", rejected, locked)
}

// awaitDown waits until node n reports the node down, which has the key, as down. It returns the shards of
// that node according to the status.
func awaitDown(t *testing.T, n, down *proc.Node, key string) *client.NodeDown {
	t.Helper()
	var result *client.NodeDown
	proc.WaitStatus(t, n, func(s *admin.Status) bool {
		for i := range s.Members {
			m := &s.Members[i]
			if m.Address != down.Addr || m.Up {
				continue
			}
			result = &client.NodeDown{Node: m.Node, Address: m.Address, Shards: m.Shards, Keyspace: m.Keyspace,
				Hot: slices.Contains(m.Shards, s.HotShard)}
			return true
		}
		return false
	})
	require.NotEmpty(t, result.Shards)
	// The status reports a silent node at once. Requests are rejected only when the node is considered down,
	// which takes longer if n was stalled itself.
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	var err error
	proc.Until(t, "requests for its keys are rejected", func(ctx context.Context) bool {
		_, _, err = db.Get(ctx, key)
		e, ok := errors.AsType[*client.Error](err)
		return ok && e.Down != nil
	}, func() string { return fmt.Sprint(err) })
	return result
}

// requireUnavailable requires an error of kind Unavailable with a message and a hint.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, client.KindUnavailable, e.Kind, "%v", err)
	require.NotEmpty(t, e.Hint)
	require.NotEmpty(t, e.Message)
}
