package contention

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Config are the parameters of contention measurement.
type Config struct {
	// Every is the interval of load reports while there are contended keys; 0 switches them off.
	Every time.Duration
	// Hot is the shard that receives the reports, and sends heat maps to the gateways of the nodes 1 to Nodes.
	// It is on Node, whose gateway moves keys.
	Hot   kv.ShardID
	Nodes int
	Node  kv.NodeID
	// Mode selects the keys that are moved, until the operator sets another mode.
	Mode hotshard.Mode
	// Disabled disables the measurement, to determine its cost.
	Disabled bool
}

// Shard are the functions of the shard that the part uses.
type Shard struct {
	// Home returns the home shard of a key. If it is nil, this shard is the home of all keys.
	Home func(key []byte) kv.ShardID
	// Queue returns the number of transactions that wait because of a key.
	Queue func(key []byte) uint32
	// MoveTime returns the time in the id of a move that starts now, in nanoseconds since 1970.
	MoveTime func() int64
}

// Recovered are the rows in the log.
type Recovered struct {
	Moved []MovedRow
	Rules []RuleRow
}

// Part is the part of a shard in contention handling. The hot shard has the planner.
type Part struct {
	env   *step.Env
	cfg   Config
	shard Shard

	meter *hotshard.Meter
	// next is when to report, never if no key is contended. reported: the last report was not empty.
	next     int64
	reported bool
	planner  *hotshard.Planner
	// rules are the operator's rules, mode is the operator's mode or the configured one; moveCount is the number
	// of moves started.
	rules     []hotshard.Rule
	mode      hotshard.Mode
	moveCount uint64
	// mapCount is the number of heat maps sent in this incarnation.
	mapCount  uint64
	busyShare float64
	// overloaded: readers should send fewer messages to the shard.
	overloaded bool
	// applied are the last requests that have set rules or the mode; changeCount counts those of this
	// incarnation.
	applied     []kv.TxnRef
	changeCount uint64
	moved       moved
}

// New returns the part of a shard with the rows in its log.
func New(e *step.Env, cfg Config, around Shard, rec Recovered) *Part {
	o := hotshard.MeterOptions{}
	planner := cfg.Every > 0 && e.ID == cfg.Hot
	if planner {
		o.Entries = hotShardMeterEntries
	}
	p := &Part{env: e, cfg: cfg, shard: around, meter: hotshard.NewMeter(o), next: step.Never, mode: cfg.Mode}
	p.initMoved(rec.Moved)
	if planner {
		p.initPlanner(rec)
	}
	return p
}

// Receive handles a message, and reports whether it was about contention.
func (p *Part) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.LoadReport:
		p.onLoadReport(b)
	case *msg.PairReport:
		p.onPairReport(b)
	case *msg.SetHotPolicy:
		p.onSetHotPolicy(b)
	case *msg.HotStatusRequest:
		p.onHotStatusRequest(b)
	default:
		return false
	}
	return true
}

// A shard is overloaded when it has been busy for more than overloadAbove of the time, until it falls below
// overloadBelow.
const overloadAbove, overloadBelow = 0.7, 0.4

// SetBusy sets the recent share of time for which the shard was busy.
//
// An overloaded hot shard has readers wait for their other responses at the gateway, and sends keys home
// (hotshard.Planner).
func (p *Part) SetBusy(share float64) {
	p.busyShare = share
	// Two bounds, so that the state does not alternate around one.
	if p.overloaded {
		p.overloaded = share > overloadBelow
		return
	}
	p.overloaded = share > overloadAbove
}

// IsOverloaded reports whether readers should send fewer messages to the shard.
func (p *Part) IsOverloaded() bool { return p.overloaded }

// hotShardMeterEntries is the number of keys that the hot shard ranks: twice as many as can be moved there.
const hotShardMeterEntries = 512

// scheduleReport schedules a report if there is none.
//
// Reports are sent at fixed intervals while something is contended, so the planner distinguishes a missing report
// from the end of contention.
func (p *Part) scheduleReport() {
	if p.next == step.Never && p.cfg.Every > 0 {
		p.next = p.env.Now + int64(p.cfg.Every)
	}
}

// Next is when Tick has something to do, by Env.Now; step.Never if only another event requires it.
func (p *Part) Next() int64 { return p.next }

// RecordWait counts the time for which a transaction has waited because of a key that by holds, in nanoseconds.
//
// The report shows the operator the cause: lock, readers, a read that waits, or an attempt that was lost. All count as
// contention that a move to the hot shard may end.
func (p *Part) RecordWait(key []byte, cause hotshard.Cause, by kv.TxnRef, nanos int64) {
	if p.cfg.Disabled {
		return
	}
	p.meter.RecordWait(p.env.Now, key, cause, nanos, by)
	p.scheduleReport()
}

// Use is a use of a key for which other transactions might have waited.
type Use struct {
	Key []byte
	// Item is the item of the key, nil if it is not in memory.
	Item *mvcc.Item
	Mode adt.Mode
	// Hold is for how long a lock on the key would be held, in nanoseconds. Waited: the transaction has waited
	// for it.
	Hold   int64
	Waited bool
}

// RecordUse counts a use of a key. A participant locks the keys that it writes from its vote to the decision. A
// last agent locks its keys in one step; they are counted as if they had been locked for that long. So a key
// has the same heat wherever it is decided: otherwise a key would seem cold on the hot shard, move home, and
// be hot there. The time and mode of the last use are stored in the item, whose memory the transaction has
// just accessed. For a row of a range that is not in memory they are unknown.
//
// Example. k is written 1,000 times per second, each time in one step of the hot shard, so that no transaction ever
// waits for it. A lock on k at its home would last for a message delay of 1 ms and conflict with one other write on
// average: so k has heat, and stays.
func (p *Part) RecordUse(u Use) {
	before, conflicts := int64(0), false
	if it := u.Item; it != nil {
		before, conflicts = it.Used, it.UsedAs != adt.ModeNone && !adt.Compatible(it.UsedAs, u.Mode)
		it.Used, it.UsedAs = p.env.Now, u.Mode
	}
	p.meter.RecordUse(p.env.Now, u.Key, u.Hold, u.Waited, before, conflicts)
	if p.meter.Len() > 0 {
		p.scheduleReport()
	}
}

// IsDisabled reports whether the measurement is disabled, so that uses need not be counted.
func (p *Part) IsDisabled() bool { return p.cfg.Disabled }

// Tick sends a load report and, on the hot shard, plans moves.
func (p *Part) Tick() {
	if p.env.Now < p.next {
		return
	}
	n, least := hotshard.LoadReportKeys, hotshard.LeastHeat
	if p.planner != nil {
		n, least = hotShardMeterEntries, 0 // all keys that matter: a moved key that is missing would be sent home
	}
	top := p.meter.Top(p.env.Now, n, least)
	// An empty report after a non-empty one reports to the hot shard that the contention has ended.
	if len(top) > 0 || p.reported {
		p.report(top)
	}
	p.reported = len(top) > 0
	if p.planner != nil {
		p.planMoves()
	}
	// A shard without contention is silent: the next use of a key schedules a report again.
	p.next = step.Never
	p.meter.Fade(p.env.Now)
	if p.meter.Len() > 0 || p.reported || p.planner != nil && p.planner.Active() {
		p.scheduleReport()
	}
}

// report sends the hottest keys of this shard to the hot shard.
//
// It does not wait for the log: a report promises nothing.
func (p *Part) report(top []hotshard.KeyHeat) {
	d := &msg.LoadReport{Shard: p.env.ID}
	for i := range top {
		k := &top[i]
		d.Keys = append(d.Keys, msg.KeyHeat{Key: k.Key, Shard: p.env.ID, Heat: k.Conflicts, Waited: int64(k.Heat),
			EstimatedWait: int64(k.EstimatedWait), Waits: p.waitsOf(k)})
	}
	// The hot shard does not send a message to itself.
	if p.planner != nil {
		p.planner.ApplyLoadReport(p.env.Now, d)
		return
	}
	m := msg.ToShard(p.cfg.Hot)
	m.Body = d
	p.env.Urgent(m)
}

// waitsOf returns the waits because of a key by cause, for the operator.
func (p *Part) waitsOf(k *hotshard.KeyHeat) msg.KeyWaits {
	of := func(c hotshard.Cause) int64 { return int64(k.Causes[c]) }
	return msg.KeyWaits{Lock: of(hotshard.LockWait), Held: of(hotshard.Held), Read: of(hotshard.ReadWait),
		Retry: of(hotshard.Retry), Holds: k.Holds, Queue: p.shard.Queue(k.Key)}
}

// onLoadReport handles the report of another shard. A copy that arrives after a newer report counts until the
// next one, or for four intervals: it may cause or prevent a move, which affects speed only.
func (p *Part) onLoadReport(d *msg.LoadReport) {
	if p.planner != nil {
		p.planner.ApplyLoadReport(p.env.Now, d)
		p.scheduleReport()
	}
}

// Waits returns at most n keys for which transactions have waited recently, those with most waiting first.
func (p *Part) Waits(n int) (out []hotshard.KeyHeat) {
	for _, k := range p.meter.Top(p.env.Now, n, 0) {
		if k.Count > 0 {
			k.Shard = p.env.ID
			out = append(out, k)
		}
	}
	return out
}

// Stats describe the moved keys of the hot shard, the moves in this incarnation, and the planner.
type Stats struct {
	Moved             int
	MovedIn, MovedOut uint64
	// Planned: there is a planner. Capacity is how many keys can be moved to the hot shard. Mode and the number
	// of Rules are set by the operator; Counters are those of the planner.
	Planned         bool
	Capacity, Rules int
	Mode            hotshard.Mode
	Counters        hotshard.PlannerCounters
}

// Stats returns the statistics.
func (p *Part) Stats() Stats {
	s := Stats{Moved: len(p.moved.keys), MovedIn: p.moved.movedIn, MovedOut: p.moved.movedOut}
	if pl := p.planner; pl != nil {
		s.Planned, s.Capacity, s.Rules, s.Mode, s.Counters = true, pl.Capacity(), len(p.rules), p.mode, pl.Counters()
	}
	return s
}

// Top returns at most n keys of the cluster with the most waiting, as reported to the hot shard. On other
// shards it returns nil.
func (p *Part) Top(n int) []msg.HotKey {
	if p.planner == nil {
		return nil
	}
	top := p.planner.Top(p.env.Now, n)
	for i := range top {
		// The queue of a local key is read now; the reported one is older.
		if top[i].Shard == p.env.ID {
			top[i].Waits.Queue = p.shard.Queue(top[i].Key)
		}
	}
	return top
}
