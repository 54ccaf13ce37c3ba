package shard

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
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
		m.pins.keeper = pins.New(m.cfg.Pins.History, rec.Pins, rec.State.Writes+1, m.cfg.Mutants)
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
			env.PinDue = &msg.PinDue{}
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

// The rest is the keeper's.

// onAskPins answers if there is news, and notes that there are writes.
func (m *Machine) onAskPins(q *msg.AskPins) {
	k := m.pins.keeper
	if k == nil {
		return
	}
	if q.Index > k.Floor(q.Shard) {
		m.pins.due = true
	}
	if q.Incarnation == m.inc && q.Change == k.Change() {
		return
	}
	env := msg.ToShard(q.Shard)
	env.Pins = k.Tell(q.Shard, q.Asker, m.inc)
	m.send(env)
}

// onKeepPin keeps a state, if this life of the shard has been part of it: then
// it is not older than any that was kept before this life.
func (m *Machine) onKeepPin(q *msg.KeepPin) {
	k := m.pins.keeper
	r := &msg.PinReply{Request: q.Request}
	if k == nil {
		r.Failure = pinsOff()
		m.replyPin(q.Gateway, r)
		return
	}
	switch made := k.Made(q.Request, q.Name); {
	case made != nil:
		r.Pins = []msg.Pin{*made}
	case q.Incarnation != m.inc:
		r.Failure = failure(msg.ReasonIncarnation, kv.KindAborted, "the hot shard has restarted since it fixed its index")
	default:
		p, fresh, err := k.Keep(m.wall, pins.Request{Origin: q.Request, Clock: q.Clock, Time: q.Time, Name: q.Name, TTL: time.Duration(q.TtlNanos)},
			func() uint64 { return m.nextVersion().Write })
		if err != nil {
			r.Failure = failureOf(err)
		}
		if fresh {
			m.put(entry.TablePin, pinKey(p.Number), p)
		}
		if p != nil {
			r.Pins = []msg.Pin{*p}
		}
		m.pinsChanged()
	}
	m.replyPin(q.Gateway, r)
}

func pinsOff() *msg.Failure {
	return failure(msg.ReasonRequest, kv.KindInvalid, "snapshots are switched off on this server")
}

func (m *Machine) replyPin(to kv.NodeID, r *msg.PinReply) {
	env := msg.ToGateway(to)
	env.PinReply = r
	m.send(env)
}

func pinKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func (m *Machine) onFindPin(q *msg.FindPin) {
	r := &msg.PinReply{Request: q.Request}
	if k := m.pins.keeper; k == nil {
		r.Failure = pinsOff()
	} else if q.List {
		r.Pins = k.List(m.wall)
	} else if p, err := m.findPin(q); err != nil {
		r.Failure = failureOf(err)
	} else {
		r.Pins = []msg.Pin{*p}
	}
	m.replyPin(q.Gateway, r)
}

func (m *Machine) findPin(q *msg.FindPin) (*msg.Pin, *kv.Error) {
	switch k := m.pins.keeper; {
	case q.Name != "":
		return k.Named(m.wall, q.Name)
	case q.Number != 0:
		return k.Numbered(m.wall, q.Number)
	default:
		return k.AsOf(m.wall, q.AsOf)
	}
}

// onDropPin gives a pin up. To do so twice is the same.
func (m *Machine) onDropPin(q *msg.DropPin) {
	r := &msg.PinReply{Request: q.Request}
	if m.pins.keeper == nil {
		r.Failure = pinsOff()
	} else if m.pins.keeper.Drop(q.Number) {
		m.del(entry.TablePin, pinKey(q.Number))
		m.pinsChanged()
	}
	m.replyPin(q.Gateway, r)
}

// expirePins gives up the pins whose time is over.
func (m *Machine) expirePins() {
	if m.pins.keeper == nil {
		return
	}
	gone := m.pins.keeper.Expire(m.wall)
	for _, n := range gone {
		m.del(entry.TablePin, pinKey(n))
	}
	if len(gone) > 0 {
		m.pinsChanged()
	}
}

// expectsPins reports whether pins may expire.
func (m *Machine) expectsPins() bool {
	if m.pins.keeper == nil {
		return false
	}
	all, named := m.pins.keeper.Len()
	return named > 0 || all > 1
}

// Pins tells how many pins are kept here, how many of them have a name, and
// when the oldest was the present.
func (m *Machine) Pins() (all, named int, oldest int64) {
	k := m.pins.keeper
	if k == nil {
		return 0, 0, 0
	}
	all, named = k.Len()
	return all, named, k.Oldest()
}

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
	}
}
