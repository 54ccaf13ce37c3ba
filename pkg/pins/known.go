package pins

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Known is what a shard has been told about the pins, since it asked for the
// first time in this life.
type Known struct {
	own          kv.Incarnation
	incarnation  kv.Incarnation
	change, next uint64
	floor        kv.Index
	numbers      []uint64
	indexes      []kv.Index
	gone         uint64
}

// NewKnown has heard nothing yet. own is the shard's life: an answer to an
// earlier one, which comes late, may be older than what that one has collected
// by.
func NewKnown(own kv.Incarnation) Known { return Known{own: own} }

// Heard reports whether the keeper was heard.
func (k *Known) Heard() bool { return k.incarnation != 0 }

// Take learns what the keeper tells, and reports whether it is news.
func (k *Known) Take(p *msg.SnapshotList) bool {
	older := p.Incarnation < k.incarnation || p.Incarnation == k.incarnation && p.Change <= k.change
	if p.Asker != k.own || older || len(p.Numbers) != len(p.Indexes) {
		return false
	}
	if slices.ContainsFunc(k.numbers, func(n uint64) bool { _, still := slices.BinarySearch(p.Numbers, n); return !still }) {
		k.gone++
	}
	k.incarnation, k.change, k.next, k.numbers = p.Incarnation, p.Change, p.Next, p.Numbers
	// A keeper that has restarted may have forgotten its floor, but whatever
	// it keeps from then on is not older.
	k.floor = max(k.floor, p.Floor)
	k.indexes = k.indexes[:0]
	for _, x := range p.Indexes {
		k.indexes = append(k.indexes, kv.Index(x))
	}
	return true
}

// Question is what a shard asks the keeper with.
func (k *Known) Question() *msg.SnapshotListRequest {
	return &msg.SnapshotListRequest{Asker: k.own, Incarnation: k.incarnation, Change: k.change}
}

// Floor is the index from which on everything is kept; 0 until the keeper was
// heard.
func (k *Known) Floor() kv.Index { return k.floor }

// Indexes are those of the pins, in order. They are not to be changed.
func (k *Known) Indexes() []kv.Index { return k.indexes }

// Gone counts how often it was told that pins were given up.
func (k *Known) Gone() uint64 { return k.gone }

// Verdict says whether a pin can be read.
type Verdict uint8

const (
	// Readable: everything visible at it is here.
	Readable Verdict = iota
	// Gone: it is no longer kept.
	Gone
	// Unheard: the keeper has to be asked first.
	Unheard
)

func (v Verdict) String() string { return [...]string{"readable", "gone", "unheard"}[v] }

// Verdict tells whether a pin that has this index here can be read. A pin that
// is newer than what was heard is at the floor or above it.
func (k *Known) Verdict(number uint64, index kv.Index) Verdict {
	if !k.Heard() {
		return Unheard
	}
	if i, ok := slices.BinarySearch(k.numbers, number); ok {
		if k.indexes[i] != index {
			return Gone
		}
		return Readable
	}
	if number < k.next || index < k.floor {
		return Gone
	}
	return Readable
}

// Check holds what is known against the order of pins.
func (k *Known) Check() error {
	if !slices.IsSorted(k.numbers) || !slices.IsSorted(k.indexes) {
		return fmt.Errorf("pins: known pins %v at %v are not in order", k.numbers, k.indexes)
	}
	if n := len(k.indexes); n > 0 && k.indexes[n-1] > k.floor {
		return fmt.Errorf("pins: a known pin at %v is above the floor %v", k.indexes[n-1], k.floor)
	}
	return nil
}
