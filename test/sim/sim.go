package sim

import (
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/world"
)

// maxEvents bounds the number of events of a run; a long run has some ten thousand.
const maxEvents = 1_000_000

// sim is one run.
type sim struct {
	*world.World
	// maxHeatMap is the greatest number of a heat map that has arrived.
	maxHeatMap uint64
	opt        Options
	nodes      []*node
	shards     []*shell
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
	// filledAt is when each disk lost its free space.
	filledAt map[*world.Disk]int64
	// isLost reports whether a message is lost, in tests of one schedule; nil for none.
	isLost func(*msg.Envelope) bool
	sum    Summary
}

// node adds to a node what its clients know of it.
type node struct {
	*world.Node
	w   *sim
	clk *clock.Hybrid
	// calls are the calls without a response.
	calls []*openCall
	// lastRead are the operations of the last one-shot read, for other clients to repeat.
	lastRead []msg.Op
}

// shell adds to a shard what the checks know of it.
type shell struct {
	*world.Shard
	w *sim
	n *node
	// fullyLoaded: it always reports full load. messageCount counts the messages of its steps.
	fullyLoaded  bool
	messageCount int
	// leases is the expiry of the leases granted by the incarnation granter.
	leases  int64
	granter kv.Incarnation
	// fixed holds the instants at which the shard fixed its CSN, by its clock.
	fixed map[int64]int64
}

// Summary counts the events of a run.
type Summary struct {
	world.Counts
	// Txns counts attempts, Committed the decisions to commit.
	Txns, Committed, Aborted, Unknown, Queries, Drains int
	// Readers counts read-only transactions that ended, ReaderAborts their aborted attempts.
	Readers, ReaderAborts int
	// Snapshots counts created snapshots, PastReads the transactions that read at one.
	Snapshots, PastReads int
	// Moves counts attempted random moves of keys, Moved those that took place. Planned counts the moves that the planner
	// began.
	Moves, Moved, Planned int
	// ImpliedFailures counts failures on which clients relied (implied.go).
	ImpliedFailures int
	// Undone counts rollbacks to savepoints.
	Undone int
	// Refused counts calls that gateways did not admit.
	Refused int
	// Fills counts how often a disk ran low on free space, FullReads the readers that a shard without free space served,
	// FullDeletes the deletions that one with low free space admitted.
	Fills, FullReads, FullDeletes int
	// Due counts expiries that shards requested, Expired the keys that they deleted.
	Due, Expired int
}

// add adds the counts of another run.
func (s *Summary) add(o Summary) { addFields(reflect.ValueOf(s).Elem(), reflect.ValueOf(o)) }

func addFields(sum, v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct {
			addFields(sum.Field(i), f)
		} else {
			sum.Field(i).SetInt(sum.Field(i).Int() + f.Int())
		}
	}
}

// newSim makes a cluster and starts it. It has no clients.
func newSim(o Options) *sim {
	w := &sim{opt: o, log: newEventLog(), movers: map[kv.TxnID]bool{}, instants: map[uint64]int64{},
		expiries: map[kv.TxnID]*expiry{}, arrived: map[kv.TxnID]int64{}, deleteNotBefore: map[string]int64{},
		decidedDue: map[expiryDecision]*txnRecord{}, filledAt: map[*world.Disk]int64{}}
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
	w.World = world.New(o.Config, router, rand.New(rand.NewPCG(uint64(o.Seed), 0x11c4)), hooks{w})
	for _, n := range w.Nodes {
		w.nodes = append(w.nodes, &node{Node: n, w: w, clk: clock.NewHybrid(adjustedClock{n}, w.opt.retention()/4)})
	}
	for _, s := range w.Shards {
		w.shards = append(w.shards, &shell{Shard: s, w: w, n: w.nodes[s.Node.ID-1]})
	}
	w.Start()
	return w
}

// Run runs one seed's history and checks it.
func Run(o Options) (Summary, error) { return newSim(o).play() }

// play runs the history of a new cluster and checks it.
func (w *sim) play() (Summary, error) {
	w.MaxEvents = maxEvents
	w.startClients()
	w.startViews()
	w.startFaults()
	w.startDrains()
	w.startSlow()
	w.startLeaderFaults()
	w.startFills()
	w.startFalseHeatMaps()
	w.startMoves()
	w.startJumps()
	w.Run(int64(time.Hour), func() bool { return w.unfinished == 0 })
	if w.Err == nil && w.unfinished > 0 {
		w.Fail("%d clients did not finish", w.unfinished)
	}
	if w.Err == nil {
		w.settle()
	}
	if w.Err == nil {
		w.checkRetained()
	}
	if w.Err == nil {
		w.check()
	}
	if w.Err != nil && w.opt.Trace != nil {
		for _, s := range w.shards {
			if s.M != nil {
				w.Trace("%s", shortNames(s.M.String()))
			}
		}
	}
	w.sum.Counts = w.Counts
	return w.sum, w.Err
}

// settle repairs everything and waits until the cluster is idle.
func (w *sim) settle() {
	w.Repair()
	// Delayed messages may still cause events: wait for them first.
	w.Run(w.Now()+int64(w.opt.StraggleMax)+int64(time.Second), nil)
	if w.opt.CheckEvery > 0 {
		w.Run(w.Now()+4*int64(w.opt.CheckEvery+w.opt.Hold), nil) // rows that differ are found
	}
	for range 40 {
		if w.Err != nil || w.Idle() == nil {
			break
		}
		until := w.Now() + int64(max(w.opt.MaxAge, kv.DefaultScanRetention))/10
		w.Run(until, nil)
		if w.Err == nil {
			w.AdvanceTo(until)
		}
	}
	if err := w.Idle(); err != nil {
		w.Fail("after the end of all clients: %v", err)
	}
	if w.opt.Replicas > 0 {
		w.CheckReplicas()
	}
	w.SettleNotes()
	for _, s := range w.shards {
		s.checkTables()
	}
}
