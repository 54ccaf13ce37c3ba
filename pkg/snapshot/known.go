package snapshot

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Known is the newest list of snapshots that a shard has received in its incarnation.
type Known struct {
	own          kv.Incarnation
	incarnation  kv.Incarnation
	change, next uint64
	safePoint    kv.CSN
	numbers      []uint64
	csns         []kv.CSN
	removals     uint64
}

// NewKnown returns a Known without a list. own is the incarnation of the shard. A list sent to an earlier
// incarnation may arrive late, and be older than the one by which that incarnation has collected.
func NewKnown(own kv.Incarnation) Known { return Known{own: own} }

// HasList reports whether a list has been received.
func (k *Known) HasList() bool { return k.incarnation != 0 }

// Apply applies a list, and reports whether it is newer than the one before.
func (k *Known) Apply(p *msg.SnapshotList) bool {
	older := p.Incarnation < k.incarnation || p.Incarnation == k.incarnation && p.Change <= k.change
	if p.RequesterIncarnation != k.own || older || len(p.Numbers) != len(p.CSNs) {
		return false
	}
	isRemoved := func(n uint64) bool {
		_, listed := slices.BinarySearch(p.Numbers, n)
		return !listed
	}
	if slices.ContainsFunc(k.numbers, isRemoved) {
		k.removals++
	}
	k.incarnation, k.change, k.next, k.numbers = p.Incarnation, p.Change, p.Next, p.Numbers
	// A registry that has restarted may have a lower safe point, but it retains nothing below the former one.
	k.safePoint = max(k.safePoint, p.SafePoint)
	k.csns = k.csns[:0]
	for _, x := range p.CSNs {
		k.csns = append(k.csns, kv.CSN(x))
	}
	return true
}

// Request returns a request for the list.
func (k *Known) Request() *msg.SnapshotListRequest {
	return &msg.SnapshotListRequest{RequesterIncarnation: k.own, Incarnation: k.incarnation, Change: k.change}
}

// SafePoint is the CSN from which on everything is retained; 0 without a list.
func (k *Known) SafePoint() kv.CSN { return k.safePoint }

// CSNs are those of the snapshots, in ascending order. The caller must not change them.
func (k *Known) CSNs() []kv.CSN { return k.csns }

// RemovalCount is the number of lists in which snapshots were missing that the list before had.
func (k *Known) RemovalCount() uint64 { return k.removals }

// Verdict is the result of checking whether a snapshot can be read.
type Verdict uint8

const (
	// Readable: all that is visible at the snapshot is here.
	Readable Verdict = iota
	// Removed: it is not retained any more.
	Removed
	// Unknown: there is no list yet.
	Unknown
)

func (v Verdict) String() string { return [...]string{"readable", "removed", "unknown"}[v] }

// Verdict reports whether a snapshot with this CSN here can be read. A snapshot that is newer than the list
// is at the safe point or above it.
func (k *Known) Verdict(number uint64, csn kv.CSN) Verdict {
	if !k.HasList() {
		return Unknown
	}
	if i, ok := slices.BinarySearch(k.numbers, number); ok {
		if k.csns[i] != csn {
			return Removed
		}
		return Readable
	}
	if number < k.next || csn < k.safePoint {
		return Removed
	}
	return Readable
}

// Check verifies the order of the snapshots.
func (k *Known) Check() error {
	if !slices.IsSorted(k.numbers) || !slices.IsSorted(k.csns) {
		return fmt.Errorf("snapshot: known snapshots %v at %v are not in order", k.numbers, k.csns)
	}
	if n := len(k.csns); n > 0 && k.csns[n-1] > k.safePoint {
		return fmt.Errorf("snapshot: a known snapshot at %v is above the safe point %v", k.csns[n-1], k.safePoint)
	}
	return nil
}
