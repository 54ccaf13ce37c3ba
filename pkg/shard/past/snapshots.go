package past

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/pins"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Config says how states of the whole store are kept.
type Config struct {
	// Every is how often a state is fixed while there are writes, so that what
	// is older can be collected. 0 switches snapshots off: nothing but kept indexes
	// of this incarnation is spared.
	Every time.Duration
	// History is how long those states are kept, for reads as of a time; with 0
	// only states with a name are.
	History time.Duration
	// Doubt is how long outcomes are kept: for so long a clock may be wrong without effect.
	Doubt time.Duration
	// Hot is the shard that has the registry, and Node the node it is on.
	Hot  kv.ShardID
	Node kv.NodeID
}

// Snapshots is a shard's part in what is kept. The hot shard has the registry.
type Snapshots struct {
	*step.Env
	store *store.Store
	cfg   Config
	// ask is when the registry may be asked again.
	ask int64

	// registry is nil on other shards than the hot one.
	registry *pins.Keeper
	// due: a shard has written since the newest snapshot. round is when the next one may be fixed.
	due   bool
	round int64
}

// NewSnapshots makes a shard's part, on the hot shard with the snapshots that its log holds. writes is
// the number of writes so far.
func NewSnapshots(e *step.Env, s *store.Store, cfg Config, kept []*msg.Snapshot, writes uint64) *Snapshots {
	x := &Snapshots{Env: e, store: s, cfg: cfg}
	if !x.on() {
		return x
	}
	x.ask, x.round = x.Now, x.Now
	if x.ID == cfg.Hot {
		x.registry = pins.New(pins.Options{History: cfg.History, Doubt: cfg.Doubt, Mutants: e.Mutants}, kept, writes+1, x.Now, x.Wall)
		x.changed()
	}
	return x
}

func (x *Snapshots) on() bool { return x.cfg.Every > 0 }

func (x *Snapshots) known() *pins.Known { return &x.store.Kept().Known }

// changed: the hot shard has news from its own registry.
func (x *Snapshots) changed() { x.known().Take(x.registry.Tell(x.ID, x.Inc, x.Inc)) }

// Receive takes a message, and reports whether it was about snapshots.
func (x *Snapshots) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.RetainSnapshot:
		x.onKeep(b)
	case *msg.FindSnapshot:
		x.onFind(b)
	case *msg.DropSnapshot:
		x.onDrop(b)
	case *msg.SnapshotListRequest:
		x.onAsk(b)
	case *msg.SnapshotList:
		x.known().Take(b)
	default:
		return false
	}
	return true
}

// Tick asks the registry what has become of the past; the registry sees to a new snapshot.
func (x *Snapshots) Tick() {
	switch {
	case !x.on():
	case x.registry != nil:
		x.tickRegistry()
	case x.Now >= x.ask && x.news():
		x.askAgain()
	}
}

func (x *Snapshots) tickRegistry() {
	if x.store.Index() > x.registry.Floor(x.ID) {
		x.due = true
	}
	if x.due && x.Now >= x.round {
		x.due, x.round = false, x.Now+int64(x.cfg.Every)
		m := msg.ToGateway(x.cfg.Node)
		m.Body = &msg.Due{}
		x.Send(m)
	}
}

// news reports whether the registry has something to report or to do.
func (x *Snapshots) news() bool { return !x.known().Heard() || x.store.Index() > x.known().Floor() }

// askAgain asks the registry, and not again for a while.
func (x *Snapshots) askAgain() {
	x.ask = x.Now + int64(x.cfg.Every)
	x.askRegistry()
}

func (x *Snapshots) askRegistry() {
	m, q := msg.ToShard(x.cfg.Hot), x.known().Question()
	q.Shard, q.Index = x.ID, x.store.Index()
	m.Body = q
	x.Urgent(m)
}

// Next is when Tick has something to do.
func (x *Snapshots) Next() int64 {
	switch {
	case !x.on():
	case x.registry == nil && x.news():
		return x.ask
	case x.registry != nil && (x.due || x.store.Index() > x.registry.Floor(x.ID)):
		return x.round
	}
	return step.Never
}

// Clean gives up the snapshots whose time is over, and asks the registry although nobody writes while
// there is garbage that waits for a snapshot to go; it is for once a second.
func (x *Snapshots) Clean() {
	if x.registry != nil {
		x.expire()
		return
	}
	if x.on() && !x.news() && x.store.Untidy() {
		x.askRegistry()
	}
}

// Readable reports whether a snapshot can be read here, or why not. If that is not known, the registry
// is asked.
func (x *Snapshots) Readable(number uint64, index kv.Index) (bool, *msg.Failure) {
	v := x.known().Verdict(number, index)
	switch {
	case v == pins.Readable, x.Mutants.Has(mutant.PinUnchecked):
		return true, nil
	case v == pins.Unheard:
		x.askAgain()
		return false, nil
	}
	f := msg.Fail(msg.ReasonRequest, kv.KindTooOld, "the snapshot does not exist: it has expired or was dropped")
	f.Hint = pins.KeepLonger
	return false, f
}
