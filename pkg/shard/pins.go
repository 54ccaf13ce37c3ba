package shard

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/pins"
)

// PinConfig says how states of the whole store are kept.
type PinConfig struct {
	// Every is how often a state is fixed while there are writes, so that what
	// is older can be collected. 0 switches pins off: nothing but kept indexes
	// of this life is spared.
	Every time.Duration
	// History is how long those states are kept, for reads as of a time; with 0
	// only states with a name are.
	History time.Duration
	// Hot is the shard that keeps them, and Node the node it is on.
	Hot  kv.ShardID
	Node kv.NodeID
}

// pinning is a shard's part in what is kept. The hot shard has the keeper.
type pinning struct {
	known pins.Known
	// fixed is the highest index that may be part of a pin. Those of earlier
	// lives are below the index at which this one began.
	fixed kv.Index
	// ask is when the keeper may be asked again.
	ask int64

	keeper *pins.Keeper
	// due: a shard has written since the newest state. round is when the next
	// one may be fixed.
	due   bool
	round int64
}

func (m *Machine) pinsOn() bool { return m.cfg.Pins.Every > 0 }

func (m *Machine) initPins(rec Recovered) {
	if !m.pinsOn() {
		return
	}
	m.pins.known = pins.NewKnown(m.inc)
	m.pins.fixed = rec.State.Index
	m.pins.ask, m.pins.round = m.now, m.now
	if m.cfg.ID == m.cfg.Pins.Hot {
		m.pins.keeper = pins.New(m.keeperOptions(), rec.Pins, rec.State.Writes+1, m.now, m.wall)
		m.pinsChanged()
	}
}

// pinsChanged: the hot shard is told by itself.
func (m *Machine) pinsChanged() {
	m.pins.known.Take(m.pins.keeper.Tell(m.cfg.ID, m.inc, m.inc))
}

// floorIndex is the index from which on everything is kept.
func (m *Machine) floorIndex() kv.Index {
	if !m.pinsOn() || m.cfg.Mutants.Has(mutant.GarbageTooEarly) {
		return m.index
	}
	return m.pins.known.Floor()
}

// keptIndexes are those below the floor, or above it, at which somebody reads,
// or may want to, in order.
func (m *Machine) keptIndexes() []kv.Index {
	if m.cfg.Mutants.Has(mutant.GarbageTooEarly) {
		return nil
	}
	out := make([]kv.Index, 0, len(m.pins.known.Indexes())+len(m.keeps)+len(m.cold))
	if !m.cfg.Mutants.Has(mutant.GarbagePastPin) {
		out = append(out, m.pins.known.Indexes()...)
	}
	for _, k := range m.keeps {
		out = append(out, k.index)
	}
	for _, c := range m.cold {
		out = append(out, c.index)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newestRead is the highest index below the current one at which somebody may
// read. What became visible later can be written over.
func (m *Machine) newestRead() kv.Index {
	if m.cfg.Mutants.Has(mutant.GarbageTooEarly) {
		return 0
	}
	top := m.pins.fixed
	if len(m.keeps) > 0 {
		top = max(top, m.keepTop)
	}
	if len(m.cold) > 0 {
		top = max(top, m.coldTop)
	}
	return top
}

// tickPins asks the keeper what has become of the past, and has the keeper see
// to a new state.
func (m *Machine) tickPins() {
	if !m.pinsOn() {
		return
	}
	if k := m.pins.keeper; k != nil {
		if m.index > k.Floor(m.cfg.ID) {
			m.pins.due = true
		}
		if m.pins.due && m.now >= m.pins.round {
			m.pins.due, m.pins.round = false, m.now+int64(m.cfg.Pins.Every)
			env := msg.ToGateway(m.cfg.Pins.Node)
			env.Due = &msg.Due{}
			m.send(env)
		}
		return
	}
	if m.now >= m.pins.ask && m.asksPins() {
		m.askPins()
	}
}

// asksPins reports whether the keeper has something to tell or to do.
func (m *Machine) asksPins() bool {
	return !m.pins.known.Heard() || m.index > m.pins.known.Floor()
}

// askForGarbage asks the keeper although nobody writes, while there is garbage
// that waits for a pin to go; once a second.
func (m *Machine) askForGarbage() {
	if m.pinsOn() && m.pins.keeper == nil && !m.asksPins() && (m.garbage.Len() > 0 || m.sweepsLeft()) {
		m.putQuestion()
	}
}

func (m *Machine) askPins() {
	m.pins.ask = m.now + int64(m.cfg.Pins.Every)
	m.putQuestion()
}

func (m *Machine) putQuestion() {
	env := msg.ToShard(m.cfg.Pins.Hot)
	env.AskPins = m.pins.known.Question()
	env.AskPins.Shard, env.AskPins.Index = m.cfg.ID, m.index
	m.urgent(env)
}

// nextPins is when tickPins has something to do.
func (m *Machine) nextPins() int64 {
	switch {
	case !m.pinsOn():
	case m.pins.keeper == nil && m.asksPins():
		return m.pins.ask
	case m.pins.keeper != nil && (m.pins.due || m.index > m.pins.keeper.Floor(m.cfg.ID)):
		return m.pins.round
	}
	return never
}

func (m *Machine) onPins(p *msg.Pins) { m.pins.known.Take(p) }

func (m *Machine) receiveOfPins(env *msg.Envelope) {
	switch {
	case env.KeepPin != nil:
		m.onKeepPin(env.KeepPin)
	case env.FindPin != nil:
		m.onFindPin(env.FindPin)
	case env.DropPin != nil:
		m.onDropPin(env.DropPin)
	case env.AskPins != nil:
		m.onAskPins(env.AskPins)
	case env.Pins != nil:
		m.onPins(env.Pins)
	default:
		m.receiveOfHeat(env)
	}
}
