package past

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// Config are the parameters of retained snapshots.
type Config struct {
	// Every is the interval of snapshots for the history while there are writes; without them older versions
	// could not be collected. 0 switches snapshots off: only CSNs fixed in this incarnation are retained.
	Every time.Duration
	// History is how long unnamed snapshots are retained, for reads as of a time. If it is 0, only named ones
	// are.
	History time.Duration
	// Doubt is for how long a clock may be wrong without effect: the time for which outcomes are retained.
	Doubt time.Duration
	// Hot is the shard with the registry, Node the node of that shard.
	Hot  kv.ShardID
	Node kv.NodeID
}

// Snapshots is the part of a shard in retained snapshots. The hot shard has the registry.
type Snapshots struct {
	*step.Env
	store *store.Store
	cfg   Config
	// nextRequest is when the next request to the registry may be sent.
	nextRequest int64

	// registry is nil on all shards but the hot one.
	registry *snapshot.Registry
	// snapshotDue: a shard has written since the newest snapshot. nextSnapshot is when the next one may be
	// fixed.
	snapshotDue  bool
	nextSnapshot int64
}

// NewSnapshots returns the part of a shard; on the hot shard, with the snapshots in its log. writes is the
// number of writes so far.
func NewSnapshots(e *step.Env, s *store.Store, cfg Config, retained []*msg.Snapshot, writes uint64) *Snapshots {
	x := &Snapshots{Env: e, store: s, cfg: cfg}
	if !x.isEnabled() {
		return x
	}
	x.nextRequest, x.nextSnapshot = x.Now, x.Now
	if x.ID == cfg.Hot {
		opt := snapshot.Options{History: cfg.History, Doubt: cfg.Doubt, Steady: time.Duration(e.SteadyNanos),
			Mutants: e.Mutants}
		x.registry = snapshot.New(opt, retained, writes+1, x.Now, x.Wall)
		x.applyOwnList()
	}
	return x
}

// isEnabled reports whether there are snapshots at all.
func (x *Snapshots) isEnabled() bool { return x.cfg.Every > 0 }

// known is the list by which the store of this shard collects.
//
// All shards, the hot shard included, collect by such a list, so none has a rule of its own.
func (x *Snapshots) known() *snapshot.Known { return &x.store.Retention().Known }

// applyOwnList applies the registry's list to the store of the hot shard itself.
func (x *Snapshots) applyOwnList() { x.known().Apply(x.registry.ListFor(x.ID, x.Inc, x.Inc)) }

// Receive handles a message, and reports whether it was about snapshots.
//
// A request that reaches a shard other than the hot one, by a mistake of a gateway, is answered with a failure.
func (x *Snapshots) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.RetainSnapshot:
		x.onRetainSnapshot(b)
	case *msg.FindSnapshot:
		x.onFindSnapshot(b)
	case *msg.DropSnapshot:
		x.onDropSnapshot(b)
	case *msg.SnapshotListRequest:
		x.onListRequest(b)
	case *msg.SnapshotList:
		x.known().Apply(b)
	default:
		return false
	}
	return true
}

// Tick requests the list of snapshots; on the hot shard it starts a snapshot for the history.
//
// A request that is lost is repeated after an interval, as is a list.
func (x *Snapshots) Tick() {
	switch {
	case !x.isEnabled():
	case x.registry != nil:
		x.tickRegistry()
	case x.Now >= x.nextRequest && x.needsList():
		x.requestListLater()
	}
}

// tickRegistry has the gateway of the node fix a snapshot if one is due.
//
// Without snapshots of the history the safe point would not rise, and nothing would be collected.
func (x *Snapshots) tickRegistry() {
	if x.store.CSN() > x.registry.SafePoint(x.ID) {
		x.snapshotDue = true
	}
	// A snapshot needs a round of a gateway; the message may be lost, then the next interval repeats it.
	if x.snapshotDue && x.Now >= x.nextSnapshot {
		x.snapshotDue, x.nextSnapshot = false, x.Now+int64(x.cfg.Every)
		m := msg.ToGateway(x.cfg.Node)
		m.Body = &msg.Due{}
		x.Send(m)
	}
}

// needsList reports whether the list of the registry is missing, or the shard has written since its safe
// point.
//
// Without new writes no version becomes garbage; for garbage that still waits, see Clean.
func (x *Snapshots) needsList() bool {
	return !x.known().HasList() || x.store.CSN() > x.known().SafePoint()
}

// requestListLater requests the list now, and not again for an interval.
func (x *Snapshots) requestListLater() {
	x.nextRequest = x.Now + int64(x.cfg.Every)
	x.requestList()
}

// requestList requests the list of snapshots. The request promises nothing, so it does not wait for the log; its
// CSN only states that the shard has written.
func (x *Snapshots) requestList() {
	m, q := msg.ToShard(x.cfg.Hot), x.known().Request()
	q.Shard, q.CSN = x.ID, x.store.CSN()
	m.Body = q
	x.Urgent(m)
}

// Next is when Tick has something to do.
//
// A shard without writes has nothing to do, and sends nothing.
func (x *Snapshots) Next() int64 {
	switch {
	case !x.isEnabled():
	case x.registry == nil && x.needsList():
		return x.nextRequest
	case x.registry != nil && (x.snapshotDue || x.store.CSN() > x.registry.SafePoint(x.ID)):
		return x.nextSnapshot
	}
	return step.Never
}

// Clean expires snapshots. On other shards it requests the list even without writes, while there is garbage
// that waits for a snapshot to be removed. It is called once a second.
func (x *Snapshots) Clean() {
	if x.registry != nil {
		x.expireSnapshots()
		return
	}
	// Without writes the shard sends no requests, and would not learn that a snapshot was removed.
	if x.isEnabled() && !x.needsList() && x.store.Collector.HasGarbage() {
		x.requestList()
	}
}

// Readable reports whether a snapshot can be read here, or why not. If that is unknown, it requests the list.
//
// A snapshot that is newer than the list is readable as long as it is not below the safe point: the shard collects by
// this list only, so its versions are still there.
func (x *Snapshots) Readable(number uint64, csn kv.CSN) (bool, *msg.Failure) {
	switch x.verdict(number, csn) {
	case snapshot.Readable:
		return true, nil
	// After a restart: the snapshot may have been removed, and its versions collected, before.
	case snapshot.Unknown:
		x.requestListLater()
		return false, nil
	}
	f := msg.Fail(msg.ReasonRequest, kv.KindTooOld, "the snapshot does not exist: it has expired or was dropped")
	f.Hint = snapshot.RetentionHint
	return false, f
}
