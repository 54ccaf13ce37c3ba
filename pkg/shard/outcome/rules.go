package outcome

// The rules that tests break, each with its mutant.

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// IsComplete reports whether memory would know a commit of this id, had there been one.
func (m *Memory) IsComplete(id kv.TxnID) bool {
	if m.mutants.Has(mutant.LowWatermarkIgnored) {
		return true
	}
	for _, t := range m.uncertain {
		if t.from <= id.Time && id.Time <= t.to {
			return false
		}
	}
	return id.Time >= m.lowWatermark
}

// Abort records that a commit can never be made here. The first failure of a commit stays.
func (m *Memory) Abort(user kv.Account, commit kv.CommitID, f *msg.Failure) {
	if !m.mutants.Has(mutant.AbortedForgotten) {
		m.aborts.add(user, commit, f)
	}
}

// IsPresumedAborted reports whether a commit that FindAbort does not know may have been aborted and
// evicted. known is the number of aborts that its gateway knew when it sent the request.
func (m *Memory) IsPresumedAborted(user kv.Account, known uint64) bool {
	return known < m.aborts.lowWatermark(user) && !m.mutants.Has(mutant.LowWatermarkIgnored)
}

// lookupsOf returns the lookups of an id in flight, which an outcome that is written meanwhile replaces.
func (o *Outcomes) lookupsOf(id kv.TxnID) []*lookup {
	if o.env.Mutants.Has(mutant.LookUpBlind) {
		return nil
	}
	return o.lookups[id]
}

// logFence writes a fence. Otherwise: the shard restarts after the response, and commits the id.
func (o *Outcomes) logFence(user kv.Account, id kv.TxnID) {
	if !o.env.Mutants.Has(mutant.FencesForgotten) {
		o.env.Write(entry.Entry{Table: entry.TableFence, Key: o.env.IDKey(id),
			Value: binary.BigEndian.AppendUint16(nil, uint16(user))})
	}
}

// recoveredWatermark is the low watermark of a new incarnation: the logged one, even if it is in the future.
func (o *Outcomes) recoveredWatermark(logged int64) int64 {
	if o.env.Mutants.Has(mutant.WatermarkLowered) {
		return min(logged, o.env.Wall-int64(o.cfg.Retention))
	}
	return logged
}

// trimReserve cuts off the reserve of the spans. Otherwise: all ids of the next 10 s are looked up by the next leader.
func (o *Outcomes) trimReserve() {
	if !o.env.Mutants.Has(mutant.ReserveKept) {
		o.times.trimReserve()
	}
}

// isClockTrusted reports whether outcomes may be deleted by the time of day.
func (o *Outcomes) isClockTrusted() bool {
	return o.clock.steadyNanos() >= int64(o.cfg.Retention) || o.env.Mutants.Has(mutant.ClockTrusted)
}
