package store

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/pins"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Kept is what may be read of the past, and so is not collected: snapshots, as far as the
// registry has told of them (Known), and indexes that readers have had fixed here (Keep).
type Kept struct {
	env *step.Env
	// all: there are no snapshots, and everything before the current index may go.
	all bool
	// Known is what the registry has told.
	Known pins.Known
	// fixed is the highest index that may be part of a snapshot. Those of earlier
	// incarnations are below the index at which this one began.
	fixed kv.Index
	keeps map[kv.TxnRef]*Keep
	// top is no less than any index in keeps.
	top kv.Index
}

// Keep is an index whose versions are spared for a while.
type Keep struct {
	Index   kv.Index
	Expires int64
	// Reply is how it was told, to a reader that had it fixed.
	Reply *msg.ReadResponse
}

func newKept(e *step.Env, cfg Config, fixed kv.Index) Kept {
	if cfg.KeepsNothing {
		fixed = 0
	}
	return Kept{env: e, all: cfg.KeepsNothing, Known: pins.NewKnown(e.Inc), fixed: fixed, keeps: map[kv.TxnRef]*Keep{}}
}

// Fix has the index be one that may become part of a snapshot.
func (k *Kept) Fix(index kv.Index) { k.fixed = max(k.fixed, index) }

// Keep spares an index for a reader, for so many nanoseconds, in the place of the one before.
func (k *Kept) Keep(reader kv.TxnRef, index kv.Index, nanos int64) *Keep {
	if len(k.keeps) == 0 {
		k.top = 0
	}
	k.top = max(k.top, index)
	x := k.keeps[reader]
	if x == nil {
		x = &Keep{}
		k.keeps[reader] = x
	}
	x.Index, x.Expires = index, k.env.Now+min(nanos, int64(kv.DefaultScanKeep))
	return x
}

// Of finds what is kept for a reader, nil if that is nothing, or has expired.
func (k *Kept) Of(reader kv.TxnRef) *Keep {
	x := k.keeps[reader]
	if x == nil || k.env.Now >= x.Expires {
		return nil
	}
	return x
}

// Drop gives up what is kept for a reader.
func (k *Kept) Drop(reader kv.TxnRef) { delete(k.keeps, reader) }

// Expire gives up what is kept for readers of which nothing was heard for long.
func (k *Kept) Expire() {
	for name, x := range k.keeps {
		if k.env.Now >= x.Expires {
			delete(k.keeps, name)
		}
	}
}

// Len is for how many readers something is kept.
func (k *Kept) Len() int { return len(k.keeps) }

// LowWatermark is the index from which on everything is kept.
func (s *Store) LowWatermark() kv.Index {
	if s.kept.all || s.env.Mutants.Has(mutant.GarbageTooEarly) {
		return s.index
	}
	return s.kept.Known.Floor()
}

// keptIndexes are those below the low watermark, or above it, at which somebody reads,
// or may want to, in order.
func (s *Store) keptIndexes() []kv.Index {
	if s.env.Mutants.Has(mutant.GarbageTooEarly) {
		return nil
	}
	k := &s.kept
	out := make([]kv.Index, 0, len(k.Known.Indexes())+len(k.keeps)+len(s.reads.under))
	if !s.env.Mutants.Has(mutant.GarbagePastPin) {
		out = append(out, k.Known.Indexes()...)
	}
	for _, x := range k.keeps {
		out = append(out, x.Index)
	}
	for _, p := range s.reads.under {
		out = append(out, p.index)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newestRead is the highest index below the current one at which somebody may
// read. What became visible later can be written over.
func (s *Store) newestRead() kv.Index {
	if s.env.Mutants.Has(mutant.GarbageTooEarly) {
		return 0
	}
	top := s.kept.fixed
	if len(s.kept.keeps) > 0 {
		top = max(top, s.kept.top)
	}
	if len(s.reads.under) > 0 {
		top = max(top, s.reads.top)
	}
	return top
}
