package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// tortureKeys returns all keys that the clients of package torture write.
func tortureKeys() (keys []string) {
	for _, kind := range []string{"r", "a", "b", "n", "s", "g"} {
		for i := range 8 {
			keys = append(keys, fmt.Sprintf("%s/%d", kind, i))
		}
	}
	return keys
}

// tortureOps returns operations that read all of them.
func tortureOps() (entries []*client.Result[client.Entry], ops []client.Op) {
	for _, k := range tortureKeys() {
		op := client.EntryOp(k)
		entries, ops = append(entries, op), append(ops, op)
	}
	return entries, ops
}

// mover pins, bans and frees keys continuously, so that always some key is moving. Other keys move by their
// heat.
type mover struct {
	r   *rand.Rand
	dbs []*admin.Admin
	// onHotShard has the keys that were on the hot shard at the last check. changes counts the keys that have
	// moved between two checks.
	onHotShard map[string]bool
	changes    int
}

var moverKeys = []string{"r/0", "r/1", "r/2", "n/0", "n/1", "a/0", "b/0", "s/0", "g/1", "g/2"}

func (m *mover) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		policy := []admin.HotPolicy{admin.HotPin, admin.HotBan, admin.HotPin, admin.HotFree}[m.r.IntN(4)]
		within, cancel := context.WithTimeout(ctx, time.Second)
		db := m.dbs[i%len(m.dbs)]
		// The result does not matter.
		_, _ = db.SetHotRule(within, admin.HotRule{Key: moverKeys[m.r.IntN(len(moverKeys))], Policy: policy})
		if r, err := db.HotKeys(within, 1000); err == nil {
			m.countChanges(r.Keys)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(m.r.IntN(60)) * time.Millisecond):
		}
	}
}

func (m *mover) countChanges(keys []admin.HotKey) {
	now := map[string]bool{}
	for i := range keys {
		if !keys[i].Moved.IsZero() {
			now[keys[i].Key] = true
		}
	}
	for _, k := range tortureKeys() {
		if now[k] != m.onHotShard[k] {
			m.changes++
		}
	}
	m.onHotShard = now
}

// snapshotChecker creates snapshots and reads each several times. It requires the same result every time
// and at every node, and equal values of each couple.
type snapshotChecker struct {
	r       *rand.Rand
	dbs     []*client.DB
	checked int
	errs    []error
}

func (h *snapshotChecker) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		within, cancel := context.WithTimeout(ctx, 4*time.Second)
		if err := h.check(within, fmt.Sprintf("state-%d", i)); err != nil && isUnexplained(err) {
			h.errs = append(h.errs, err)
		}
		cancel()
	}
}

// isUnexplained reports whether no fault explains an error. A name is in use if the response to an earlier
// attempt was lost.
func isUnexplained(err error) bool {
	switch kv.KindOf(err) {
	case kv.KindUnavailable, kv.KindDeadlineExceeded, kv.KindOutcomeUnknown, kv.KindConditionFailed, kv.KindAborted:
		return false
	}
	return !errors.Is(err, context.Canceled)
}

// db returns a random client.
func (h *snapshotChecker) db() *client.DB { return h.dbs[h.r.IntN(len(h.dbs))] }

func (h *snapshotChecker) check(ctx context.Context, name string) error {
	s, err := h.db().CreateSnapshot(ctx, name, client.TTL(time.Minute))
	if err != nil {
		return err
	}
	id := s.Info().ID
	first, err := h.scan(ctx, id)
	if err != nil {
		return err
	}
	for range 3 {
		again, err := h.scan(ctx, id)
		if err != nil {
			return err
		}
		if err := compareStates(first, again); err != nil {
			return fmt.Errorf("%s (%s) has changed: %w", name, id, err)
		}
		again, err = h.gets(ctx, id)
		if err != nil {
			return err
		}
		if err := compareStates(first, again); err != nil {
			return fmt.Errorf("%s (%s) differs between a read of keys and a scan: %w", name, id, err)
		}
	}
	for i := range 8 {
		if a, b := first[fmt.Sprintf("a/%d", i)], first[fmt.Sprintf("b/%d", i)]; a != b {
			return fmt.Errorf("%s (%s): the keys of couple %d are %q and %q", name, id, i, a, b)
		}
	}
	h.checked++
	err = h.db().DropSnapshot(ctx, id)
	if kv.KindOf(err) == kv.KindTooOld {
		return nil // the response to the first attempt was lost
	}
	return err
}

func compareStates(a, b map[string]string) error {
	for _, k := range tortureKeys() {
		if a[k] != b[k] {
			return fmt.Errorf("%s is %q and %q", k, a[k], b[k])
		}
	}
	return nil
}

func (h *snapshotChecker) scan(ctx context.Context, at string) (map[string]string, error) {
	out := map[string]string{}
	for e, err := range h.db().AtSnapshot(at).Scan(ctx, client.Range{}, client.PageSize(1+h.r.IntN(20))) {
		if err != nil {
			return nil, err
		}
		if _, twice := out[e.Key]; twice {
			return nil, fmt.Errorf("%s: %s is returned twice", at, e.Key)
		}
		out[e.Key] = fmt.Sprint(e.Type, string(e.Value), e.Number)
	}
	return out, nil
}

func (h *snapshotChecker) gets(ctx context.Context, at string) (map[string]string, error) {
	entries, ops := tortureOps()
	if err := h.db().AtSnapshot(at).Execute(ctx, ops...); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, op := range entries {
		if e := op.Value(); op.Found() {
			out[e.Key] = fmt.Sprint(e.Type, string(e.Value), e.Number)
		}
	}
	return out, nil
}

// TestKeyMovesSurviveKillsAndCuts moves keys to the hot shard and back all the time, by rules and by their
// heat, under load of all kinds. Meanwhile nodes are killed, most often the one of the hot shard, and
// connections are cut.
//
//  1. All results are strictly serializable, in the present and in every snapshot.
//  2. Nothing is left in flight.
//  3. Every key is on exactly one shard, on which its home shard and the hot shard agree, and it has
//     there the version that clients read last.
func TestKeyMovesSurviveKillsAndCuts(t *testing.T) {
	t.Parallel()
	duration := 10 * time.Second
	if testing.Short() {
		duration = 5 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &faultInjector{r: rand.New(rand.NewPCG(seed, 5)),
		c: proc.StartCluster(t, proc.Options{Replicas: 1, Proxied: true})}
	var addrs []string
	var dbs []*client.DB
	var admins []*admin.Admin
	for _, n := range s.c.Nodes() {
		p, err := proxy.Start(n.Listen)
		require.NoError(t, err)
		t.Cleanup(p.Close)
		s.clients = append(s.clients, p)
		addrs = append(addrs, p.Addr())
		db := proc.Open(t, []string{p.Addr()})
		dbs, admins = append(dbs, db), append(admins, admin.New(db))
	}
	s.run = torture.Start(t, addrs, torture.Options{Seed: seed, Clients: 12, Timeout: 2 * time.Second})
	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	m := &mover{r: rand.New(rand.NewPCG(seed, 6)), dbs: admins}
	h := &snapshotChecker{r: rand.New(rand.NewPCG(seed, 7)), dbs: dbs}
	background.Go(func() { m.run(ctx) })
	background.Go(func() { h.run(ctx) })
	t.Cleanup(func() { stop(); background.Wait() }) // if the test has failed

	for begin := time.Now(); time.Since(begin) < duration; {
		switch s.r.IntN(5) {
		case 0:
			s.disturbLinks(t, (*proxy.Proxy).Cut)
		case 1:
			s.disturbLinks(t, (*proxy.Proxy).Swallow)
		case 2:
			s.kill(t)
		default:
			s.killHot(t)
		}
		s.run.Await(t, 50+s.r.IntN(150))
	}
	stop()
	background.Wait()
	t.Logf("%d faults, %d moves of keys, %d snapshots checked",
		s.faults, m.changes, h.checked)
	require.NoError(t, errors.Join(h.errs...))
	require.Greater(t, m.changes, 10)
	require.NotZero(t, h.checked)

	s.run.Finish(t)
	s.c.RequireQuiescent(t, quiescentWithin)
	entriesByKey := requireReachable(t, dbs)
	for _, n := range s.c.Nodes() {
		if s.r.IntN(2) == 0 {
			n.Kill()
		} else {
			require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
		}
	}
	openStores(t, s.c).checkOwners(tortureKeys(), entriesByKey)
}

// requireReachable requires that every key can be written and read at every node, and returns the entries
// that all nodes return.
func requireReachable(t *testing.T, dbs []*client.DB) map[string]client.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	defer cancel()
	entries, ops := tortureOps()
	for i, key := range tortureKeys() {
		var op client.Op = client.PutOp(key, []byte("last"))
		if key[0] == 'n' {
			op = add(key, 1)
		}
		require.NoError(t, dbs[i%len(dbs)].Execute(ctx, op), key)
	}
	entriesByKey := map[string]client.Entry{}
	for e, err := range dbs[0].Scan(ctx, client.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, entriesByKey, e.Key, "a key is returned twice")
		entriesByKey[e.Key] = e
	}
	require.Len(t, entriesByKey, len(ops))
	for _, db := range dbs {
		require.NoError(t, db.Execute(ctx, ops...))
		for i, key := range tortureKeys() {
			require.Equal(t, entriesByKey[key].Version, entries[i].Value().Version, key)
		}
	}
	return entriesByKey
}

// disturbLinks disturbs the link from peers to a node, or also the one from clients, for a while. Possibly
// no transaction fails.
func (s *faultInjector) disturbLinks(t *testing.T, do func(*proxy.Proxy)) {
	t.Helper()
	i := s.r.IntN(3)
	links := []*proxy.Proxy{s.c.Proxy(i), s.clients[i]}[:1+s.r.IntN(2)]
	end := s.beginFault(fmt.Sprintf("%d links to node[%d] are disturbed", len(links), i))
	for _, l := range links {
		do(l)
	}
	// The length of the fault is what is tested, against timeouts of real processes. No event marks its end.
	time.Sleep(time.Duration(100+s.r.IntN(1200)) * time.Millisecond)
	for _, l := range links {
		l.Heal()
	}
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// killHot kills the node of the hot shard and starts it again.
func (s *faultInjector) killHot(t *testing.T) {
	t.Helper()
	n := s.c.Node(s.hotNodePosition(t))
	end := s.beginFault("the node of the hot shard is killed")
	n.Kill()
	n.Start(t)
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// hotNodePosition returns the position of the node of the hot shard.
func (s *faultInjector) hotNodePosition(t *testing.T) int {
	t.Helper()
	for i, n := range s.c.Nodes() {
		ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
		m, err := n.Metrics(ctx)
		cancel()
		require.NoError(t, err)
		if _, has := m["linchpin_hot_busy_ratio"]; has {
			return i
		}
	}
	t.Fatal("no node has the hot shard")
	return -1
}
