package contention

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// moved are the keys that have been moved to this shard: the hot one.
type moved struct {
	keys map[string]entry.Moved
	// came and went count them in this incarnation.
	came, went uint64
}

// MovedRow is a row of TableMoved.
type MovedRow struct {
	Key []byte
	entry.Moved
}

func (p *Part) initMoved(rows []MovedRow) {
	p.moved.keys = make(map[string]entry.Moved, len(rows))
	for _, r := range rows {
		if p.env.Mutants.Has(mutant.GuestsForgotten) {
			break
		}
		p.moved.keys[string(r.Key)] = r.Moved
	}
}

// IsMoved reports whether a key has been moved here.
func (p *Part) IsMoved(key []byte) bool {
	_, is := p.moved.keys[string(key)]
	return is
}

// Moved is how many keys have been moved here.
func (p *Part) Moved() int { return len(p.moved.keys) }

// Home is the shard of a key that has not been moved.
func (p *Part) Home(key []byte) kv.ShardID {
	if p.around.Home == nil {
		return p.env.ID
	}
	return p.around.Home(key)
}

// Elsewhere tells where a key is, if it is not here. Its item, if there is one, is loaded.
func (p *Part) Elsewhere(key []byte, it *mvcc.Item) (to kv.ShardID, here bool) {
	if it != nil && it.Value.Type == entry.TypeMoved && !p.env.Mutants.Has(mutant.MarkIgnored) {
		to, _ = it.Value.MovedTo()
		return to, false
	}
	if home := p.Home(key); home != p.env.ID {
		return home, p.IsMoved(key)
	}
	return 0, true
}

// Settle takes note of what a move has done to a key here, as its last agent. It is called
// in the step, and so in the batch, in which that becomes visible.
func (p *Part) Settle(e *entry.Effect) {
	if p.Home(e.Key) == p.env.ID {
		return
	}
	switch e.Kind {
	case entry.EffectMoveIn:
		row := entry.Moved{Since: p.env.Wall}
		p.moved.keys[string(e.Key)] = row
		p.env.Put(entry.TableMoved, e.Key, &row)
		p.moved.came++
		p.planMoved(e.Key, true)
	case entry.EffectMoveOut:
		delete(p.moved.keys, string(e.Key))
		p.env.Delete(entry.TableMoved, e.Key)
		p.moved.went++
		p.planMoved(e.Key, false)
	}
}
