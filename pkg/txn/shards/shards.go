// Package shards is what a gateway knows about the shards and their nodes: incarnations, load, which shards are not
// available, and which are slow.
//
// # Guarantees
//
// Safety does not depend on it. A shard rejects a message that names an earlier incarnation, and a transaction that
// needs a node that is down waits until its deadline. The knowledge saves an attempt after a restart, and turns a
// late failure into an early one that names the reason:
//
//	up ── SetDown ──▶ down             new work fails at once; of replicas: kv.NoLeader
//	up ── SetDraining ▶ draining       new work fails, running work continues
//	up ── LeaveOut ──▶ left out        snapshot rounds do not wait for it, until it answers a probe
//	up ── Suspect ──▶ probed ─▶ slow   it is not chosen as a last agent
//
// # Hazards
//
// A draining shard may return in a later incarnation. The gateway learns this from any message of the shard, and then
// accepts new work for it again.
//
// # Example
//
// Shard s1 restarts. The next commit names its former incarnation, and s1 rejects the piece; its response names the
// new one, and the next attempt succeeds. Without this package each transaction would lose an attempt.
package shards

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Shards is the view of all shards.
type Shards struct {
	env   *env.Env
	shard []shard
	// incarnations are shared with the other machines of the node.
	incarnations env.Incarnations
	// down are the shards known to be unavailable.
	down map[kv.ShardID]outage
	// draining are the shards of draining nodes; drainingReports counts all such reports.
	draining        map[kv.ShardID]draining
	drainingReports uint64
	// probing are the shards that are probed, because they did not respond to a round or a commit in time.
	probing map[kv.ShardID]*probedShard
}

// shard is what is known of one shard.
type shard struct {
	// incarnation is the one to which the rest applies.
	incarnation kv.Incarnation
	// updatesWait: updates waited there at its last response to a reader. busy: it was saturated.
	updatesWait, busy bool
	// lateProbes counts the probes in a row after which its log was late. penalty is the duration of the last period in
	// which it was not to decide; that period ends at slowUntil.
	lateProbes         int
	penalty, slowUntil int64
	// undecidedUntil is the end of the period in which no round waits for it, while a node is down.
	undecidedUntil int64
}

// outage is why a shard is unavailable, and since when that is known: its node is down, or it is kv.NoLeader.
type outage struct {
	node  kv.NodeID
	since int64
}

// draining is an incarnation of a draining shard, and the number of the report.
type draining struct {
	incarnation kv.Incarnation
	number      uint64
}

// New makes a view in which no incarnation is known and updates wait on all shards.
func New(e *env.Env) *Shards {
	s := &Shards{
		env:          e,
		shard:        make([]shard, e.Router.Shards()),
		incarnations: sharedIncarnations(e),
		down:         map[kv.ShardID]outage{},
		draining:     map[kv.ShardID]draining{},
		probing:      map[kv.ShardID]*probedShard{},
	}
	for i := range s.shard {
		s.shard[i].updatesWait = true
	}
	return s
}

// Incarnation is the newest known incarnation of a shard, 0 if none is known.
func (s *Shards) Incarnation(of kv.ShardID) kv.Incarnation { return s.known(of).Incarnation }

// known returns the newest known state of a shard, which another machine of the node may have learned.
func (s *Shards) known(of kv.ShardID) kv.KnownState {
	k := s.incarnations.Known(of)
	if k.Incarnation > s.shard[of].incarnation {
		s.shard[of].incarnation = k.Incarnation
		s.onRestart(of)
	}
	return k
}

// Learn stores the incarnation in a message of a shard. Without it the first attempt after a restart is
// rejected.
func (s *Shards) Learn(of kv.ShardID, inc kv.Incarnation) {
	s.LearnAborts(of, kv.KnownState{Incarnation: inc})
}

// LearnAborts stores a shard's incarnation and the number of commits that it has aborted in it. A commit request with
// an outdated number may be presumed aborted.
func (s *Shards) LearnAborts(of kv.ShardID, k kv.KnownState) {
	if int(of) >= len(s.shard) {
		return
	}
	s.incarnations.Learn(of, k)
	s.known(of)
}

// Known returns what a commit request names of its last agent, if the commit relies on incarnation inc.
//
// A commit that has locks relies on the incarnation that has granted them: if the shard has restarted, it must reject
// the commit, so the newer incarnation is not named.
func (s *Shards) Known(of kv.ShardID, inc kv.Incarnation) kv.KnownState {
	known := s.known(of)
	if inc != known.Incarnation {
		return kv.KnownState{Incarnation: inc}
	}
	return known
}

// StoreLoad stores the load that a shard reports to a reader: whether updates wait there, and whether it is
// saturated.
//
// It selects read plans, so a stale report costs a message delay, or a wait, and nothing else.
func (s *Shards) StoreLoad(of kv.ShardID, updatesWait, busy bool) {
	s.shard[of].updatesWait, s.shard[of].busy = updatesWait, busy
}

// HasWaitingUpdates reports whether updates waited on a shard at its last response to a reader.
func (s *Shards) HasWaitingUpdates(on kv.ShardID) bool { return s.shard[on].updatesWait }

// IsBusy reports whether a shard was saturated at its last response to a reader.
func (s *Shards) IsBusy(is kv.ShardID) bool { return s.shard[is].busy }

// SetDown sets whether a node is known to be down, and reports whether shards have newly become so. Shards with several
// replicas do not depend on one node (R14.7): with kv.NoLeader it sets whether some are known to have no leader. How
// long that lasts before is the caller's choice.
func (s *Shards) SetDown(n kv.NodeID, down bool, leaderless ...kv.ShardID) (newly bool) {
	if n == kv.NoLeader {
		for _, sh := range leaderless {
			newly = s.set(sh, n, down) || newly
		}
		return newly
	}
	for i := range s.shard {
		if sh := kv.ShardID(i); s.env.Router.Node(sh) == n {
			newly = s.set(sh, n, down && s.dependsOnNodes()) || newly
		}
	}
	return newly
}

func (s *Shards) set(of kv.ShardID, node kv.NodeID, down bool) (newly bool) {
	o, was := s.down[of]
	switch {
	case !down && o.node == node: // a node that is reachable is no leader
		delete(s.down, of)
	case down && !was:
		s.down[of] = outage{node, s.env.Now}
	}
	return down && !was
}

// DownSince returns the time at which a shard became known to be down, and whether it is.
func (s *Shards) DownSince(of kv.ShardID) (int64, bool) {
	o, is := s.down[of]
	return o.since, is
}

// IsAnyDown reports whether some shard is known to be down.
func (s *Shards) IsAnyDown() bool { return len(s.down) > 0 }

// Outage says why a shard that is down is so: "node n2" "is down", or "shard s1" "has no leader".
func (s *Shards) Outage(of kv.ShardID) (what, state string) {
	if n := s.down[of].node; n != kv.NoLeader {
		return "node " + n.String(), "is down"
	}
	return "shard " + of.String(), "has no leader"
}

// SetDraining marks an incarnation of a shard as draining. New transactions that need the shard are refused until a
// later incarnation is known; running ones continue.
//
// Reports are numbered, so that transactions that began before the report are distinguished from later ones: the former
// continue, since they may hold locks that only their end releases.
func (s *Shards) SetDraining(of kv.ShardID, inc kv.Incarnation) {
	if int(of) >= len(s.shard) || inc < s.Incarnation(of) {
		return
	}
	s.Learn(of, inc)
	if !s.dependsOnNodes() {
		return
	}
	if s.draining[of].incarnation != inc {
		s.drainingReports++
		s.draining[of] = draining{incarnation: inc, number: s.drainingReports}
	}
}

// IsDraining reports whether a shard is draining.
func (s *Shards) IsDraining(of kv.ShardID) bool {
	return s.WhyDraining([]kv.ShardID{of}, s.drainingReports) != nil
}

// DrainingReports is the number of reports of draining shards.
func (s *Shards) DrainingReports() uint64 { return s.drainingReports }

// AllAvailable reports whether no shard is known to be down or draining.
func (s *Shards) AllAvailable() bool { return len(s.down)+len(s.draining) == 0 }

// WhyUnavailable returns why a new transaction must not begin on these shards: one is down or draining. It returns nil
// if it may begin.
func (s *Shards) WhyUnavailable(need []kv.ShardID) *msg.Failure {
	f := s.WhyDown(need...)
	if f != nil {
		return f
	}
	return s.WhyDraining(need, s.drainingReports)
}

// IsDown reports whether a shard is known to be down.
func (s *Shards) IsDown(is kv.ShardID) bool {
	_, down := s.down[is]
	return down
}

// WhyNoFullRound returns why no snapshot of all shards can be fixed now, nil if one can.
func (s *Shards) WhyNoFullRound() *msg.Failure {
	if s.AllAvailable() {
		return nil
	}
	return s.WhyUnavailable(s.env.EveryShard())
}

// WhyNoRound returns why no snapshot can be fixed now, nil if one can. Shards that are down are not needed.
// Draining ones are: views that have begun there continue at the snapshot.
func (s *Shards) WhyNoRound() *msg.Failure {
	if s.AllAvailable() {
		return nil
	}
	var up []kv.ShardID
	for _, sh := range s.env.EveryShard() {
		if !s.IsDown(sh) {
			up = append(up, sh)
		}
	}
	if len(up) == 0 {
		return s.WhyNoFullRound()
	}
	return s.WhyDraining(up, s.drainingReports)
}

// IsRoundUnavailable reports whether a round failed because a shard that it needs is down or draining.
func IsRoundUnavailable(f *msg.Failure) bool {
	return f.Reason == msg.ReasonExhausted && kv.Kind(f.Kind) == kv.KindUnavailable
}

// WhyDown returns a failure if one of these shards is known to be down, else nil.
func (s *Shards) WhyDown(need ...kv.ShardID) *msg.Failure {
	if len(s.down) == 0 {
		return nil
	}
	for _, sh := range need {
		if o, is := s.down[sh]; is {
			text := "shard " + sh.String() + " has no leader"
			if o.node != kv.NoLeader {
				text = "shard " + sh.String() + " is on node " + o.node.String() + ", which is down"
			}
			f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
			f.Down = o.node
			return f
		}
	}
	return nil
}

// WhyDraining returns why a transaction must not begin on these shards, if it knows of the first reports of
// draining shards only; nil if it may begin. A transaction that began before a report continues.
func (s *Shards) WhyDraining(need []kv.ShardID, reports uint64) *msg.Failure {
	for _, sh := range need {
		l, ok := s.draining[sh]
		switch {
		case !ok || l.number > reports:
		case l.incarnation < s.Incarnation(sh):
			delete(s.draining, sh) // it has restarted
		default:
			text := "shard " + sh.String() + " is on node " + s.env.Router.Node(sh).String() + ", which is draining"
			f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
			f.Hint = "nothing was applied; retry when the node is back"
			return f
		}
	}
	return nil
}
