package soak

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

const (
	// slack is how long after the faults of a round readers may fail because of
	// them.
	slack = kv.DefaultLease + kv.DefaultLiveness
	// leftWithin is how long something may be left on a node when the load has
	// ended.
	leftWithin = kv.DefaultLease + proc.WaitTimeout/2
)

// outcome is what became of a round.
type outcome struct {
	round Round
	// loaded is how long clients were at work, ended how their transactions
	// ended, and recovered how long it took after the last fault until all went
	// on.
	loaded, recovered, took time.Duration
	ended                   tally
	// invariants is how many hold; judged says that all judges are content.
	invariants int
	judged     bool
}

func (o *outcome) String() string {
	verdict := "FAILED"
	if o.judged {
		verdict = fmt.Sprintf("%d invariants, history", o.invariants)
	}
	perSecond := 0.0
	if o.loaded > 0 {
		perSecond = float64(o.ended.committed) / o.loaded.Seconds()
	}
	return fmt.Sprintf("%5d %9.0f %7d %8d %9.1f %6.0f  %-24s %s", o.round.Number, perSecond, o.ended.failed, o.ended.unknown, o.recovered.Seconds(),
		o.took.Seconds(), verdict, o.counts())
}

// counts tells how many faults there were of each kind.
func (o *outcome) counts() string {
	var n [kinds]int
	for _, f := range o.round.Faults {
		n[f.Kind]++
	}
	var all []string
	for k, count := range n {
		switch {
		case count > 1:
			all = append(all, fmt.Sprintf("%d×%v", count, Kind(k)))
		case count == 1:
			all = append(all, Kind(k).String())
		}
	}
	return strings.Join(all, ", ")
}

const outcomeHead = "round commits/s  failed  unknown recovered  took  verdict                  faults"

// run does a round.
func (s *soak) run(t *testing.T, o *outcome) {
	begin := time.Now()
	defer func() {
		o.took = time.Since(begin)
		if t.Failed() {
			s.cluster.keepProfiles(t, fmt.Sprintf("round-%d", o.round.Number))
		}
	}()
	t.Logf("round %d: %v", o.round.Number, o.round)
	db := s.cluster.Open(t)
	name := tortureName(o.round.Number)
	empty(t, db)
	apps := startLoads(s.ctx, t, s.cluster.Addrs(), o.round)
	clients := torture.Start(t, s.cluster.Addrs(), torture.Options{
		Clients: s.clients, Readers: s.clients, Timeout: 4 * time.Second, Seed: o.round.Seed, Slack: slack, Prefix: name,
	})
	loaded := time.Now()
	apps.await(t, 5)
	clients.Await(t, 50)
	over := clients.Fault("the faults of the round")
	d := &doer{cluster: s.cluster, t: t, ctx: s.ctx, wide: s.wide}
	if err := d.all(o.round.Faults); err != nil {
		t.Fatal(err)
	}
	o.recovered = s.recover(t, d, apps, clients)
	over()
	for calm := time.Now(); time.Since(calm) < slack+time.Second; {
		clients.AwaitUpdates(t, 1) // some readers are to be far from any fault
	}
	o.ended = apps.end(t)
	clients.Finish(t)
	o.loaded = time.Since(loaded)
	all := clients.Counts()
	o.ended.committed, o.ended.failed, o.ended.unknown = o.ended.committed+all.Committed, o.ended.failed+all.Failed, o.ended.unknown+all.Unknown
	s.cluster.RequireQuiescent(t, leftWithin)
	o.invariants = apps.verify(t)
	forget(t, db, append(apps.prefixes(), name)...)
	s.cluster.RequireQuiescent(t, leftWithin)
	empty(t, db)
	o.judged = !t.Failed()
}

// recover waits until all nodes serve, know each other, and every kind of client
// goes on; and tells how long that took.
func (s *soak) recover(t *testing.T, d *doer, apps *loads, clients *torture.Run) time.Duration {
	t.Helper()
	begin := time.Now()
	for i, n := range s.cluster.Nodes() {
		if d.begun[i] {
			n.AwaitServing(t)
		}
	}
	s.cluster.WaitConnected(t)
	met := time.Since(begin)
	apps.await(t, 5)
	clients.Await(t, 50)
	took := time.Since(begin)
	t.Logf("all nodes knew each other %.1f s after the last fault, and all clients went on after %.1f s", met.Seconds(), took.Seconds())
	return took
}

// soak is all of it.
type soak struct {
	ctx     context.Context
	cluster *cluster
	wide    *wide
	// clients is how many clients are recorded that update, and that read.
	clients int
	samples sampler
	done    []*outcome
}
