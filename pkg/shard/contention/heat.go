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

// Config says how shards tell which of their keys are hot.
type Config struct {
	// Every is how often, while there are any; 0 for never.
	Every time.Duration
	// Hot is the shard that puts it together, and tells the gateways of all
	// nodes, 1 to Nodes; it is on Node, whose gateway moves keys.
	Hot   kv.ShardID
	Nodes int
	Node  kv.NodeID
	// Mode says which keys are moved, until the operator says otherwise.
	Mode hotshard.Mode
	// Blind: nothing is noticed; to measure what noticing costs.
	Blind bool
}

// Around is what the part asks of the shard around it.
type Around struct {
	// Home is the shard on which a key lives that has not been moved; nil where all are
	// at home here, or gone by a forwarding tombstone.
	Home func(key []byte) kv.ShardID
	// Queue is how many transactions wait because of a key at the moment.
	Queue func(key []byte) uint32
	// MoveTime is the time in the id of a move that begins now, in nanoseconds since 1970.
	MoveTime func() int64
}

// Recovered is what the log holds of it.
type Recovered struct {
	Moved []MovedRow
	Rules []RuleRow
}

// Part is a shard's part in what is known of hot keys. The hot shard has the planner.
type Part struct {
	env    *step.Env
	cfg    Config
	around Around

	meter *hotshard.Meter
	// next is when to report, never if nothing is hot; told: some key was in the last
	// report.
	next    int64
	told    bool
	planner *hotshard.Planner
	// rules are the operator's, mode is his or the configured one; moves
	// counts those that were begun.
	rules []hotshard.Rule
	mode  hotshard.Mode
	moves uint64
	// maps counts the heat maps that were sent in this incarnation.
	maps uint64
	busy float64
	// spare: readers should spare the shard messages.
	spare bool
	// set names the last requests that have set rules or the mode; change counts those of this
	// incarnation.
	set    []kv.TxnRef
	change uint64
	moved  moved
}

// New makes a shard's part from what its log holds.
func New(e *step.Env, cfg Config, around Around, rec Recovered) *Part {
	o := hotshard.MeterOptions{}
	planner := cfg.Every > 0 && e.ID == cfg.Hot
	if planner {
		o.Entries = hotMeterEntries
	}
	p := &Part{env: e, cfg: cfg, around: around, meter: hotshard.NewMeter(o), next: step.Never, mode: cfg.Mode}
	p.initMoved(rec.Moved)
	if planner {
		p.initPlanner(rec)
	}
	return p
}

// Receive takes a message, and reports whether it was about heat.
func (p *Part) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.LoadReport:
		p.onHeatDigest(b)
	case *msg.PairReport:
		p.onPairDigest(b)
	case *msg.SetHotPolicy:
		p.onSetHot(b)
	case *msg.HotStatusRequest:
		p.onAskHot(b)
	default:
		return false
	}
	return true
}

// A shard that has been busy for more than spareAbove of the time wants to be
// spared messages, until it is below spareBelow.
const spareAbove, spareBelow = 0.7, 0.4

// SetBusy says in which share of the time the shard has worked lately.
func (p *Part) SetBusy(share float64) {
	p.busy = share
	if p.spare {
		p.spare = share > spareBelow
		return
	}
	p.spare = share > spareAbove
}

// Spare reports whether readers should spare the shard messages.
func (p *Part) Spare() bool { return p.spare }

// hotMeterEntries is how many keys the hot shard ranks: twice as many as are
// moved there at most.
const hotMeterEntries = 512

// warm has the shard report some time from now.
func (p *Part) warm() {
	if p.next == step.Never && p.cfg.Every > 0 {
		p.next = p.env.Now + int64(p.cfg.Every)
	}
}

// Next is when Tick has something to do, by the shard's clock; env.Never for not before
// something happens.
func (p *Part) Next() int64 { return p.next }

// Waited counts nanoseconds that somebody has waited because of a key, which by held.
func (p *Part) Waited(key []byte, cause hotshard.Cause, by kv.TxnRef, nanos int64) {
	if p.cfg.Blind {
		return
	}
	p.meter.Waited(p.env.Now, key, cause, nanos, by)
	p.warm()
}

// Use is how a transaction has used a key that others might have waited for.
type Use struct {
	Key []byte
	// Item is the key's in memory, nil if it is not there.
	Item *mvcc.Item
	Mode adt.Mode
	// Hold is for how long a lock on it would have been held, in nanoseconds. Waited: the
	// transaction has waited for it.
	Hold   int64
	Waited bool
}

// Used counts a use. On a participant the keys that a transaction writes are locked from the
// vote to the decision; where its last agent has written them, in no time, they would have
// been, so that they are as hot when they are decided where they live as when they are not.
// When and how a key was last used stands with the key, in memory that the transaction has
// just worked on; of a row that came out of a range and is not in memory it is not known.
func (p *Part) Used(u Use) {
	before, clashes := int64(0), false
	if it := u.Item; it != nil {
		before, clashes = it.Used, it.UsedAs != adt.ModeNone && !adt.Compatible(it.UsedAs, u.Mode)
		it.Used, it.UsedAs = p.env.Now, u.Mode
	}
	p.meter.Ran(p.env.Now, u.Key, u.Hold, u.Waited, before, clashes)
	if p.meter.Len() > 0 {
		p.warm()
	}
}

// Blind reports whether nothing is noticed, so that nobody need say what was used.
func (p *Part) Blind() bool { return p.cfg.Blind }

// Tick reports the hot keys and, on the hot shard, has keys moved, when it is time to.
func (p *Part) Tick() {
	if p.env.Now < p.next {
		return
	}
	n, least := hotshard.DigestKeys, hotshard.LeastHeat
	if p.planner != nil {
		n, least = hotMeterEntries, 0 // all that matter, or they are sent home
	}
	top := p.meter.Top(p.env.Now, n, least)
	if len(top) > 0 || p.told {
		p.report(top)
	}
	p.told = len(top) > 0
	if p.planner != nil {
		p.plan()
	}
	p.next = step.Never
	p.meter.Fade(p.env.Now)
	if p.meter.Len() > 0 || p.told || p.planner != nil && p.planner.Active() {
		p.warm()
	}
}

// report tells the hot shard of the hottest keys here.
func (p *Part) report(top []hotshard.KeyHeat) {
	d := &msg.LoadReport{Shard: p.env.ID}
	for i := range top {
		k := &top[i]
		d.Keys = append(d.Keys, msg.KeyHeat{Key: k.Key, Shard: p.env.ID, Heat: k.Clashes, Waited: int64(k.Heat),
			Would: int64(k.Would), Waits: p.waitsFor(k)})
	}
	if p.planner != nil {
		p.planner.TakeDigest(p.env.Now, d)
		return
	}
	m := msg.ToShard(p.cfg.Hot)
	m.Body = d
	p.env.Urgent(m)
}

// waitsFor tells the operator who waits because of a key.
func (p *Part) waitsFor(k *hotshard.KeyHeat) msg.KeyWaits {
	of := func(c hotshard.Cause) int64 { return int64(k.Causes[c]) }
	return msg.KeyWaits{Lock: of(hotshard.LockWait), Held: of(hotshard.Held), Read: of(hotshard.ReadWait),
		Retry: of(hotshard.Retry), Holds: k.Holds, Queue: p.around.Queue(k.Key)}
}

// onHeatDigest takes the report of another shard. A copy that arrives after a newer report counts
// until the next one, or for four periods: a key may be moved for it, or not.
func (p *Part) onHeatDigest(d *msg.LoadReport) {
	if p.planner != nil {
		p.planner.TakeDigest(p.env.Now, d)
		p.warm()
	}
}

// KeyWait says how much waiting a key has caused since it came to be noticed.
type KeyWait struct {
	Key    []byte
	Shard  kv.ShardID
	Nanos  int64
	Count  uint64
	Holder kv.TxnRef
	// Last is when somebody last waited for it.
	Last int64
}

// Waits lists at most n keys for which somebody has waited lately, most first.
func (p *Part) Waits(n int) (out []KeyWait) {
	for _, k := range p.meter.Top(p.env.Now, n, 0) {
		if k.Count > 0 {
			out = append(out, KeyWait{Key: k.Key, Shard: p.env.ID, Nanos: k.Nanos, Count: k.Count, Holder: k.Holder, Last: k.Last})
		}
	}
	return out
}

// Stats tell of the hot shard: how many keys have been moved there and are
// there now, and how many moves there and home it has seen in this life; and of
// the planner, if keys are moved at all.
type Stats struct {
	Moved      int
	Came, Went uint64
	// Planned: there is a planner. Capacity is how many keys may be moved there;
	// Mode and Rules, a number, are the operator's; Counters are the planner's.
	Planned         bool
	Capacity, Rules int
	Mode            hotshard.Mode
	Counters        hotshard.PlannerCounters
}

// Stats gives them.
func (p *Part) Stats() Stats {
	s := Stats{Moved: len(p.moved.keys), Came: p.moved.came, Went: p.moved.went}
	if pl := p.planner; pl != nil {
		s.Planned, s.Capacity, s.Rules, s.Mode, s.Counters = true, pl.Capacity(), len(p.rules), p.mode, pl.Counters()
	}
	return s
}

// Top lists at most n of the cluster's keys for which most is waited, as the
// hot shard has heard of them. Other shards know of none.
func (p *Part) Top(n int) []hotshard.KeyState {
	if p.planner == nil {
		return nil
	}
	top := p.planner.Top(p.env.Now, n)
	for i := range top {
		if top[i].Shard == p.env.ID {
			top[i].Waits.Queue = p.around.Queue(top[i].Key)
		}
	}
	return top
}
