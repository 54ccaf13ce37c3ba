package readers

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// isWithheld reports whether a read is left to the next leader. Otherwise: its reader is registered here, reads again
// at the next leader, which does not know it, and is aborted by a planned transfer.
func isWithheld(r *Readers, q *msg.Read) bool {
	return r.Withheld && q.LeaseNanos > 0 && q.RetainNanos == 0 && !r.queue.IsRegistered(q.Reader) &&
		!r.Mutants.Has(mutant.ReadersRegisteredBeforeTransfer)
}

// hasNotice reports whether the reading of another shard, which a reader's last read awaits, is here.
func (r *Readers) hasNotice(x *reader, s kv.ShardID) bool {
	_, received := x.notices[s]
	return received || r.Mutants.Has(mutant.RegistrationsNotAwaited)
}

// registered returns the needs for which a reader is registered: all of them.
func (r *Readers) registered(needs []snapshotqueue.Need) []snapshotqueue.Need {
	out := make([]snapshotqueue.Need, 0, len(needs))
	for _, n := range needs {
		if !r.isUnregistered(n.Mode) {
			out = append(out, n)
		}
	}
	return out
}

// isUnregistered reports whether a mutant does not register readers for a mode.
func (r *Readers) isUnregistered(mode adt.Mode) bool {
	_, typed := mode.Type()
	return typed && mode.OfPart() && r.Mutants.Has(mutant.PartUnregistered) ||
		typed && !mode.OfPart() && r.Mutants.Has(mutant.WholeUnregistered)
}

// isUrgent reports whether the response to a read may leave before the log is durable: that to a round. With several
// replicas the next leader serves the state, so what has become visible up to its CSN must be committed (R14.2):
//
//	leader 1    fixes CSN 9 for round R; the entry of CSN 9 is lost
//	leader 2    begins at CSN 8; another transaction becomes visible at CSN 9
//	leader 3    begins at CSN 9, and R reads at CSN 9
func (r *Readers) isUrgent(q *msg.Read) bool {
	return q.RetainNanos > 0 && !r.Mutants.Has(mutant.RoundsAnsweredDurable) &&
		(r.LeaseEnd == 0 || r.Mutants.Has(mutant.RoundsAnsweredUncommitted))
}

// renew extends a registration of this incarnation until a time, and reports whether the reader is still registered. A
// longer lease than the configured one would not be waited for after a restart.
func (r *Readers) renew(q *msg.RenewLease, until int64) bool {
	if q.Incarnation != r.Inc {
		return r.Mutants.Has(mutant.RenewedInAnyIncarnation)
	}
	if q.Reading != 0 && !r.isOf(q.Reader, q.Reading) {
		return false
	}
	return q.LeaseNanos <= int64(r.cfg.Lease) && r.queue.Renew(r.Now, q.Reader, until)
}

// isOf reports whether the registration of a reader began with a reading. A late copy of its request begins another one
// when the first has expired: then updates may have been decided in between.
func (r *Readers) isOf(id kv.TxnRef, reading uint64) bool {
	x := r.readers[id]
	return x != nil && x.reply != nil && x.reply.Reading.Number == reading
}

// leaseUntil returns when a lease that begins now ends: at the end of the leader's own lease at the latest, since the
// next leader waits for no reader that this one has registered (R4.3, R14.1).
//
//	leader 1    R registers for k for 2 s, and reads k; the leader is cut off, its lease ends after 0.6 s
//	leader 2    at 0.9 s A, which changes k and x, is decided
//	R           reads the new x on another shard, and relies on the registration for the old k
func (r *Readers) leaseUntil(nanos int64) int64 {
	until := r.Now + nanos
	if r.LeaseEnd == 0 || r.Mutants.Has(mutant.RegisteredPastLeaderLease) {
		return until
	}
	return min(until, r.LeaseEnd)
}
