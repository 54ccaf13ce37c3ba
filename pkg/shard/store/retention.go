package store

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// Retention is the set of CSNs whose versions are not collected: those of snapshots, as far as the registry
// has reported them (Known), and those that readers have fixed here (Retain).
//
//	CSN        ----a-----b----------safe point------c---------> csn
//	retained       │     │          everything from here on
//	               │     └ fixed for a reader (Retain), or a read in flight
//	               └ a snapshot in the registry's list
//	c: fixed in a round, may become a snapshot: not overwritten (newestReadableCSN)
type Retention struct {
	env *step.Env
	// noRetention: there are no snapshots; everything before the current CSN is garbage.
	noRetention bool
	// Known is the last report of the registry.
	Known snapshot.Known
	// maxFixed is the largest CSN that may belong to a snapshot. Those of earlier incarnations are below the
	// first CSN of this one.
	maxFixed kv.CSN
	byReader map[kv.TxnRef]*FixedCSN
	// maxByReader is an upper bound of the CSNs in byReader.
	maxByReader kv.CSN
	// earlier are the states that earlier leaders have retained.
	earlier EarlierStates
}

// EarlierStates are the states that earlier leaders of the shard may have retained for readers, which this leader does
// not know: those up to CSN, at which it has begun. Until a time by Now, it neither overwrites nor collects what is
// visible at CSN, and sweeps nothing (R14.2). The zero value is for a shard with one replica.
//
//	leader 1    retains CSN 6 for a scan               leader 2 begins at CSN 9
//	k           v1 at 5 ···· v2 at 8 ·················│········ v3 at 12
//	            6 sees v1, 9 sees v2: both stay; at 12, v3 does not overwrite the row of v2
type EarlierStates struct {
	CSN   kv.CSN
	Until int64
}

// FixedCSN is a CSN whose versions are retained until a time.
type FixedCSN struct {
	CSN     kv.CSN
	Expires int64
	// Reply is the response that reported the CSN to the reader that had it fixed.
	Reply *msg.ReadResponse
}

func newRetention(e *step.Env, cfg Config, fixed kv.CSN) Retention {
	// Without snapshots, no CSN of an earlier incarnation can be read.
	if cfg.NoRetention {
		fixed = 0
	}
	return Retention{
		env: e, noRetention: cfg.NoRetention, Known: snapshot.NewKnown(e.Inc),
		maxFixed: fixed, byReader: map[kv.TxnRef]*FixedCSN{}, earlier: cfg.Earlier,
	}
}

// SetFixed records that a CSN may become part of a snapshot.
func (k *Retention) SetFixed(csn kv.CSN) { k.maxFixed = max(k.maxFixed, csn) }

// Retain retains a CSN for a reader, for some nanoseconds, instead of its previous one.
//
// The time is bounded: a gateway that fails sends no Deregister, and its CSNs must not be retained forever.
func (k *Retention) Retain(reader kv.TxnRef, csn kv.CSN, nanos int64) *FixedCSN {
	// Without readers the bound is reset; otherwise it only rises.
	if len(k.byReader) == 0 {
		k.maxByReader = 0
	}
	k.maxByReader = max(k.maxByReader, csn)
	x := k.byReader[reader]
	if x == nil {
		x = &FixedCSN{}
		k.byReader[reader] = x
	}
	x.CSN, x.Expires = csn, k.env.Now+min(nanos, int64(kv.DefaultScanRetention))
	return x
}

// Find returns what is retained for a reader, nil if that is nothing or has expired.
func (k *Retention) Find(reader kv.TxnRef) *FixedCSN {
	x := k.byReader[reader]
	if x == nil || k.env.Now >= x.Expires {
		return nil
	}
	return x
}

// Release ends the retention for a reader.
func (k *Retention) Release(reader kv.TxnRef) { delete(k.byReader, reader) }

// Expire ends the retention for readers that have sent nothing for too long.
func (k *Retention) Expire() {
	for name, x := range k.byReader {
		if k.env.Now >= x.Expires {
			delete(k.byReader, name)
		}
	}
}

// Len is the number of readers with a retained CSN.
func (k *Retention) Len() int { return len(k.byReader) }

// LowWatermark is the GC safe point: the CSN from which on all versions are retained.
//
// It is that of the registry, which has seen a snapshot above it complete: no round that is fixed from now on can
// need an older version. It rises only while the shard receives the registry's list.
func (s *Store) LowWatermark() kv.CSN {
	if s.retention.retainsNothing() {
		return s.csn
	}
	return s.retention.Known.SafePoint()
}

// retainedCSNs returns the CSNs at which a read is possible, in ascending order. Some may be above the safe
// point.
func (s *Store) retainedCSNs() []kv.CSN {
	out := s.retention.csns(len(s.inFlight))
	for _, p := range s.inFlight {
		out = append(out, p.csn)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// csns returns the CSNs that are retained for snapshots and for readers, in no order, with room for more.
func (k *Retention) csns(more int) []kv.CSN {
	out := make([]kv.CSN, 0, len(k.Known.CSNs())+len(k.byReader)+1+more)
	if k.retainsEarlier() {
		out = append(out, k.earlier.CSN)
	}
	out = append(out, k.snapshotCSNs()...)
	for _, x := range k.readersByName() {
		out = append(out, x.CSN)
	}
	return out
}

// newestReadableCSN is the largest CSN below the current one at which a read is possible. Rows that became
// visible later can be overwritten.
//
// Example. A round fixes CSN 7 here, and its gateway sends the snapshot to the registry. Before the registry's list
// arrives, k is written at 8 and 9. The row of 8 is replaced by that of 9, since no read is possible at 8; the row
// below is kept, since the snapshot may read it at 7.
func (s *Store) newestReadableCSN() kv.CSN {
	// A CSN that was fixed may be on its way to the registry as part of a snapshot, unless the registry has
	// reported a safe point above it; it counts as readable in any case.
	top := s.retention.maxFixed
	if s.retention.retainsEarlier() {
		top = max(top, s.retention.earlier.CSN)
	}
	if len(s.retention.byReader) > 0 {
		top = max(top, s.retention.maxByReader)
	}
	if len(s.inFlight) > 0 {
		top = max(top, s.maxCSN)
	}
	return top
}
