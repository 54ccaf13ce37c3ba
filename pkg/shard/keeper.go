package shard

// What the hot shard does as the keeper of pins (package pins): it keeps, finds
// and drops them for gateways, and tells shards what is kept.

import (
	"encoding/binary"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/pins"
)

func (m *Machine) keeperOptions() pins.Options {
	return pins.Options{History: m.cfg.Pins.History, Doubt: m.cfg.Retention, Mutants: m.cfg.Mutants}
}

// observeDay has the keeper see the time of day.
func (m *Machine) observeDay() {
	if m.pins.keeper == nil {
		return
	}
	for _, p := range m.pins.keeper.Observe(m.now, m.wall) {
		m.put(entry.TablePin, pinKey(p.Number), p)
	}
}

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
		p, fresh, err := k.Keep(m.now, pins.Request{Origin: q.Request, Clock: q.Clock, Fixed: q.Fixed, Name: q.Name, TTL: time.Duration(q.TtlNanos)},
			func() uint64 { return m.nextVersion(kv.Version{}).Write })
		if err != nil {
			r.Failure = failureOf(err)
		}
		if fresh {
			if m.cfg.Trace.Kept != nil {
				m.cfg.Trace.Kept(p.Number, k.Fixed(p.Number))
			}
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
		r.Pins = k.List(m.now)
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
		return k.Named(m.now, q.Name)
	case q.Number != 0:
		return k.Numbered(m.now, q.Number)
	default:
		return k.AsOf(m.now, q.AsOf)
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
	gone := m.pins.keeper.Expire(m.now)
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
// for how long by now the oldest has been past.
func (m *Machine) Pins(now int64) (all, named int, age time.Duration) {
	k := m.pins.keeper
	if k == nil {
		return 0, 0, 0
	}
	all, named = k.Len()
	return all, named, k.Age(now)
}
