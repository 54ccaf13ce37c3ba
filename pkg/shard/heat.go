package shard

// What a shard notices of its hot keys, and what the hot shard makes of that
// (package hotshard).

import (
	"bytes"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// HeatConfig says how shards tell which of their keys are hot.
type HeatConfig struct {
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

// heating is a shard's part in what is known of heat. The hot shard has the
// planner.
type heating struct {
	meter *hotshard.Meter
	// next is when to tell, never if nothing is hot; told: some key was told of
	// the last time.
	next    int64
	told    bool
	planner *hotshard.Planner
	// rules are the operator's, mode is his or the configured one; moves
	// counts those that were begun.
	rules []hotshard.Rule
	mode  hotshard.Mode
	moves uint64
	busy  float64
	// spare: readers should spare the shard messages.
	spare bool
	// set names the last requests that have set rules or the mode.
	set []kv.TxnRef
	// parked is what it takes from parking to all votes.
	parked typical
}

func (m *Machine) initHeat(rec Recovered) {
	o := hotshard.MeterOptions{}
	planner := m.cfg.Heat.Every > 0 && m.cfg.ID == m.cfg.Heat.Hot
	if planner {
		o.Entries = hotMeterEntries
	}
	m.heat = heating{meter: hotshard.NewMeter(o), next: never, mode: m.cfg.Heat.Mode}
	if planner {
		m.initPlanner(rec)
	}
}

// A shard that has been busy for more than spareAbove of the time wants to be
// spared messages, until it is below spareBelow.
const spareAbove, spareBelow = 0.7, 0.4

func (h *heating) setBusy(share float64) {
	h.busy = share
	if h.spare {
		h.spare = share > spareBelow
		return
	}
	h.spare = share > spareAbove
}

// hotMeterEntries is how many keys the hot shard ranks: twice as many as are
// moved there at most.
const hotMeterEntries = 512

// warm has the shard tell of heat some time from now.
func (m *Machine) warm() {
	if m.heat.next == never && m.cfg.Heat.Every > 0 {
		m.heat.next = m.now + int64(m.cfg.Heat.Every)
	}
}

// waited: somebody has waited because of a key.
func (m *Machine) waited(key []byte, cause hotshard.Cause, by kv.TxnRef, nanos int64) {
	if m.cfg.Heat.Blind {
		return
	}
	m.heat.meter.Waited(m.now, key, cause, nanos, by)
	m.warm()
}

// ran: a piece has written keys, and asked for what data types hold. On a
// participant they are locked from its vote to the decision; where the last agent
// has written them, in no time, they would have been, so that they are as hot when
// they are decided where they live as when they are not. When and how a key was last
// used stands with the key, in memory that the piece has just worked on; of a row
// that came out of a range and is not in memory it is not known.
func (m *Machine) ran(t *task, effects []entry.Effect) {
	if m.cfg.Heat.Blind {
		return
	}
	hold := m.decisions.nanos
	if hold == 0 {
		hold = m.heat.parked.nanos
	}
	waited, on, _ := t.req.Waited()
	used := func(key []byte, mode adt.Mode) {
		before, clashes := int64(0), false
		if it := (*view)(t).item(key); it != nil {
			before, clashes = it.Used, it.UsedAs != adt.ModeNone && !adt.Compatible(it.UsedAs, mode)
			it.Used, it.UsedAs = m.now, mode
		}
		m.heat.meter.Ran(m.now, key, hold, waited > 0 && bytes.Equal(on, key), before, clashes)
	}
	for i := range effects {
		used(effects[i].Key, m.useOf(&effects[i]))
	}
	for i := range t.ops {
		if op := &t.ops[i]; op.Kind == msg.OpAsk {
			used(op.Key, m.askedAs(op))
		}
	}
	if m.heat.meter.Len() > 0 {
		m.warm()
	}
}

// useOf is how an effect uses its key, as those see it who might wait for it. Of
// several parts of a value the first stands for all.
func (m *Machine) useOf(e *entry.Effect) adt.Mode {
	if e.Kind != entry.EffectChange && (e.Kind != entry.EffectAdd || m.cfg.Sharing.Locks == RWLocks) {
		return adt.ModeWrite
	}
	if modes, _ := m.changeModes(e); len(modes) > 0 {
		return modes[0]
	}
	return adt.ModeWrite
}

// askedAs is how a call that changes nothing uses its key.
func (m *Machine) askedAs(op *msg.Op) adt.Mode {
	if m.cfg.Sharing.Locks == RWLocks {
		return adt.ModeRead
	}
	m.modes = adt.Modes(m.modes[:0], op)
	return m.modes[0]
}

// tickHeat tells of heat, when it is time to.
func (m *Machine) tickHeat() {
	h := &m.heat
	if m.now < h.next {
		return
	}
	n, least := hotshard.DigestKeys, hotshard.LeastHeat
	if h.planner != nil {
		n, least = hotMeterEntries, 0 // all that matter, or they are sent home
	}
	top := h.meter.Top(m.now, n, least)
	if len(top) > 0 || h.told {
		d := &msg.HeatDigest{Shard: m.cfg.ID}
		for i := range top {
			k := &top[i]
			d.Keys = append(d.Keys, msg.KeyHeat{Key: k.Key, Shard: m.cfg.ID, Heat: k.Clashes, Waited: int64(k.Heat), Would: int64(k.Would), Waits: m.waitsFor(k)})
		}
		m.tellHeat(d)
	}
	h.told = len(top) > 0
	if h.planner != nil {
		m.plan()
	}
	h.next = never
	h.meter.Fade(m.now)
	if h.meter.Len() > 0 || h.told || h.planner != nil && h.planner.Active() {
		m.warm()
	}
}

// waitsFor tells the operator who waits because of a key.
func (m *Machine) waitsFor(k *hotshard.KeyHeat) msg.KeyWaits {
	of := func(c hotshard.Cause) int64 { return int64(k.Causes[c]) }
	return msg.KeyWaits{Lock: of(hotshard.LockWait), Held: of(hotshard.Held), Read: of(hotshard.ReadWait), Retry: of(hotshard.Retry),
		Holds: k.Holds, Queue: m.queueOf(k.Key)}
}

// queueOf is how many wait because of a key at the moment.
func (m *Machine) queueOf(key []byte) uint32 {
	return uint32(m.locks.WaitingFor(key) + m.queue.WaitingFor(key))
}

func (m *Machine) tellHeat(d *msg.HeatDigest) {
	if m.heat.planner != nil {
		m.heat.planner.TakeDigest(m.now, d)
		return
	}
	env := msg.ToShard(m.cfg.Heat.Hot)
	env.HeatDigest = d
	m.urgent(env)
}

func (m *Machine) onHeatDigest(d *msg.HeatDigest) {
	if m.heat.planner != nil {
		m.heat.planner.TakeDigest(m.now, d)
		m.warm()
	}
}

func (m *Machine) receiveOfHeat(env *msg.Envelope) {
	switch {
	case env.HeatDigest != nil:
		m.onHeatDigest(env.HeatDigest)
	case env.PairDigest != nil:
		m.onPairDigest(env.PairDigest)
	case env.SetHot != nil:
		m.onSetHot(env.SetHot)
	case env.AskHot != nil:
		m.onAskHot(env.AskHot)
	}
}
