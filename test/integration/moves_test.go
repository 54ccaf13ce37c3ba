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

// tortured are all keys that the torture's clients write.
func tortured() (keys []string) {
	for _, kind := range []string{"r", "a", "b", "n", "s", "g"} {
		for i := range 8 {
			keys = append(keys, fmt.Sprintf("%s/%d", kind, i))
		}
	}
	return keys
}

// torturedOps are operations that read them.
func torturedOps() (entries []*client.Result[client.Entry], ops []client.Op) {
	for _, k := range tortured() {
		op := client.EntryOp(k)
		entries, ops = append(entries, op), append(ops, op)
	}
	return entries, ops
}

// mover has keys pinned and banned, without end, so that there is always one
// on its way; and others that are as good as any are there by their heat.
type mover struct {
	r   *rand.Rand
	dbs []*admin.Admin
	// moved has the keys that have been seen on the hot shard, and changes counts
	// how often one has come or gone since it was last seen.
	moved   map[string]bool
	changes int
}

var movers = []string{"r/0", "r/1", "r/2", "n/0", "n/1", "a/0", "b/0", "s/0", "g/1", "g/2"}

func (m *mover) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		policy := []admin.HotPolicy{admin.HotPin, admin.HotBan, admin.HotPin, admin.HotFree}[m.r.IntN(4)]
		within, cancel := context.WithTimeout(ctx, time.Second)
		db := m.dbs[i%len(m.dbs)]
		// Whether it is done does not matter.
		_, _ = db.SetHotRule(within, admin.HotRule{Key: movers[m.r.IntN(len(movers))], Policy: policy})
		if r, err := db.HotKeys(within, 1000); err == nil {
			m.see(r.Keys)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(m.r.IntN(60)) * time.Millisecond):
		}
	}
}

func (m *mover) see(keys []admin.HotKey) {
	now := map[string]bool{}
	for i := range keys {
		if !keys[i].Moved.IsZero() {
			now[keys[i].Key] = true
		}
	}
	for _, k := range tortured() {
		if now[k] != m.moved[k] {
			m.changes++
		}
	}
	m.moved = now
}

// historian keeps states of the store and reads them more than once: each is the
// same whenever and through whichever node it is read, and couples agree in it.
type historian struct {
	r    *rand.Rand
	dbs  []*client.DB
	kept int
	bad  []error
}

func (h *historian) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		within, cancel := context.WithTimeout(ctx, 4*time.Second)
		if err := h.look(within, fmt.Sprintf("state-%d", i)); err != nil && unexplained(err) {
			h.bad = append(h.bad, err)
		}
		cancel()
	}
}

// unexplained reports whether no fault explains an error. A name may be taken by
// a call whose answer was lost.
func unexplained(err error) bool {
	switch kv.KindOf(err) {
	case kv.KindUnavailable, kv.KindDeadlineExceeded, kv.KindOutcomeUnknown, kv.KindConditionFailed, kv.KindAborted:
		return false
	}
	return !errors.Is(err, context.Canceled)
}

// db is any of the clients.
func (h *historian) db() *client.DB { return h.dbs[h.r.IntN(len(h.dbs))] }

func (h *historian) look(ctx context.Context, name string) error {
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
		if err := same(first, again); err != nil {
			return fmt.Errorf("%s (%s) has changed: %w", name, id, err)
		}
		again, err = h.gets(ctx, id)
		if err != nil {
			return err
		}
		if err := same(first, again); err != nil {
			return fmt.Errorf("%s (%s) is another by keys than by range: %w", name, id, err)
		}
	}
	for i := range 8 {
		if a, b := first[fmt.Sprintf("a/%d", i)], first[fmt.Sprintf("b/%d", i)]; a != b {
			return fmt.Errorf("%s (%s): the couple %d is %q and %q", name, id, i, a, b)
		}
	}
	h.kept++
	err = h.db().DropSnapshot(ctx, id)
	if kv.KindOf(err) == kv.KindTooOld {
		return nil // the answer to the first try was lost
	}
	return err
}

func same(a, b map[string]string) error {
	for _, k := range tortured() {
		if a[k] != b[k] {
			return fmt.Errorf("%s is %q and %q", k, a[k], b[k])
		}
	}
	return nil
}

func (h *historian) scan(ctx context.Context, at string) (map[string]string, error) {
	out := map[string]string{}
	for e, err := range h.db().AtSnapshot(at).Scan(ctx, client.Range{}, client.PageSize(1+h.r.IntN(20))) {
		if err != nil {
			return nil, err
		}
		if _, twice := out[e.Key]; twice {
			return nil, fmt.Errorf("%s: %s is found twice", at, e.Key)
		}
		out[e.Key] = fmt.Sprint(e.Type, string(e.Value), e.Number)
	}
	return out, nil
}

func (h *historian) gets(ctx context.Context, at string) (map[string]string, error) {
	entries, ops := torturedOps()
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

// TestMovesUnderKillsAndCuts has keys moved to the hot shard and home without
// end, by rules and by their heat, under load of all kinds, while nodes are
// killed, most often that of the hot shard, and connections are cut. All that was
// seen is strictly serializable, in the present and at any state that was kept;
// nothing is left over; and every key is on exactly one shard, of which its home
// and the hot shard agree, with the version that was seen last.
func TestMovesUnderKillsAndCuts(t *testing.T) {
	t.Parallel()
	lasts := 10 * time.Second
	if testing.Short() {
		lasts = 5 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &storm{r: rand.New(rand.NewPCG(seed, 5)), c: proc.StartCluster(t, proc.Options{Proxied: true})}
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
	var others sync.WaitGroup
	m := &mover{r: rand.New(rand.NewPCG(seed, 6)), dbs: admins}
	h := &historian{r: rand.New(rand.NewPCG(seed, 7)), dbs: dbs}
	others.Go(func() { m.run(ctx) })
	others.Go(func() { h.run(ctx) })
	t.Cleanup(func() { stop(); others.Wait() }) // when the test gave up

	for begin := time.Now(); time.Since(begin) < lasts; {
		switch s.r.IntN(5) {
		case 0:
			s.sever(t, (*proxy.Proxy).Cut)
		case 1:
			s.sever(t, (*proxy.Proxy).Swallow)
		case 2:
			s.kill(t)
		default:
			s.killHot(t)
		}
		s.run.Await(t, 50+s.r.IntN(150))
	}
	stop()
	others.Wait()
	t.Logf("%d faults, %d times a key was seen to have come or gone, %d states were read again",
		s.faults, m.changes, h.kept)
	require.NoError(t, errors.Join(h.bad...))
	require.Greater(t, m.changes, 10)
	require.NotZero(t, h.kept)

	s.run.Finish(t)
	s.c.RequireQuiescent(t, leftWithin)
	told := reachable(t, dbs)
	for _, n := range s.c.Nodes() {
		if s.r.IntN(2) == 0 {
			n.Kill()
		} else {
			require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
		}
	}
	openStores(t, s.c).checkOwners(tortured(), told)
}

// reachable requires that every key can be written and read through every node,
// and gives what they all hold.
func reachable(t *testing.T, dbs []*client.DB) map[string]client.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	defer cancel()
	entries, ops := torturedOps()
	for i, key := range tortured() {
		var op client.Op = client.PutOp(key, []byte("last"))
		if key[0] == 'n' {
			op = add(key, 1)
		}
		require.NoError(t, dbs[i%len(dbs)].Execute(ctx, op), key)
	}
	told := map[string]client.Entry{}
	for e, err := range dbs[0].Scan(ctx, client.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, told, e.Key, "it is found twice")
		told[e.Key] = e
	}
	require.Len(t, told, len(ops))
	for _, db := range dbs {
		require.NoError(t, db.Execute(ctx, ops...))
		for i, key := range tortured() {
			require.Equal(t, told[key].Version, entries[i].Value().Version, key)
		}
	}
	return told
}

// sever does something to the link from peers to a node, or to that from clients
// besides, for a while. It may be that nobody fails of it.
func (s *storm) sever(t *testing.T, do func(*proxy.Proxy)) {
	t.Helper()
	i := s.r.IntN(3)
	links := []*proxy.Proxy{s.c.Proxy(i), s.clients[i]}[:1+s.r.IntN(2)]
	end := s.fault(fmt.Sprintf("%d links to node[%d] are severed", len(links), i))
	for _, l := range links {
		do(l)
	}
	// A fault of so long: its length is what is tried, against deadlines of real
	// processes. Nothing is expected to have happened when it is over.
	time.Sleep(time.Duration(100+s.r.IntN(1200)) * time.Millisecond)
	for _, l := range links {
		l.Heal()
	}
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// killHot kills the node of the hot shard, and starts it again.
func (s *storm) killHot(t *testing.T) {
	t.Helper()
	n := s.c.Node(s.hotNode(t))
	end := s.fault("the hot shard's node is killed")
	n.Kill()
	n.Start(t)
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// hotNode is the place of the node that has the hot shard.
func (s *storm) hotNode(t *testing.T) int {
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
