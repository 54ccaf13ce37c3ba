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

// readerSlack is the time after a fault during which a reader may fail because of it: a lease that was not
// renewed expires within kv.DefaultLease, and lost messages are sent again within kv.DefaultLiveness.
const readerSlack = kv.DefaultLease + kv.DefaultLiveness

// calmFor is the time between two rounds of faults.
const calmFor = readerSlack + time.Second/2

// TestReadersFailOnlyByFaults runs readers and updates of all kinds on few keys, while nodes are killed and
// connections between nodes and from clients are cut. A reader fails or is retried only because of these
// faults, never because of an update. All results are strictly serializable, and nothing is left in flight.
//
// The time between the faults is long enough for some readers to be unaffected by any. The last round
// begins early enough that the load ends on time.
func TestReadersFailOnlyByFaults(t *testing.T) {
	t.Parallel()
	duration := 30 * time.Second
	if testing.Short() {
		duration = 10 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &faultInjector{r: rand.New(rand.NewPCG(seed, 3)),
		c: proc.StartCluster(t, proc.Options{Proxied: true, Args: torture.HotKeyArgs()})}
	var addrs []string
	for _, n := range s.c.Nodes() { // clients have their own links
		p, err := proxy.Start(n.Listen)
		require.NoError(t, err)
		t.Cleanup(p.Close)
		s.clients = append(s.clients, p)
		addrs = append(addrs, p.Addr())
	}
	begin := time.Now()
	s.run = torture.Start(t, addrs,
		torture.Options{Seed: seed, Clients: 8, Readers: 8, Timeout: 4 * time.Second, Slack: readerSlack})
	s.c.AwaitMetric(t, "linchpin_shard_readers", 1)
	s.c.AwaitMetric(t, "linchpin_shard_held_updates", 1)
	for round := 0; round == 0 || time.Since(begin) < duration-calmFor; round++ {
		s.injectRound(t, round)
		s.awaitCalm(t)
	}
	t.Logf("loaded for %v", time.Since(begin).Round(time.Millisecond))
	s.run.Finish(t)
	t.Logf("%d faults; quiescent after %v", s.faults, s.c.RequireQuiescent(t, quiescentWithin).Round(time.Millisecond))
}

// faultInjector injects faults into a cluster under load.
type faultInjector struct {
	c       *proc.Cluster
	clients []*proxy.Proxy // links from clients, by node
	run     *torture.Run
	r       *rand.Rand
	faults  int
}

// awaitCalm waits until the last fault can affect no reader any more, and some more readers have run.
// Updates continue within a lease.
func (s *faultInjector) awaitCalm(t *testing.T) {
	t.Helper()
	begin := time.Now()
	s.run.AwaitUpdates(t, 10)
	elapsed := proc.Elapsed(begin)
	if elapsed > kv.DefaultLease+machineSlack {
		t.Errorf("updates continued only after %v", elapsed)
	}
	for time.Since(begin) < calmFor {
		s.run.AwaitUpdates(t, 1)
	}
}

// injectRound injects two or three faults, sequentially, and waits until everything works again.
func (s *faultInjector) injectRound(t *testing.T, n int) {
	t.Helper()
	switch n % 4 {
	case 0:
		s.kill(t)
		s.cut(t, "cut", (*proxy.Proxy).Cut)
	case 1:
		s.cut(t, "swallow", (*proxy.Proxy).Swallow)
		s.kill(t)
	case 2: // while clients and peers reconnect
		s.cut(t, "break", (*proxy.Proxy).Break)
		s.kill(t)
		s.cut(t, "break", (*proxy.Proxy).Break)
	case 3:
		s.cut(t, "cut", (*proxy.Proxy).Cut)
		s.cut(t, "swallow", (*proxy.Proxy).Swallow)
	}
}

// kill kills a node and starts it again, in half of the cases after some transactions have failed.
func (s *faultInjector) kill(t *testing.T) {
	t.Helper()
	i := s.r.IntN(3)
	n := s.c.Node(i)
	end := s.beginFault(fmt.Sprintf("node[%d] is killed", i))
	n.Kill()
	if s.r.IntN(2) == 0 {
		s.run.AwaitFailures(t, 1+s.r.IntN(20))
	}
	n.Start(t)
	s.c.WaitConnected(t)
	s.run.Await(t, 1)
	end()
}

// cut disturbs the link from peers, from clients, or both to a node, until some transactions have failed,
// sometimes for longer than a lease.
func (s *faultInjector) cut(t *testing.T, what string, do func(*proxy.Proxy)) {
	t.Helper()
	i := s.r.IntN(3)
	links, from := []*proxy.Proxy{s.c.Proxy(i), s.clients[i]}, "peers and clients"
	switch s.r.IntN(3) {
	case 0:
		links, from = links[:1], "peers"
	case 1:
		links, from = links[1:], "clients"
	}
	end := s.beginFault(fmt.Sprintf("%s: node[%d], from %s", what, i, from))
	begin, minimum := time.Now(), time.Duration(0)
	if s.r.IntN(3) == 0 {
		minimum = kv.DefaultLease + kv.DefaultLiveness/2
	}
	for _, l := range links {
		do(l)
	}
	if what != "break" {
		s.run.AwaitFailures(t, 1+s.r.IntN(5)) // with Swallow a failure takes a timeout
		for time.Since(begin) < minimum {
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

func (s *faultInjector) beginFault(what string) (end func()) {
	s.faults++
	return s.run.Fault(what)
}
