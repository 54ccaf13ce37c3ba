package pins

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
	// MaxNamed bounds the pins with a name.
	MaxNamed = 1000
	// MaxNameBytes bounds a name; the least is 1.
	MaxNameBytes = 200
	// DefaultTTL is how long a named pin is kept if nobody says, MaxTTL the
	// longest that can be asked for.
	DefaultTTL = 24 * time.Hour
	MaxTTL     = 90 * 24 * time.Hour
)

// KeepLonger is the hint to whoever reads at a pin that is gone.
const KeepLonger = "read at a newer snapshot; to keep snapshots longer, use --ttl or --history"

// Request asks for a state to be kept.
type Request struct {
	// Origin names the request; a repeat of it gets the same pin.
	Origin kv.TxnRef
	// Clock is the state, Fixed when it was the current one, by Now of the keeper's life.
	Clock []msg.ShardCSN
	Fixed int64
	// Name and TTL are those of a named pin. Without a name it is part of the
	// history.
	Name string
	TTL  time.Duration
}

// Keeper owns all pins. Invariant (Check): in the order of numbers neither
// times nor any entry of the clocks falls; the floor is no less than any.
//
// Its methods take Now, which rises evenly within a life, and begins anywhere in the next.
type Keeper struct {
	// history is how long a state without a name is kept after the next.
	history int64
	pins    []*pin
	// floor is the newest state that was asked to be kept, at floorFixed.
	floor      *vclock.Clock
	floorFixed int64
	change     uint64
	next       uint64
	// first is above the numbers of earlier lives.
	first   uint64
	day     dayClock
	mutants mutant.Set
	// gone are the requests of this life whose snapshots are gone, the oldest first, for as long as
	// copies of them may arrive.
	gone []gone
}

// gone is a request whose snapshot was given up, at a time.
type gone struct {
	origin kv.TxnRef
	at     int64
}

// lateAfter is how old a state may be that is to be kept: its gateway gives the request up before.
const lateAfter = int64(kv.MaxTxnAge)

// Options say how pins are kept.
type Options struct {
	// History is how long a state without a name is kept after the next.
	History time.Duration
	// Doubt is for how long the time of day must have gone on evenly after it was set, or
	// after a start, to be believed.
	Doubt   time.Duration
	Mutants mutant.Set
}

// New makes a keeper of the pins that the log holds, in any order. next is
// above every number that was ever given; wall is the time of day at now.
func New(opt Options, rows []*msg.Snapshot, next uint64, now, wall int64) *Keeper {
	if opt.Mutants.Has(mutant.PinClockBelieved) {
		opt.Doubt = 0
	}
	k := &Keeper{mutants: opt.Mutants, history: int64(opt.History), floor: &vclock.Clock{}, floorFixed: now, next: next, first: next, change: 1,
		day: newDayClock(int64(opt.Doubt), now, wall)}
	for _, r := range rows {
		k.pins = append(k.pins, &pin{Snapshot: *r, fixed: r.Time, over: r.Expires})
	}
	slices.SortFunc(k.pins, func(a, b *pin) int { return int(int64(a.Number) - int64(b.Number)) })
	if n := len(k.pins); n > 0 {
		k.floor = msg.Clock(k.pins[n-1].Clock)
	}
	k.setTimes()
	return k
}

func invalid(text, hint string) *kv.Error {
	return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: text, Hint: hint}
}

// Keep keeps a state, or the floor if that is newer. number is called for the
// number of a new pin, which must be above all before. It returns nil if there
// is nothing to keep: a state of the history that is the same as the last. The
// caller writes the pin down if it is fresh.
func (k *Keeper) Keep(now int64, q Request, number func() uint64) (made *msg.Snapshot, fresh bool, err *kv.Error) {
	made = k.Made(q.Origin, q.Name)
	if made != nil {
		return made, false, nil
	}
	if q.Name != "" {
		if err := CheckName(q.Name); err != nil {
			return nil, false, err
		}
		if k.byName(now, q.Name) != nil {
			return nil, false, &kv.Error{Kind: kv.KindConditionFailed, Op: -1, Text: fmt.Sprintf("snapshot %q already exists", q.Name),
				Hint: "choose another name, or drop that snapshot first"}
		}
		if k.named() >= MaxNamed {
			return nil, false, &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: fmt.Sprintf("there are %d snapshots, which is the limit", MaxNamed),
				Hint: "drop snapshots that are no longer needed"}
		}
	}
	k.raise(q)
	if q.Name == "" && !k.extends() {
		return nil, false, nil
	}
	n := number()
	k.next = max(k.next, n+1)
	p := &pin{Snapshot: msg.Snapshot{Number: n, Name: q.Name, Clock: msg.Indexes(k.floor), Origin: q.Origin}, fixed: k.floorFixed}
	if k.mutants.Has(mutant.PinBelowFloor) {
		p.Clock, p.fixed = q.Clock, q.Fixed
	}
	if q.Name != "" {
		p.over = now + int64(q.TTL)
	}
	k.setOwn(p)
	k.pins = append(k.pins, p)
	k.change++
	return &p.Snapshot, true, nil
}

// Made finds the pin of this name that was made for a request, nil if there is none: the
// request may be a repeat, also from before the keeper restarted.
func (k *Keeper) Made(origin kv.TxnRef, name string) *msg.Snapshot {
	for _, p := range k.pins {
		if p.Origin == origin && p.Name == name {
			return &p.Snapshot
		}
	}
	return nil
}

// Late reports whether a request is a copy that arrives when its snapshot is gone, or may be: the
// state was fixed longer ago than its gateway waits for an answer.
func (k *Keeper) Late(now int64, q Request) bool {
	is := func(g gone) bool { return g.origin == q.Origin }
	return now-q.Fixed > lateAfter || slices.ContainsFunc(k.gone, is)
}

// forget remembers the request of a snapshot that is given up. A copy of it is too old by itself
// lateAfter later.
func (k *Keeper) forget(now int64, p *pin) {
	k.gone = slices.DeleteFunc(k.gone, func(g gone) bool { return now-g.at > lateAfter })
	k.gone = append(k.gone, gone{p.Origin, now})
}

// raise moves the floor to a state that is newer.
func (k *Keeper) raise(q Request) {
	c := msg.Clock(q.Clock)
	if !c.Covers(k.floor) {
		return
	}
	k.floorFixed = max(k.floorFixed, q.Fixed)
	if !k.floor.Covers(c) {
		k.floor = c
		k.change++
	}
}

// extends reports whether the floor is a state that the history does not have.
func (k *Keeper) extends() bool {
	if k.history <= 0 {
		return false
	}
	last := k.lastUnnamed(len(k.pins))
	return last < 0 || !msg.Clock(k.pins[last].Clock).Covers(k.floor)
}

// lastUnnamed is the place of the last pin of the history before one, -1 if
// there is none.
func (k *Keeper) lastUnnamed(before int) int {
	for i := before - 1; i >= 0; i-- {
		if k.pins[i].Name == "" {
			return i
		}
	}
	return -1
}

func (k *Keeper) named() (n int) {
	for _, p := range k.pins {
		if p.Name != "" {
			n++
		}
	}
	return n
}

// CheckName refuses what cannot name a snapshot.
func CheckName(name string) *kv.Error {
	switch {
	case name == "":
		return invalid("the snapshot has no name", "set a name")
	case len(name) > MaxNameBytes:
		return invalid(fmt.Sprintf("the name has %d bytes; the limit is %d", len(name), MaxNameBytes), "choose a shorter name")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '@' {
			return invalid(fmt.Sprintf("the name %q has an invalid character", name), "use letters, digits and - _ . / :")
		}
	}
	return nil
}

func (k *Keeper) byName(now int64, name string) *msg.Snapshot {
	for _, p := range k.pins {
		if p.Name == name && !k.isOver(p, now) {
			return &p.Snapshot
		}
	}
	return nil
}

// Named finds a pin by its name.
func (k *Keeper) Named(now int64, name string) (*msg.Snapshot, *kv.Error) {
	if p := k.byName(now, name); p != nil {
		return p, nil
	}
	return nil, &kv.Error{Kind: kv.KindNotFound, Op: -1, Text: fmt.Sprintf("snapshot %q does not exist; it may have expired", name),
		Hint: "list the snapshots with: linchpin snapshot list"}
}

// Numbered finds a pin by its number.
func (k *Keeper) Numbered(now int64, number uint64) (*msg.Snapshot, *kv.Error) {
	i, ok := k.find(number)
	switch {
	case ok && !k.isOver(k.pins[i], now):
		return &k.pins[i].Snapshot, nil
	case number < k.next:
		return nil, &kv.Error{Kind: kv.KindTooOld, Op: -1, Text: fmt.Sprintf("snapshot %d does not exist: it has expired or was dropped", number),
			Hint: KeepLonger}
	}
	return nil, &kv.Error{Kind: kv.KindNotFound, Op: -1, Text: fmt.Sprintf("snapshot %d has never existed in this cluster", number),
		Hint: "check that the snapshot was taken in this cluster"}
}

func (k *Keeper) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(k.pins, number, func(p *pin, n uint64) int { return int(int64(p.Number) - int64(n)) })
}

// AsOf finds the newest state of the history that is not younger than a time of day.
func (k *Keeper) AsOf(now, at int64) (*msg.Snapshot, *kv.Error) {
	if k.history <= 0 {
		return nil, invalid("history is off on this server", "start the nodes with --history, or read at a named snapshot")
	}
	switch wall := k.day.at(now); {
	case k.day.inDoubt():
		return nil, &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: fmt.Sprintf("the server's clock was set soon after its start: it shows %s, but by its earlier time it is %s",
			stamp(now+k.day.seen), stamp(wall)), Hint: "retry in some minutes, or read at a named snapshot"}
	case at > wall:
		return nil, invalid(fmt.Sprintf("%s is in the future: the server's clock shows %s", stamp(at), stamp(wall)), "use a time in the past")
	}
	p := k.newest(func(p *pin) bool { return p.earliest <= at })
	if p != k.newest(func(p *pin) bool { return p.latest <= at }) {
		return nil, &kv.Error{Kind: kv.KindTooOld, Op: -1, Text: fmt.Sprintf("the state at %s is unknown: the server's clock was set between two starts", stamp(at)),
			Hint: "use a later time, or read at a named snapshot"}
	}
	if p != nil {
		return &p.Snapshot, nil
	}
	text := fmt.Sprintf("%s is before the history, which is empty", stamp(at))
	for _, p := range k.pins {
		if p.Name == "" {
			text = fmt.Sprintf("%s is before the history, which begins at %s", stamp(at), stamp(p.Time+int64(time.Millisecond)-1))
			break
		}
	}
	return nil, &kv.Error{Kind: kv.KindTooOld, Op: -1, Text: text, Hint: "use a later time; --history sets how much history is kept"}
}

// newest is the newest pin of the history for which is holds, nil if there is none.
func (k *Keeper) newest(is func(*pin) bool) *pin {
	for i := k.lastUnnamed(len(k.pins)); i >= 0; i = k.lastUnnamed(i) {
		if is(k.pins[i]) {
			return k.pins[i]
		}
	}
	return nil
}

// stamp shows a time in milliseconds, the fraction cut off.
func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// List gives the pins with a name, oldest first.
func (k *Keeper) List(now int64) (out []msg.Snapshot) {
	for _, p := range k.pins {
		if p.Name != "" && !k.isOver(p, now) {
			out = append(out, p.Snapshot)
		}
	}
	return out
}

// Drop gives a pin up and reports whether it was there.
func (k *Keeper) Drop(now int64, number uint64) bool {
	i, ok := k.find(number)
	if ok {
		k.forget(now, k.pins[i])
		k.pins = slices.Delete(k.pins, i, i+1)
		k.change++
	}
	return ok
}

// Expire gives up the pins whose time is over, and returns their numbers. A
// state of the history is over when the next one is old enough: until then it
// is what was the case at some time within the history.
func (k *Keeper) Expire(now int64) (gone []uint64) {
	var next *pin
	for i := len(k.pins) - 1; i >= 0; i-- {
		p := k.pins[i]
		switch {
		case p.Name != "":
			if k.isOver(p, now) {
				gone = append(gone, p.Number)
			}
			continue
		case k.history <= 0, next != nil && k.isPast(next, now):
			gone = append(gone, p.Number)
		}
		next = p
	}
	slices.Reverse(gone)
	for _, n := range gone {
		k.Drop(now, n)
	}
	return gone
}

// Len is the number of pins, Named that of those with a name.
func (k *Keeper) Len() (all, named int) { return len(k.pins), k.named() }

// Age is how long ago the oldest state that is kept was the current one, 0 if none
// is kept.
func (k *Keeper) Age(now int64) time.Duration {
	if len(k.pins) == 0 {
		return 0
	}
	return time.Duration(k.day.at(now) - k.pins[0].Time)
}

// Floor is a shard's index in the newest state.
func (k *Keeper) Floor(s kv.ShardID) kv.Index { return k.floor.At(s) }

// Tell is what a shard is to know, which has asked in its life asker. inc is
// the life of the keeper's shard.
func (k *Keeper) Tell(s kv.ShardID, asker, inc kv.Incarnation) *msg.SnapshotList {
	out := &msg.SnapshotList{Asker: asker, Incarnation: inc, Change: k.change, Floor: k.floor.At(s), Next: k.next,
		Numbers: make([]uint64, len(k.pins)), Indexes: make([]uint64, len(k.pins))}
	for i, p := range k.pins {
		out.Numbers[i], out.Indexes[i] = p.Number, uint64(p.At(s))
	}
	return out
}

// Change counts what has happened to the pins.
func (k *Keeper) Change() uint64 { return k.change }

// Check holds the keeper against its invariant.
func (k *Keeper) Check() error {
	for i, p := range k.pins {
		if p.Number >= k.next {
			return fmt.Errorf("pins: number %d was given, and the next is %d", p.Number, k.next)
		}
		if i == 0 {
			continue
		}
		b := k.pins[i-1]
		if b.Number >= p.Number || b.Time > p.Time || !msg.Clock(p.Clock).Covers(msg.Clock(b.Clock)) {
			return fmt.Errorf("pins: pin %v is not before pin %v", b, p)
		}
	}
	if n := len(k.pins); n > 0 && !k.floor.Covers(msg.Clock(k.pins[n-1].Clock)) {
		return fmt.Errorf("pins: the floor %v is below pin %v", k.floor, k.pins[n-1])
	}
	return nil
}
