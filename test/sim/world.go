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

// wallBase is the time of day at which every run begins, so that ids look
// like those of real transactions.
const wallBase = int64(1_700_000_000_000_000_000)

// maxEvents bounds a run; a long one has some ten thousand.
const maxEvents = 1_000_000

// world is one run.
type world struct {
	// maps is the greatest number of a heat map that has arrived.
	maps   uint64
	opt    Options
	rng    *rand.Rand
	now    int64
	seq    uint64
	events events.Heap
	// happened counts events.
	happened int
	router   *hotshard.Router
	nodes    []*node
	shards   []*shell
	disks    []*disk
	// clients that are not finished.
	busy int
	log  chronicle
	// snaps are the snapshots that clients have made.
	snaps []*snapshot
	// instants are when the states of pins were the present, by number.
	instants map[uint64]int64
	// movers are the transactions that move keys.
	movers map[kv.TxnID]bool
	// expiries are those that delete what is due.
	expiries map[kv.TxnID]*expiry
	// arrived is when a shard first received a piece of a transaction; lives is before when the
	// key of a row of the deadline table may not be deleted.
	arrived    map[kv.TxnID]int64
	lives      map[string]int64
	decidedDue map[expiryLife]*txnRecord
	// dreamt is the transaction that Mix.Dream is about, zero before it. Of two, the
	// younger would wait for the other as long as that may last.
	dreamt kv.TxnID
	// faults are injected until calm.
	calm bool
	err  error
	sum  Summary
}

// Summary counts what a run did.
type Summary struct {
	// Txns counts attempts of transactions as clients made them, Committed
	// the decisions to commit.
	Txns, Committed, Aborted, Unknown, Enquiries int
	Steps, Messages, Crashes, Drains             int
	// Readers counts read-only transactions that ended, ReaderAborts their
	// attempts that were aborted.
	Readers, ReaderAborts int
	// Snapshots counts those that were made, PastReads what read in the past.
	Snapshots, PastReads int
	// Lent counts the states that machines of gateways lent to others.
	Lent int
	// Moves counts those of keys that were tried at random, Moved those of them
	// that took place; Planned are those that the planner began.
	Moves, Moved, Planned int
	// Concluded counts failures that clients believed.
	Concluded int
	// Undone counts returns to savepoints.
	Undone int
	// Refused counts what gateways did not admit.
	Refused int
	FullCounts
	// Due counts expiries that shards have asked for, Expired the keys that were
	// deleted by them.
	Due, Expired int
	// Virtual is how long the run took on its own clock.
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
	s.Enquiries += o.Enquiries
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
	w := &world{opt: o, rng: rand.New(rand.NewPCG(uint64(o.Seed), 0x11c4)), log: newChronicle(), movers: map[kv.TxnID]bool{}, instants: map[uint64]int64{}, expiries: map[kv.TxnID]*expiry{},
		arrived: map[kv.TxnID]int64{}, lives: map[string]int64{}, decidedDue: map[expiryLife]*txnRecord{}}
	var hot [][]byte
	for i := range o.HotKeys {
		hot = append(hot, regKey(i), counterKey(i))
		for n := range things {
			if i < o.Things {
				hot = append(hot, thingKey(n, i))
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
		n.learn()
	}
	return w
}

func regKey(i int) []byte     { return fmt.Appendf(nil, "r%d", i) }
func counterKey(i int) []byte { return fmt.Appendf(nil, "c%d", i) }

// at has something happen at an instant, which is not before now.
func (w *world) at(when int64, f func()) {
	w.seq++
	w.events.Push(events.Event{At: max(when, w.now), Seq: w.seq, Run: f})
}

func (w *world) after(d time.Duration, f func()) { w.at(w.now+int64(d), f) }

// fail notes the first violation and ends the run.
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

// run lets things happen until an instant, a violation, or the end of events;
// stop is asked after each.
func (w *world) run(until int64, stop func() bool) {
	for w.err == nil && len(w.events) > 0 && w.events[0].At <= until && !stop() {
		e := w.events.Pop()
		w.now = e.At
		w.happened++
		if w.happened > maxEvents {
			w.fail("there is no end to it")
		}
		e.Run()
	}
}

// chance is true with a probability.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// about is a random duration with the given mean, seldom a long one.
func (w *world) about(mean time.Duration) time.Duration {
	if mean <= 0 {
		return 0
	}
	return time.Duration(min(w.rng.ExpFloat64(), 10) * float64(mean))
}

// upTo is a random duration below d.
func (w *world) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(w.rng.Int64N(int64(d)))
}

// Run plays one seed's history and judges it.
func Run(o Options) (Summary, error) { return newWorld(o).play() }

// play runs the history of a new world and judges it.
func (w *world) play() (Summary, error) {
	w.startClients()
	w.startViews()
	w.startFaults()
	w.startDrains()
	w.startSlow()
	w.startFills()
	w.startLies()
	w.startMoves()
	w.startJumps()
	w.run(int64(time.Hour), func() bool { return w.busy == 0 })
	if w.err == nil && w.busy > 0 {
		w.fail("%d clients never finished", w.busy)
	}
	if w.err == nil {
		w.settle()
	}
	if w.err == nil {
		w.checkKept()
	}
	if w.err == nil {
		w.judge()
	}
	w.sum.Virtual = time.Duration(w.now)
	return w.sum, w.err
}

// settle repairs everything and waits until nothing is left to do.
func (w *world) settle() {
	w.calm = true
	for _, n := range w.nodes {
		n.repair()
	}
	quiet := func() bool {
		return !slices.ContainsFunc(w.shards, func(s *shell) bool { return s.m.Quiet() != nil }) &&
			!slices.ContainsFunc(w.nodes, func(n *node) bool { return n.quiet() != nil })
	}
	// Straggling messages may still wake something up: wait for them first.
	w.run(w.now+int64(w.opt.StraggleMax)+int64(time.Second), func() bool { return false })
	for range 40 {
		if w.err != nil || quiet() {
			break
		}
		until := w.now + int64(max(w.opt.MaxAge, kv.DefaultScanKeep))/10
		w.run(until, func() bool { return false })
		if w.err == nil {
			w.now = until
		}
	}
	for _, s := range w.shards {
		if err := s.m.Quiet(); err != nil {
			w.fail("%v", err)
		}
		s.checkTables()
	}
	for _, n := range w.nodes {
		err := n.quiet()
		if err != nil {
			w.fail("when all clients are done: %v", err)
		}
	}
}
