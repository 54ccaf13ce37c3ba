package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/sim/events"
)

// wallBase is the time of day at the start of every run, so that ids look like those of real transactions.
const wallBase = int64(1_700_000_000_000_000_000)

// maxEvents bounds the number of events of a run; a long run has some ten thousand.
const maxEvents = 1_000_000

// world is one run.
type world struct {
	// maxHeatMap is the greatest number of a heat map that has arrived.
	maxHeatMap uint64
	opt        Options
	rng        *rand.Rand
	now        int64
	seq        uint64
	events     events.Heap
	// eventCount counts events.
	eventCount int
	router     *hotshard.Router
	nodes      []*node
	shards     []*shell
	disks      []*disk
	// unfinished counts clients that are not finished.
	unfinished int
	log        eventLog
	// snapshots are those that clients have created.
	snapshots []*snapshot
	// instants hold when each snapshot was the present state, by its number.
	instants map[uint64]int64
	// movers are the transactions that move keys.
	movers map[kv.TxnID]bool
	// expiries are the transactions that delete expired keys.
	expiries map[kv.TxnID]*expiry
	// arrived is when the first shard received a piece of a transaction. deleteNotBefore is the earliest time at which the
	// key of a row in the table of deadlines may be deleted.
	arrived         map[kv.TxnID]int64
	deleteNotBefore map[string]int64
	decidedDue      map[expiryDecision]*txnRecord
	// abandonedOldest is the transaction of Mix.AbandonOldest, zero before it. There is only one: of two, the younger
	// would wait for the other until that one is pushed.
	abandonedOldest kv.TxnID
	// calm: no more faults are injected.
	calm bool
	err  error
	sum  Summary
}

// Summary counts the events of a run.
type Summary struct {
	// Txns counts attempts, Committed the decisions to commit.
	Txns, Committed, Aborted, Unknown, Queries int
	Steps, Messages, Crashes, Drains           int
	// Readers counts read-only transactions that ended, ReaderAborts their aborted attempts.
	Readers, ReaderAborts int
	// Snapshots counts created snapshots, PastReads the transactions that read at one.
	Snapshots, PastReads int
	// Lent counts the snapshots that machines of gateways lent to others.
	Lent int
	// Moves counts attempted random moves of keys, Moved those that took place. Planned counts the moves that the planner
	// began.
	Moves, Moved, Planned int
	// ImpliedFailures counts failures on which clients relied (implied.go).
	ImpliedFailures int
	// Undone counts rollbacks to savepoints.
	Undone int
	// Refused counts calls that gateways did not admit.
	Refused int
	FullCounts
	// Due counts expiries that shards requested, Expired the keys that they deleted.
	Due, Expired int
	// Virtual is the duration of the run in virtual time.
	Virtual time.Duration
}

func (s *Summary) add(o Summary) {
	s.Txns += o.Txns
	s.Committed += o.Committed
	s.Aborted += o.Aborted
	s.Unknown += o.Unknown
	s.Undone += o.Undone
	s.Due += o.Due
	s.Expired += o.Expired
	s.Queries += o.Queries
	s.Steps += o.Steps
	s.Messages += o.Messages
	s.Crashes += o.Crashes
	s.Drains += o.Drains
	s.Readers += o.Readers
	s.ReaderAborts += o.ReaderAborts
	s.Snapshots += o.Snapshots
	s.PastReads += o.PastReads
	s.Lent += o.Lent
	s.Moves += o.Moves
	s.Moved += o.Moved
	s.Planned += o.Planned
	s.Refused += o.Refused
	s.FullCounts.add(o.FullCounts)
	s.Virtual += o.Virtual
}

func newWorld(o Options) *world {
	w := &world{opt: o, rng: rand.New(rand.NewPCG(uint64(o.Seed), 0x11c4)), log: newEventLog(),
		movers: map[kv.TxnID]bool{}, instants: map[uint64]int64{}, expiries: map[kv.TxnID]*expiry{},
		arrived: map[kv.TxnID]int64{}, deleteNotBefore: map[string]int64{}, decidedDue: map[expiryDecision]*txnRecord{}}
	var hot [][]byte
	for i := range o.HotKeys {
		hot = append(hot, regKey(i), counterKey(i))
		for n := range objectTypes {
			if i < o.Objects {
				hot = append(hot, objectKey(n, i))
			}
		}
	}
	router, err := hotshard.NewRouter(o.Shards, o.Nodes, hot)
	if err != nil {
		panic(err)
	}
	w.router = router
	for i := range o.Nodes {
		w.nodes = append(w.nodes, newNode(w, kv.NodeID(i+1)))
	}
	for s := range router.Shards() {
		id := kv.ShardID(s)
		n := w.nodes[router.Node(id)-1]
		n.addShard(id)
	}
	for _, n := range w.nodes {
		for _, d := range n.disks {
			d.start()
		}
	}
	for _, n := range w.nodes {
		n.learnIncarnations()
	}
	return w
}

func regKey(i int) []byte     { return fmt.Appendf(nil, "r%d", i) }
func counterKey(i int) []byte { return fmt.Appendf(nil, "c%d", i) }

// at schedules f at an instant, which is not before now.
func (w *world) at(when int64, f func()) {
	w.seq++
	w.events.Push(events.Event{At: max(when, w.now), Seq: w.seq, Run: f})
}

func (w *world) after(d time.Duration, f func()) { w.at(w.now+int64(d), f) }

// fail records the first violation and ends the run.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at %v: "+format, append([]any{time.Duration(w.now)}, args...)...)
		w.trace("FAIL %v", w.err)
		for _, s := range w.shards {
			if w.opt.Trace != nil && s.m != nil {
				w.trace("%s", shortNames(s.m.String()))
			}
		}
	}
}

func (w *world) trace(format string, args ...any) {
	if w.opt.Trace != nil {
		w.opt.Trace("%12v "+format, append([]any{time.Duration(w.now)}, args...)...)
	}
}

// run executes events until an instant, a violation, or the last event; it calls stop after each event.
func (w *world) run(until int64, stop func() bool) {
	for w.err == nil && len(w.events) > 0 && w.events[0].At <= until && !stop() {
		e := w.events.Pop()
		w.now = e.At
		w.eventCount++
		if w.eventCount > maxEvents {
			w.fail("the run exceeds maxEvents")
		}
		e.Run()
	}
}

// chance returns true with a probability.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// about draws a duration with the given mean, which is rarely exceeded by much.
func (w *world) about(mean time.Duration) time.Duration {
	if mean <= 0 {
		return 0
	}
	return time.Duration(min(w.rng.ExpFloat64(), 10) * float64(mean))
}

// upTo draws a duration below d.
func (w *world) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(w.rng.Int64N(int64(d)))
}

// Run runs one seed's history and checks it.
func Run(o Options) (Summary, error) { return newWorld(o).play() }

// play runs the history of a new world and checks it.
func (w *world) play() (Summary, error) {
	w.startClients()
	w.startViews()
	w.startFaults()
	w.startDrains()
	w.startSlow()
	w.startFills()
	w.startFalseHeatMaps()
	w.startMoves()
	w.startJumps()
	w.run(int64(time.Hour), func() bool { return w.unfinished == 0 })
	if w.err == nil && w.unfinished > 0 {
		w.fail("%d clients did not finish", w.unfinished)
	}
	if w.err == nil {
		w.settle()
	}
	if w.err == nil {
		w.checkRetained()
	}
	if w.err == nil {
		w.check()
	}
	w.sum.Virtual = time.Duration(w.now)
	return w.sum, w.err
}

// settle repairs everything and waits until the cluster is idle.
func (w *world) settle() {
	w.calm = true
	for _, n := range w.nodes {
		n.repair()
	}
	quiet := func() bool {
		return !slices.ContainsFunc(w.shards, func(s *shell) bool { return s.m.CheckIdle() != nil }) &&
			!slices.ContainsFunc(w.nodes, func(n *node) bool { return n.checkIdle() != nil })
	}
	// Delayed messages may still cause events: wait for them first.
	w.run(w.now+int64(w.opt.StraggleMax)+int64(time.Second), func() bool { return false })
	for range 40 {
		if w.err != nil || quiet() {
			break
		}
		until := w.now + int64(max(w.opt.MaxAge, kv.DefaultScanRetention))/10
		w.run(until, func() bool { return false })
		if w.err == nil {
			w.now = until
		}
	}
	for _, s := range w.shards {
		if err := s.m.CheckIdle(); err != nil {
			w.fail("%v", err)
		}
		s.checkTables()
	}
	for _, n := range w.nodes {
		err := n.checkIdle()
		if err != nil {
			w.fail("after the end of all clients: %v", err)
		}
	}
}
