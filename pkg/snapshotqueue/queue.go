// Package snapshotqueue keeps, for the prepared participants of a shard,
// whether readers hold them back or they are sealed against readers
// (docs/protocol.md, section 5; after the snapshot-queues of SSS, Kishi et
// al. 2019, section III).
//
//	           no conflicting reader            Decide
//	Prepare ──────────────────────▶ sealed ───────────────▶ gone
//	                                  ▲
//	recovered from the log ───────────┘ (with a new epoch)
//
// A sealed participant has an Epoch, which its vote carries. The last agent
// counts only sealed votes, and may be asked to drop an epoch for the sake of
// a waiting reader; then only a later sealing counts.
//
// Readers do not register yet: read-only transactions take locks. So every
// prepared participant seals at once, and one that was recovered from the log
// seals anew as soon as the shard has started, because its readers' leases,
// of which there are none, need not be waited for.
//
// HAZARD: an epoch of an earlier incarnation must never be given out again.
// The shard raises its incarnation durably before its first message, and the
// incarnation is the upper half of the epoch.
package snapshotqueue

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// State is where a prepared participant stands.
type State uint8

const (
	// Held: a reader that does not commute with it is registered, or it was
	// recovered and has not sealed in this incarnation.
	Held State = iota
	// Sealed: it may be decided at any moment; new readers wait for it.
	Sealed
)

func (s State) String() string { return [...]string{"held", "sealed"}[s] }

type participant struct {
	state State
	epoch kv.Epoch
}

// Queue is the snapshot-queues of one shard.
//
// Invariant (see Check): a sealed participant's epoch is of this incarnation,
// and no two participants share an epoch.
type Queue struct {
	incarnation kv.Incarnation
	count       uint64
	prepared    map[kv.TxnRef]*participant
}

// New makes the queues of a shard in a new incarnation.
func New(inc kv.Incarnation) *Queue {
	return &Queue{incarnation: inc, prepared: map[kv.TxnRef]*participant{}}
}

// Prepared enters a participant, which is held until Seal.
func (q *Queue) Prepared(txn kv.TxnRef) { q.prepared[txn] = &participant{} }

// Seal seals txn if nothing holds it, and returns its state and epoch.
func (q *Queue) Seal(txn kv.TxnRef) (State, kv.Epoch) {
	p := q.prepared[txn]
	if p == nil {
		return Held, kv.Epoch{}
	}
	if p.state == Held {
		q.count++
		p.state, p.epoch = Sealed, kv.Epoch{Incarnation: q.incarnation, Count: q.count}
	}
	return p.state, p.epoch
}

// Decided removes txn, whatever the decision was.
func (q *Queue) Decided(txn kv.TxnRef) { delete(q.prepared, txn) }

// Len is the number of prepared participants.
func (q *Queue) Len() int { return len(q.prepared) }

// Check holds the queues against their invariant.
func (q *Queue) Check() error {
	seen := map[kv.Epoch]kv.TxnRef{}
	for txn, p := range q.prepared {
		if p.state == Held {
			continue
		}
		if p.epoch.Incarnation != q.incarnation {
			return fmt.Errorf("snapshotqueue: %v is sealed with epoch %v in incarnation %d", txn, p.epoch, q.incarnation)
		}
		if o, ok := seen[p.epoch]; ok {
			return fmt.Errorf("snapshotqueue: %v and %v share epoch %v", txn, o, p.epoch)
		}
		seen[p.epoch] = txn
	}
	return nil
}
