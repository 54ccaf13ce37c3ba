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
	// readerSlack is the time after the faults of a round during which readers may fail because of them.
	readerSlack = kv.DefaultLease + kv.DefaultLiveness
	// quiescentWithin bounds the time until nothing is in flight after the end of the load.
	quiescentWithin = kv.DefaultLease + proc.WaitTimeout/2
)

// outcome is the result of a round.
type outcome struct {
	round Round
	// loaded is the duration of the load, ended are the outcomes of its transactions, and recovered is the
	// time from the last fault until all clients committed again.
	loaded, recovered, duration time.Duration
	ended                       tally
	// invariants is the number of invariants that hold. passed reports whether all checks have passed.
	invariants int
	passed     bool
}

func (o *outcome) String() string {
	verdict := "FAILED"
	if o.passed {
		verdict = fmt.Sprintf("%d invariants, history", o.invariants)
	}
	perSecond := 0.0
	if o.loaded > 0 {
		perSecond = float64(o.ended.committed) / o.loaded.Seconds()
	}
	return fmt.Sprintf("%5d %9.0f %7d %8d %9.1f %6.0f  %-24s %s", o.round.Number, perSecond, o.ended.failed,
		o.ended.unknown, o.recovered.Seconds(),
		o.duration.Seconds(), verdict, o.counts())
}

// counts returns the number of faults of each kind, as text.
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

const outcomeHead = "round commits/s  failed  unknown recovered  time  verdict                  faults"

// run runs a round.
func (s *soak) run(t *testing.T, o *outcome) {
	begin := time.Now()
	defer func() {
		o.duration = time.Since(begin)
		if t.Failed() {
			s.cluster.saveProfiles(t, fmt.Sprintf("round-%d", o.round.Number))
		}
	}()
	t.Logf("round %d: %v", o.round.Number, o.round)
	db := s.cluster.Open(t)
	name := torturePrefix(o.round.Number)
	requireNoKeys(t, db)
	apps := startLoads(s.ctx, t, s.cluster.Addrs(), o.round)
	clients := torture.Start(t, s.cluster.Addrs(), torture.Options{
		Clients: s.clients, Readers: s.clients, Timeout: 4 * time.Second, Seed: o.round.Seed, Slack: readerSlack,
		Prefix: name,
	})
	loaded := time.Now()
	apps.await(t, 5)
	clients.Await(t, 50)
	end := clients.Fault("the faults of the round")
	d := &injector{cluster: s.cluster, t: t, ctx: s.ctx, large: s.large}
	if err := d.runAll(o.round.Faults); err != nil {
		t.Fatal(err)
	}
	o.recovered = s.recover(t, d, apps, clients)
	end()
	for healed := time.Now(); time.Since(healed) < readerSlack+time.Second; {
		clients.AwaitUpdates(t, 1) // leave time for readers that are unaffected by faults
	}
	o.ended = apps.finish(t)
	clients.Finish(t)
	o.loaded = time.Since(loaded)
	all := clients.Counts()
	o.ended.committed, o.ended.failed, o.ended.unknown = o.ended.committed+all.Committed, o.ended.failed+all.Failed,
		o.ended.unknown+all.Unknown
	s.cluster.RequireQuiescent(t, quiescentWithin)
	o.invariants = apps.verify(t)
	deleteKeys(t, db, append(apps.prefixes(), name)...)
	s.cluster.RequireQuiescent(t, quiescentWithin)
	requireNoKeys(t, db)
	o.passed = !t.Failed()
}

// recover waits until all nodes serve and are connected, and every kind of client commits. It returns how
// long that took.
func (s *soak) recover(t *testing.T, d *injector, apps *loads, clients *torture.Run) time.Duration {
	t.Helper()
	begin := time.Now()
	for i, n := range s.cluster.Nodes() {
		if d.started[i] {
			n.AwaitServing(t)
		}
	}
	s.cluster.WaitConnected(t)
	if s.cluster.replicated {
		s.cluster.AwaitReplicas(t)
	}
	connected := time.Since(begin)
	apps.await(t, 5)
	clients.Await(t, 50)
	elapsed := time.Since(begin)
	t.Logf("all nodes were connected %.1f s after the last fault; all clients committed after %.1f s",
		connected.Seconds(), elapsed.Seconds())
	return elapsed
}

// soak is a soak run.
type soak struct {
	ctx     context.Context
	cluster *cluster
	large   *largeRange
	// clients is the number of torture clients that update, and also of those that only read.
	clients int
	samples sampler
	done    []*outcome
}
