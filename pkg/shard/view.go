package shard

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// view is what a task's operations see (mvcc.View).
type view task

// item finds a key, among the task's own first.
func (v *view) item(key []byte) *mvcc.Item {
	if len(v.pins) <= fewPins {
		for _, it := range v.pins {
			if bytes.Equal(it.Key, key) {
				return it
			}
		}
	}
	return v.m.store.Get(key)
}

// fewPins is up to how many items are looked at one by one. Somewhat
// arbitrary.
const fewPins = 4

func (v *view) Value(key []byte) (entry.Value, error) {
	if it := v.item(key); it != nil && it.Loaded {
		if to, here := v.m.elsewhere(key, it); !here && !v.mistaken(key) {
			return it.Value, mvcc.Elsewhere{Shard: to}
		}
		if first, ok := v.first[string(key)]; ok && v.m.cfg.Mutants.Has(mutant.FirstPlanKept) {
			return first, nil
		}
		adt.Remember(&it.Value)
		return it.Value, nil
	}
	return entry.Value{}, kv.Errorf(kv.KindInternal, "key %q is not in memory", key)
}

// mistaken reports whether a mutant executes the task though the key is not here.
func (v *view) mistaken(key []byte) bool {
	switch has := v.m.cfg.Mutants.Has; {
	case has(mutant.GuestsUnchecked):
		comes := func(op msg.Op) bool { return op.Kind == msg.OpMoveIn }
		return v.m.home(key) != v.m.cfg.ID && !slices.ContainsFunc(v.ops, comes)
	case has(mutant.BlindWritesIgnoreMark):
		return v.blind(key)
	}
	return false
}

// blind reports whether the task only puts a key.
func (v *view) blind(key []byte) bool {
	return !slices.ContainsFunc(v.ops, func(op msg.Op) bool {
		return bytes.Equal(op.Key, key) && (op.Kind != msg.OpPut || op.Expect != msg.ExpectNothing)
	})
}

func (v *view) Pending(key []byte) (low, high int64) {
	if it := v.item(key); it != nil {
		return mvcc.PendingAdds(it.Intents, v.txn)
	}
	return 0, 0
}

func (v *view) Calls() *mvcc.Calls { return v.m.see((*task)(v)) }

func (v *view) Rows(seq uint32) mvcc.RangeRows { return v.rows[seq] }
