package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// guests are the keys that have been moved to this shard: the hot one. A key
// lives on exactly one shard: at home if there is no mark, and where the mark
// says otherwise; and there it is among these. Each has a row in the log, which
// comes and goes with the move's own effects.
type guests struct {
	keys map[string]entry.Moved
	// came and went count them in this life.
	came, went uint64
}

// MovedRow is a row of TableMoved.
type MovedRow struct {
	Key []byte
	entry.Moved
}

func (m *Machine) initGuests(rec Recovered) {
	m.guests.keys = make(map[string]entry.Moved, len(rec.Moved))
	for _, r := range rec.Moved {
		if m.cfg.Mutants.Has(mutant.GuestsForgotten) {
			break
		}
		m.guests.keys[string(r.Key)] = r.Moved
	}
}

// IsGuest reports whether a key has been moved here.
func (m *Machine) IsGuest(key []byte) bool {
	_, is := m.guests.keys[string(key)]
	return is
}

// home is the shard of a key that has not been moved.
func (m *Machine) home(key []byte) kv.ShardID {
	if m.cfg.Home == nil {
		return m.cfg.ID
	}
	return m.cfg.Home(key)
}

// elsewhere tells where a key is, if it is not here. Its item is loaded.
func (m *Machine) elsewhere(key []byte, it *mvcc.Item) (to kv.ShardID, here bool) {
	if it != nil && it.Value.Type == entry.TypeMoved && !m.cfg.Mutants.Has(mutant.MarkIgnored) {
		to, _ = it.Value.MovedTo()
		return to, false
	}
	if home := m.home(key); home != m.cfg.ID {
		_, here = m.guests.keys[string(key)]
		return home, here
	}
	return 0, true
}

func isMove(e *entry.Effect) bool {
	return e.Kind == entry.EffectMoveOut || e.Kind == entry.EffectMoveIn
}

// settleGuest takes note of what a move has done to a key here, as its last
// agent.
func (m *Machine) settleGuest(e *entry.Effect) {
	if m.home(e.Key) == m.cfg.ID {
		return
	}
	switch e.Kind {
	case entry.EffectMoveIn:
		g := entry.Moved{Since: m.wall}
		m.guests.keys[string(e.Key)] = g
		m.put(entry.TableMoved, e.Key, &g)
		m.guests.came++
		m.planMoved(e.Key, true)
	case entry.EffectMoveOut:
		delete(m.guests.keys, string(e.Key))
		m.del(entry.TableMoved, e.Key)
		m.guests.went++
		m.planMoved(e.Key, false)
	}
}
