package snapshot

import (
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Limits and defaults of snapshots.
const (
	// MaxNamed bounds the named snapshots.
	MaxNamed = 1000
	// MaxNameBytes bounds the length of a name; the minimum is 1.
	MaxNameBytes = 200
	// DefaultTTL is the time to live of a named snapshot that does not request another, MaxTTL the largest that
	// can be requested.
	DefaultTTL = 24 * time.Hour
	MaxTTL     = 90 * 24 * time.Hour
)

// RetentionHint is the hint of an error about a removed snapshot.
const RetentionHint = "read at a newer snapshot; to keep snapshots longer, use --ttl or --history"

// Request is a request to retain a snapshot.
type Request struct {
	// Origin names the request; a retry gets the same snapshot.
	Origin kv.TxnRef
	// Clock is the snapshot, Fixed the time at which it was fixed, by Now of the registry's incarnation.
	Clock []msg.ShardCSN
	Fixed int64
	// Name and TTL are those of a named snapshot. Without a name it belongs to the history.
	Name string
	TTL  time.Duration
}

// Registry has all retained snapshots. Invariant (Check): in the order of their numbers, neither the times
// nor any entry of the clocks fall; the safe point is at least the newest.
//
// Its methods take Now, which is monotonic within an incarnation and starts anywhere in the next.
type Registry struct {
	// history is for how long an unnamed snapshot is retained after the next one.
	history   int64
	snapshots []*retained
	// safePoint is the newest snapshot requested, safePointFixed the time at which it was fixed.
	safePoint      *vclock.Clock
	safePointFixed int64
	change         uint64
	nextNumber     uint64
	// firstOwn is above the numbers of earlier incarnations.
	firstOwn uint64
	day      dayClock
	mutants  mutant.Set
	// removed are the requests of this incarnation whose snapshots were removed, oldest first, for as long as
	// copies of them may arrive.
	removed []removal
}

// removal is a request whose snapshot was removed, and the time of that.
type removal struct {
	origin kv.TxnRef
	at     int64
}

// maxRequestAge is the largest age of a snapshot to be retained: its gateway has given up the request before.
const maxRequestAge = int64(kv.MaxTxnAge)

// Options are the parameters of a registry.
type Options struct {
	// History is for how long an unnamed snapshot is retained after the next one.
	History time.Duration
	// Doubt is for how long the time of day must have been steady after a step or a start to be adopted.
	Doubt time.Duration
	// Steady is for how long it had been steady at the start.
	Steady  time.Duration
	Mutants mutant.Set
}

// New returns a registry with the snapshots in the log, in any order. next is above every number given
// before; wall is the time of day at now.
func New(opt Options, rows []*msg.Snapshot, next uint64, now, wall int64) *Registry {
	k := &Registry{
		mutants: opt.Mutants, history: int64(opt.History), safePoint: &vclock.Clock{}, safePointFixed: now,
		nextNumber: next, firstOwn: next, change: 1, day: newDayClock(&opt, now, wall),
	}
	for _, r := range rows {
		k.snapshots = append(k.snapshots, &retained{Snapshot: *r, fixed: r.Time, endsAt: r.Expires})
	}
	slices.SortFunc(k.snapshots, func(a, b *retained) int { return int(int64(a.Number) - int64(b.Number)) })
	if n := len(k.snapshots); n > 0 {
		k.safePoint = msg.Clock(k.snapshots[n-1].Clock)
	}
	k.setTimes()
	return k
}

func invalid(text, hint string) *kv.Error { return newError(kv.KindInvalid, text, hint) }

func newError(kind kv.Kind, text, hint string) *kv.Error {
	return &kv.Error{Kind: kind, Op: -1, Text: text, Hint: hint}
}

// Retain retains a snapshot, or the safe point if that is newer. number returns the number of a new snapshot,
// above all before. The result is nil if there is nothing to retain: a state that the history has already.
// The caller writes the row of a fresh one.
//
// The safe point may be newer: request A, fixed before B, arrives after B. Versions that only A sees may be
// collected by then.
func (k *Registry) Retain(now int64, q Request, number func() uint64) (made *msg.Snapshot, fresh bool, err *kv.Error) {
	made = k.FindRequest(q.Origin, q.Name)
	if made != nil {
		return made, false, nil
	}
	if q.Name != "" {
		if err := CheckName(q.Name); err != nil {
			return nil, false, err
		}
		if k.findByName(now, q.Name) != nil {
			return nil, false, newError(kv.KindConditionFailed, fmt.Sprintf("snapshot %q already exists", q.Name),
				"choose another name, or drop that snapshot first")
		}
		if k.namedCount() >= MaxNamed {
			return nil, false, newError(kv.KindResourceExhausted,
				fmt.Sprintf("there are %d snapshots, which is the limit", MaxNamed),
				"drop snapshots that are no longer needed")
		}
	}
	k.raiseSafePoint(q)
	if q.Name == "" && !k.extendsHistory() {
		return nil, false, nil
	}
	n := number()
	k.nextNumber = max(k.nextNumber, n+1)
	p := k.newRetained(n, q)
	if q.Name != "" {
		p.endsAt = now + int64(q.TTL)
	}
	k.setOwnTimes(p)
	k.snapshots = append(k.snapshots, p)
	k.change++
	return &p.Snapshot, true, nil
}

// FindRequest returns the snapshot that was made for a request, nil if there is none. The request may be a
// retry, also from before the restart of the registry.
func (k *Registry) FindRequest(origin kv.TxnRef, name string) *msg.Snapshot {
	for _, p := range k.snapshots {
		if p.Origin == origin && p.Name == name {
			return &p.Snapshot
		}
	}
	return nil
}

// IsLate reports whether a request is a copy that arrives after its snapshot was removed, or may be one: it
// was fixed longer ago than a gateway waits for the response. Retaining it again would bring back a dropped
// snapshot.
func (k *Registry) IsLate(now int64, q Request) bool {
	is := func(g removal) bool { return g.origin == q.Origin }
	return now-q.Fixed > maxRequestAge || slices.ContainsFunc(k.removed, is)
}

// recordRemoval remembers the request of a removed snapshot. After maxRequestAge a copy is rejected because
// of its age.
func (k *Registry) recordRemoval(now int64, p *retained) {
	k.removed = slices.DeleteFunc(k.removed, func(g removal) bool { return now-g.at > maxRequestAge })
	k.removed = append(k.removed, removal{p.Origin, now})
}

// raiseSafePoint raises the safe point to a newer snapshot.
func (k *Registry) raiseSafePoint(q Request) {
	c := msg.Clock(q.Clock)
	if !c.Covers(k.safePoint) {
		return
	}
	k.safePointFixed = max(k.safePointFixed, q.Fixed)
	if !k.safePoint.Covers(c) {
		k.safePoint = c
		k.change++
	}
}

// extendsHistory reports whether the safe point is a state that the history does not have.
func (k *Registry) extendsHistory() bool {
	if k.history <= 0 {
		return false
	}
	last := k.lastOfHistory(len(k.snapshots))
	return last < 0 || !msg.Clock(k.snapshots[last].Clock).Covers(k.safePoint)
}

// lastOfHistory is the position of the last unnamed snapshot before a position, -1 if there is none.
func (k *Registry) lastOfHistory(before int) int {
	for i := before - 1; i >= 0; i-- {
		if k.snapshots[i].Name == "" {
			return i
		}
	}
	return -1
}

// namedCount is the number of named snapshots, including expired ones.
func (k *Registry) namedCount() (n int) {
	for _, p := range k.snapshots {
		if p.Name != "" {
			n++
		}
	}
	return n
}

// CheckName rejects invalid names.
func CheckName(name string) *kv.Error {
	switch {
	case name == "":
		return invalid("the snapshot has no name", "set a name")
	case len(name) > MaxNameBytes:
		return invalid(fmt.Sprintf("the name has %d bytes; the limit is %d", len(name), MaxNameBytes),
			"choose a shorter name")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '@' {
			return invalid(fmt.Sprintf("the name %q has an invalid character", name), "use letters, digits and - _ . / :")
		}
	}
	return nil
}

// findByName returns the unexpired snapshot with a name, nil if there is none.
func (k *Registry) findByName(now int64, name string) *msg.Snapshot {
	for _, p := range k.snapshots {
		if p.Name == name && !k.isExpired(p, now) {
			return &p.Snapshot
		}
	}
	return nil
}

// FindName returns a snapshot by its name.
func (k *Registry) FindName(now int64, name string) (*msg.Snapshot, *kv.Error) {
	if p := k.findByName(now, name); p != nil {
		return p, nil
	}
	return nil, newError(kv.KindNotFound, fmt.Sprintf("snapshot %q does not exist; it may have expired", name),
		"list the snapshots with: linchpin snapshot list")
}

// FindNumber returns a snapshot by its number.
func (k *Registry) FindNumber(now int64, number uint64) (*msg.Snapshot, *kv.Error) {
	i, ok := k.indexOf(number)
	switch {
	case ok && !k.isExpired(k.snapshots[i], now):
		return &k.snapshots[i].Snapshot, nil
	case number < k.nextNumber:
		return nil, newError(kv.KindTooOld,
			fmt.Sprintf("snapshot %d does not exist: it has expired or was dropped", number), RetentionHint)
	}
	return nil, newError(kv.KindNotFound, fmt.Sprintf("snapshot %d has never existed in this cluster", number),
		"check that the snapshot was taken in this cluster")
}

// indexOf returns the position of a snapshot.
func (k *Registry) indexOf(number uint64) (int, bool) {
	return slices.BinarySearchFunc(k.snapshots, number, func(p *retained, n uint64) int {
		return int(int64(p.Number) - int64(n))
	})
}

// AsOf returns the newest snapshot of the history that was fixed at a time of day or before it.
func (k *Registry) AsOf(now, at int64) (*msg.Snapshot, *kv.Error) {
	if k.history <= 0 {
		return nil, invalid("history is off on this server", "start the nodes with --history, or read at a named snapshot")
	}
	switch wall := k.day.at(now); {
	case k.day.isAmbiguous():
		return nil, newError(kv.KindUnavailable,
			fmt.Sprintf("the server's clock was set soon after its start: it shows %s, but by its earlier time it is %s",
				formatTime(now+k.day.seen), formatTime(wall)),
			"retry in some minutes, or read at a named snapshot")
	case at > wall:
		return nil, invalid(
			fmt.Sprintf("%s is in the future: the server's clock shows %s", formatTime(at), formatTime(wall)),
			"use a time in the past")
	}
	return k.stateAt(at)
}

// stateAt is AsOf for a time that is known to be in the past.
func (k *Registry) stateAt(at int64) (*msg.Snapshot, *kv.Error) {
	p := k.newestOfHistory(func(p *retained) bool { return p.earliest <= at })
	if p != k.newestOfHistory(func(p *retained) bool { return p.latest <= at }) {
		return nil, newError(kv.KindTooOld,
			fmt.Sprintf("the state at %s is unknown: the server's clock was set between two starts", formatTime(at)),
			"use a later time, or read at a named snapshot")
	}
	if p != nil {
		return &p.Snapshot, nil
	}
	text := fmt.Sprintf("%s is before the history, which is empty", formatTime(at))
	for _, p := range k.snapshots {
		if p.Name == "" {
			text = fmt.Sprintf("%s is before the history, which begins at %s",
				formatTime(at), formatTime(p.Time+int64(time.Millisecond)-1))
			break
		}
	}
	return nil, newError(kv.KindTooOld, text, "use a later time; --history sets how much history is kept")
}

// newestOfHistory returns the newest snapshot of the history that satisfies a condition, nil if there is
// none.
func (k *Registry) newestOfHistory(satisfies func(*retained) bool) *retained {
	for i := k.lastOfHistory(len(k.snapshots)); i >= 0; i = k.lastOfHistory(i) {
		if satisfies(k.snapshots[i]) {
			return k.snapshots[i]
		}
	}
	return nil
}

// formatTime formats a time in milliseconds, rounded down.
func formatTime(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// List returns the named snapshots, oldest first.
func (k *Registry) List(now int64) (out []msg.Snapshot) {
	for _, p := range k.snapshots {
		if p.Name != "" && !k.isExpired(p, now) {
			out = append(out, p.Snapshot)
		}
	}
	return out
}

// Drop removes a snapshot, and reports whether it existed.
func (k *Registry) Drop(now int64, number uint64) bool {
	i, ok := k.indexOf(number)
	if ok {
		k.recordRemoval(now, k.snapshots[i])
		k.snapshots = slices.Delete(k.snapshots, i, i+1)
		k.change++
	}
	return ok
}

// Expire removes the snapshots that have expired, and returns their numbers. A snapshot of the history
// expires when the next one is older than the history: until then it was the state of the store at some time
// within it.
func (k *Registry) Expire(now int64) (expired []uint64) {
	var next *retained
	for i := len(k.snapshots) - 1; i >= 0; i-- {
		p := k.snapshots[i]
		switch {
		case p.Name != "":
			if k.isExpired(p, now) {
				expired = append(expired, p.Number)
			}
			continue
		case k.history <= 0, next != nil && k.isBeyondHistory(next, now):
			expired = append(expired, p.Number)
		}
		next = p
	}
	slices.Reverse(expired)
	for _, n := range expired {
		k.Drop(now, n)
	}
	return expired
}

// Len returns the number of snapshots, and that of named ones.
func (k *Registry) Len() (all, named int) { return len(k.snapshots), k.namedCount() }

// Age is the age of the oldest snapshot, 0 if there is none.
func (k *Registry) Age(now int64) time.Duration {
	if len(k.snapshots) == 0 {
		return 0
	}
	return time.Duration(k.day.at(now) - k.snapshots[0].Time)
}

// SafePoint is the CSN of a shard in the safe point.
func (k *Registry) SafePoint(s kv.ShardID) kv.CSN { return k.safePoint.At(s) }

// ListFor returns the list for a shard that has requested it in its incarnation requester. inc is the
// incarnation of the hot shard.
func (k *Registry) ListFor(s kv.ShardID, requester, inc kv.Incarnation) *msg.SnapshotList {
	out := &msg.SnapshotList{
		RequesterIncarnation: requester, Incarnation: inc, Change: k.change, SafePoint: k.safePoint.At(s), Next: k.nextNumber,
		Numbers: make([]uint64, len(k.snapshots)), CSNs: make([]uint64, len(k.snapshots)),
	}
	for i, p := range k.snapshots {
		out.Numbers[i], out.CSNs[i] = p.Number, uint64(p.At(s))
	}
	return out
}

// ChangeCount counts the changes of the registry.
func (k *Registry) ChangeCount() uint64 { return k.change }

// Check verifies the invariant.
func (k *Registry) Check() error {
	for i, p := range k.snapshots {
		if p.Number >= k.nextNumber {
			return fmt.Errorf("snapshot: number %d was given, and the next is %d", p.Number, k.nextNumber)
		}
		if i == 0 {
			continue
		}
		b := k.snapshots[i-1]
		if b.Number >= p.Number || b.Time > p.Time || !msg.Clock(p.Clock).Covers(msg.Clock(b.Clock)) {
			return fmt.Errorf("snapshot: snapshot %v is not before snapshot %v", b, p)
		}
	}
	if n := len(k.snapshots); n > 0 && !k.safePoint.Covers(msg.Clock(k.snapshots[n-1].Clock)) {
		return fmt.Errorf("snapshot: the safe point %v is below snapshot %v", k.safePoint, k.snapshots[n-1])
	}
	return nil
}
