package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// readerSlack is how long after a fault a reader may still fail because of it:
// a lease that was not renewed lapses within kv.DefaultLease, and within
// kv.DefaultLiveness what was lost is asked for again.
const readerSlack = kv.DefaultLease + kv.DefaultLiveness

// calmFor is the time between the faults.
const calmFor = readerSlack + time.Second/2

// TestReadersUnderKillsAndCuts has readers of all kinds among updates of all
// kinds, on few keys, while nodes are killed and connections between nodes and
// from clients are cut. No reader fails, and none is begun anew, but because of
// these faults; all that was seen is strictly serializable; and when all is
// quiet nothing is left.
//
// Between the faults there is time for some readers to be far from any. The
// last round begins so early that the load lasts for about as long as it should.
func TestReadersUnderKillsAndCuts(t *testing.T) {
	t.Parallel()
	lasts := 30 * time.Second
	if testing.Short() {
		lasts = 10 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &storm{r: rand.New(rand.NewPCG(seed, 3)), c: proc.StartCluster(t, proc.Options{Proxied: true, Args: hotKeyArgs()})}
	var addrs []string
	for _, n := range s.c.Nodes() { // clients have links of their own
		p, err := proxy.Start(n.Listen)
		require.NoError(t, err)
		t.Cleanup(p.Close)
		s.clients = append(s.clients, p)
		addrs = append(addrs, p.Addr())
	}
	begin := time.Now()
	s.run = torture.Start(t, addrs, torture.Options{Seed: seed, Clients: 8, Readers: 8, Timeout: 4 * time.Second, Slack: readerSlack})
	s.c.AwaitMetric(t, "linchpin_shard_readers", 1)
	s.c.AwaitMetric(t, "linchpin_shard_held_updates", 1)
	for round := 0; round == 0 || time.Since(begin) < lasts-calmFor; round++ {
		s.round(t, round)
		s.calm(t)
	}
	t.Logf("loaded for %v", time.Since(begin).Round(time.Millisecond))
	s.run.Finish(t)
	t.Logf("%d faults; nothing was left after %v", s.faults, s.c.RequireQuiescent(t, leftWithin).Round(time.Millisecond))
}

// storm is what is done to a cluster under load.
type storm struct {
	c       *proc.Cluster
	clients []*proxy.Proxy // from clients, by node
	run     *torture.Run
	r       *rand.Rand
	faults  int
}

// calm lets the last fault be over for all readers, and some more of them run.
// Updates go on within a lease.
func (s *storm) calm(t *testing.T) {
	t.Helper()
	begin := time.Now()
	s.run.AwaitOthers(t, 10)
	took := proc.Elapsed(begin)
	if took > kv.DefaultLease+busy {
		t.Errorf("updates went on after %v", took)
	}
	for time.Since(begin) < calmFor {
		s.run.AwaitOthers(t, 1)
	}
}

// round makes two faults, one after the other or at the same time, and has
// everything work again.
func (s *storm) round(t *testing.T, n int) {
	t.Helper()
	switch n % 4 {
	case 0:
		s.kill(t)
		s.cut(t, "cut", (*proxy.Proxy).Cut)
	case 1:
		s.cut(t, "swallow", (*proxy.Proxy).Swallow)
		s.kill(t)
	case 2: // while clients and peers find each other again
		s.cut(t, "break", (*proxy.Proxy).Break)
		s.kill(t)
		s.cut(t, "break", (*proxy.Proxy).Break)
	case 3:
		s.cut(t, "cut", (*proxy.Proxy).Cut)
		s.cut(t, "swallow", (*proxy.Proxy).Swallow)
	}
}

// kill kills a node and starts it again, perhaps when some have been told that
// it is away.
func (s *storm) kill(t *testing.T) {
	t.Helper()
	i := s.r.IntN(3)
	n := s.c.Node(i)
	end := s.fault(fmt.Sprintf("node[%d] is killed", i))
	n.Kill()
	if s.r.IntN(2) == 0 {
		s.run.AwaitFailures(t, 1+s.r.IntN(20))
	}
	n.Start(t)
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// cut does something to the link from peers or clients to a node, or to both,
// until some have been told, or for longer than a lease.
func (s *storm) cut(t *testing.T, what string, do func(*proxy.Proxy)) {
	t.Helper()
	i := s.r.IntN(3)
	links, whose := []*proxy.Proxy{s.c.Proxy(i), s.clients[i]}, "peers and clients"
	switch s.r.IntN(3) {
	case 0:
		links, whose = links[:1], "peers"
	case 1:
		links, whose = links[1:], "clients"
	}
	end := s.fault(fmt.Sprintf("%s: node[%d], from %s", what, i, whose))
	begin, least := time.Now(), time.Duration(0)
	if s.r.IntN(3) == 0 {
		least = kv.DefaultLease + kv.DefaultLiveness/2
	}
	for _, l := range links {
		do(l)
	}
	if what != "break" {
		s.run.AwaitFailures(t, 1+s.r.IntN(5)) // who is swallowed takes long to fail
		for time.Since(begin) < least {
			s.run.AwaitFailures(t, 1)
		}
	}
	for _, l := range links {
		l.Heal()
	}
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

func (s *storm) fault(what string) (end func()) {
	s.faults++
	return s.run.Fault(what)
}
