package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// published is a model of SSS (Javidi Kishi, Peluso, Korth, Palmieri 2019) as published, as small as the schedules
// allow: no replication and no aborts. Each step of a commit is a call, so a test decides when each node takes each
// step. A wait is a state: an update ends in the call that ends its wait. A read that would have to wait fails the
// test.
//
// T.PropagatedSet (section III-B, "Pre-Commit") is left out, since no schedule needs it. It is filled when an update
// reads a key in whose queue an update waits; the model rejects such a read.
type published struct {
	*EventLog
	how     interpretation
	nodes   []*sssNode
	updates []*sssUpdate
}

// interpretation fixes details that the paper's text leaves open. The schedules fail under each.
type interpretation struct {
	// evenCommit: the coordinator sets the entries of the commit vector, at all nodes that the transaction writes on, to
	// the greatest of them. Otherwise it is the entrywise maximum of the votes (Algorithm 1, lines 18 to 24).
	evenCommit bool
	// versionBound: a read raises T.VC to the vector of the version that it
	// returned. Otherwise to that of everything visible on the node, maxVC
	// (section III-C names both).
	versionBound bool
}

// vector is a vector clock with one entry for each node.
type vector []int

func (v vector) raise(o vector) {
	for i := range v {
		v[i] = max(v[i], o[i])
	}
}

// sssNode is one node: section III-A.
type sssNode struct {
	id int
	// vc is NodeVC: the entry of the node itself counts commits that it has begun to take part in.
	vc      vector
	commitQ []*sssUpdate
	// log is NLog: the updates that are internally committed, oldest first.
	log    []*sssUpdate
	queues map[string][]*queued
	locks  map[string]*sssUpdate
}

// queued is an entry of a snapshot-queue: a reader, or an update in its Pre-Commit phase.
type queued struct {
	reader   *sssReader
	update   *sssUpdate
	snapshot int // the insertion-snapshot
}

type sssUpdate struct {
	*Txn
	number        int
	vc            vector // T.VC, and then the commit vector
	reads, writes map[int][]string
	ready         map[int]bool // decided, but not at the head of CommitQ
	committed     map[int]bool // internally
	acked         map[int]bool
}

func newPublished(t testing.TB, nodes int, how interpretation) *published {
	p := &published{EventLog: newEventLog(t), how: how}
	for i := range nodes {
		p.nodes = append(p.nodes, &sssNode{id: i, vc: make(vector, nodes), queues: map[string][]*queued{},
			locks: map[string]*sssUpdate{}})
	}
	return p
}

// mostRecent is NLog.mostRecentVC.
func (n *sssNode) mostRecent() vector {
	if len(n.log) == 0 {
		return make(vector, len(n.vc))
	}
	return n.log[len(n.log)-1].vc
}

// newest returns the newest allowed version of a key, nil if there is none.
func (n *sssNode) newest(key string, allowed func(*sssUpdate) bool) *sssUpdate {
	for _, u := range slices.Backward(n.log) {
		if slices.Contains(u.writes[n.id], key) && allowed(u) {
			return u
		}
	}
	return nil
}

func (p *published) node(key string) *sssNode {
	_, at, _ := strings.Cut(key, "@")
	i, err := strconv.Atoi(at)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.nodes[i]
}

func (p *published) byNode(keys []string) map[int][]string {
	out := map[int][]string{}
	for _, k := range keys {
		out[p.node(k).id] = append(out[p.node(k).id], k)
	}
	return out
}

// Begin starts an update at a node: its vector is that of the node's newest
// commit (III-A), its reads return the newest versions (III-B).
func (p *published) Begin(name string, node int, reads, writes []string) *sssUpdate {
	u := &sssUpdate{Txn: p.start(name), number: len(p.updates) + 1, vc: slices.Clone(p.nodes[node].mostRecent()),
		reads: p.byNode(reads), writes: p.byNode(writes), ready: map[int]bool{}, committed: map[int]bool{},
		acked: map[int]bool{}}
	p.updates = append(p.updates, u)
	for _, k := range reads {
		n := p.node(k)
		if slices.ContainsFunc(n.queues[k], func(q *queued) bool { return q.update != nil }) {
			p.t.Fatalf("%s reads %s, on which an update waits: that is not modelled", name, k)
		}
		u.recordRead(k, n, n.newest(k, func(*sssUpdate) bool { return true }))
		u.vc.raise(n.mostRecent())
	}
	p.logf("%s begins at N%d: get %v, put %v, with vector %v", name, node, reads, writes, u.vc)
	return u
}

func (x *sssUpdate) recordRead(key string, n *sssNode, from *sssUpdate) {
	recordRead(x.Txn, key, n, from)
}

// recordRead records the version that a transaction has read.
func recordRead(x *Txn, key string, n *sssNode, from *sssUpdate) {
	if from == nil {
		x.read(key, Nothing, kv.Version{})
		return
	}
	x.read(key, from.Name, from.version(n))
}

func (x *sssUpdate) version(n *sssNode) kv.Version {
	return kv.Version{Shard: kv.ShardID(n.id), Write: uint64(x.number)}
}

// Prepare lets all nodes lock, vote with their incremented vector, and queue the update; the votes determine the commit
// vector (Algorithm 1).
//
// The position in CommitQ is that of the commit vector from the start, not that of the vote: in no schedule does the
// difference matter.
func (p *published) Prepare(u *sssUpdate) {
	for _, n := range p.nodes {
		reads, writes := u.reads[n.id], u.writes[n.id]
		for _, k := range slices.Concat(reads, writes) {
			if n.locks[k] != nil && n.locks[k] != u {
				p.t.Fatalf("%s would wait for the lock on %s", u.Name, k)
			}
			n.locks[k] = u
		}
		if len(reads)+len(writes) == 0 {
			continue
		}
		if len(writes) > 0 {
			n.vc[n.id]++
			n.commitQ = append(n.commitQ, u)
		}
		u.vc.raise(n.vc)
	}
	if p.how.evenCommit {
		greatest := 0
		for i := range u.writes {
			greatest = max(greatest, u.vc[i])
		}
		for i := range u.writes {
			u.vc[i] = greatest
		}
	}
	p.logf("%s is prepared everywhere; its commit vector is %v", u.Name, u.vc)
}

// Decide delivers the decision to a node. The update is internally committed and visible there when nothing precedes it
// in CommitQ (Algorithm 2, lines 16 to 36).
func (p *published) Decide(u *sssUpdate, node int) {
	n := p.nodes[node]
	for k, by := range n.locks {
		if by == u {
			delete(n.locks, k)
		}
	}
	n.vc.raise(u.vc)
	u.ready[node] = true
	if len(u.writes[node]) == 0 {
		u.acked[node] = true
	}
	slices.SortStableFunc(n.commitQ, func(a, b *sssUpdate) int { return cmp.Compare(a.vc[node], b.vc[node]) })
	for len(n.commitQ) > 0 && n.commitQ[0].ready[node] {
		p.commit(n, n.commitQ[0])
		n.commitQ = n.commitQ[1:]
	}
	p.settle()
}

// commit is the internal commit on a node, and the beginning of Pre-Commit: if
// a reader with a lesser insertion-snapshot is in the queue of one of its keys,
// the update enters them (Algorithm 3).
func (p *published) commit(n *sssNode, u *sssUpdate) {
	n.log = append(n.log, u)
	u.committed[n.id] = true
	for _, k := range u.writes[n.id] {
		u.addVersion(k, u.version(n), int64(len(n.log)))
	}
	held := p.held(n, u)
	if held {
		for _, k := range u.writes[n.id] {
			n.queues[k] = append(n.queues[k], &queued{update: u, snapshot: u.vc[n.id]})
		}
	}
	p.logf("  N%d shows %s; held by a reader there: %t", n.id, u.Name, held)
}

// held reports whether an update waits on a node: Algorithm 4.
func (p *published) held(n *sssNode, u *sssUpdate) bool {
	return slices.ContainsFunc(u.writes[n.id], func(k string) bool {
		return slices.ContainsFunc(n.queues[k], func(q *queued) bool { return q.reader != nil && q.snapshot < u.vc[n.id] })
	})
}

// settle acknowledges and ends the updates that no longer wait: the external commit.
func (p *published) settle() {
	for _, u := range p.updates {
		for i := range u.committed {
			if n := p.nodes[i]; !u.acked[i] && !p.held(n, u) {
				u.acked[i] = true
				n.dequeue(func(q *queued) bool { return q.update == u })
			}
		}
		waits := func(keys map[int][]string) bool {
			for i := range keys {
				if !u.acked[i] {
					return true
				}
			}
			return false
		}
		if u.Ended == Never && !waits(u.writes) && !waits(u.reads) {
			p.finish(u.Txn)
		}
	}
}

func (n *sssNode) dequeue(which func(*queued) bool) {
	for k := range n.queues {
		n.queues[k] = slices.DeleteFunc(n.queues[k], which)
	}
}

// Put runs a whole update without delays.
func (p *published) Put(name string, node int, keys ...string) *sssUpdate {
	return p.Update(name, node, nil, keys)
}

// Update is Put for an update that also reads.
func (p *published) Update(name string, node int, reads, writes []string) *sssUpdate {
	u := p.Begin(name, node, reads, writes)
	p.Prepare(u)
	for i := range p.nodes {
		if len(u.reads[i])+len(u.writes[i]) > 0 {
			p.Decide(u, i)
		}
	}
	return u
}

// sssReader is a read-only transaction: section III-C.
type sssReader struct {
	*Txn
	p       *published
	home    *sssNode
	vc      vector // T.VC, nil before the first read
	hasRead []bool
}

// Open begins a read-only transaction at a node.
func (p *published) Open(name string, node int) *sssReader {
	p.logf("%s begins at N%d", name, node)
	return &sssReader{Txn: p.start(name), p: p, home: p.nodes[node], hasRead: make([]bool, len(p.nodes))}
}

// Read reads one key (Algorithms 5 and 6).
func (r *sssReader) Read(key string) {
	n := r.p.node(key)
	if r.vc == nil {
		r.vc = slices.Clone(r.home.mostRecent())
	}
	bound := slices.Clone(r.vc)
	var from *sssUpdate
	snapshot := r.vc[n.id]
	if r.hasRead[n.id] {
		from = n.newest(key, func(u *sssUpdate) bool { return u.vc[n.id] <= r.vc[n.id] })
	} else {
		from, snapshot = r.firstRead(n, key)
	}
	n.queues[key] = append(n.queues[key], &queued{reader: r, snapshot: snapshot})
	recordRead(r.Txn, key, n, from)
	r.p.logf("%s reads %s on N%d under %v: %s; it is queued there with %d, its vector becomes %v", r.Name, key, n.id,
		bound, r.ValueOf(key), snapshot, r.vc)
}

// firstRead selects a version on a node that it has not read from (Algorithm 6, lines 5 to 16).
func (r *sssReader) firstRead(n *sssNode, key string) (from *sssUpdate, snapshot int) {
	if r.wouldWait(n) {
		r.p.t.Fatalf("%s would wait on N%d until that has what its vector %v names", r.Name, n.id, r.vc)
	}
	var visible []*sssUpdate
	maxVC := make(vector, len(n.vc))
	for _, u := range n.log {
		beyond := slices.ContainsFunc(r.p.nodes, func(w *sssNode) bool { return r.hasRead[w.id] && u.vc[w.id] > r.vc[w.id] })
		excluded := slices.ContainsFunc(n.queues[key], func(q *queued) bool {
			return q.update == u &&
				q.snapshot > r.vc[n.id]
		})
		if !beyond && !excluded {
			visible = append(visible, u)
			maxVC.raise(u.vc)
		}
	}
	from = n.newest(key, func(u *sssUpdate) bool { return slices.Contains(visible, u) })
	switch {
	case !r.p.how.versionBound:
		r.vc.raise(maxVC)
	case from != nil:
		r.vc.raise(from.vc)
	}
	r.hasRead[n.id] = true
	return from, maxVC[n.id]
}

// wouldWait reports whether its first read on a node would wait for the state named by its vector (Algorithm 6, line
// 5).
func (r *sssReader) wouldWait(n *sssNode) bool { return n.mostRecent()[n.id] < r.vc[n.id] }

// End ends the transaction, and then removes the reader from all queues.
func (r *sssReader) End() {
	r.p.finish(r.Txn)
	for _, n := range r.p.nodes {
		n.dequeue(func(q *queued) bool { return q.reader == r })
	}
	r.p.settle()
}

// Read runs a whole read-only transaction.
func (p *published) Read(name string, node int, keys ...string) {
	r := p.Open(name, node)
	for _, k := range keys {
		r.Read(k)
	}
	r.End()
}

// runInterpretations runs a schedule under every interpretation of the text. All transactions must end, and the checker
// must report the anomaly want.
func runInterpretations(t *testing.T, nodes int, want history.Anomaly, play func(t *testing.T, p *published)) {
	t.Helper()
	for _, how := range []interpretation{{}, {evenCommit: true}, {versionBound: true}, {true, true}} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			p := newPublished(t, nodes, how)
			play(t, p)
			for _, x := range p.txns {
				if x.Ended == Never {
					t.Errorf("%s has not ended", x.Name)
				}
			}
			if v := p.Check(); v.Anomaly() != want {
				t.Errorf("want %q: %v", want, v)
			}
		})
	}
}
