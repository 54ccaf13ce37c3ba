package adt

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// BoundedCounter is the number of the type "bounded-counter": a number that never
// leaves its bounds, such as stock or a balance.
//
// It is what O'Neil 1986 calls escrow. A change is granted if the bounds hold
// whatever becomes of the undecided transactions of others, that is, even if all of
// them commit that go the same way and none of the rest. It is refused if it
// would leave the bounds whatever becomes of them. In between nobody knows: then it
// waits until it is alone, and is planned again. So as long as there is enough, all
// changes go together, and once there is none, so do all refusals; only where it is
// getting scarce do they wait.
//
// What is granted is reserved by being prepared. An answer that is given before
// that (View.Ahead) is reserved by the lock "alone".
//
//	                             add  subtract  get  no-room  none-left  alone  create  bounds
//	add        a granted one      x      x       .      x         .        .       .       x
//	subtract   a granted one      x      x       .      .         x        .       .       x
//	get                           .      .       x      x         x        .       .       x
//	no-room    an add refused     x      .       x      x         x        .       .       x
//	none-left  a subtract refused .      x       x      x         x        .       .       x
//	alone      where it is scarce .      .       .      .         .        .       .       x
//	create                        .      .       .      .         .        .       .       .
//	bounds     as created         x      x       x      x         x        x       .       x
//
// The bounds are those of 64 bits at most, and do not change as long as the key is
// there.
const BoundedCounter entry.Type = 7

// Kinds of lock of a bounded counter, as stored.
const (
	boundedAdd Kind = iota + 1
	boundedSubtract
	boundedGet
	boundedNoRoom
	boundedNoneLeft
	boundedAlone
	boundedCreate
	boundedBounds
)

// Methods of a bounded counter that are logged.
const (
	boundedCreates   = 1
	boundedAdds      = 2
	boundedSubtracts = 3
)

// bounded is a bounded counter; the zero of it is none.
type bounded struct {
	made                  bool
	floor, ceiling, value int64
}

// boundedForm is the first byte of the stored form.
const boundedForm = 1

func init() { Install(boundedSpec()) }

func boundedSpec() Spec[bounded] {
	n := []Param{{Name: "n", Kind: msg.DatumInt}}
	return Spec[bounded]{
		ID: BoundedCounter, Name: "bounded-counter",
		Doc: "A 64-bit integer between a floor and a ceiling. " +
			"Without create, add and subtract fail with NotFound.",
		Zero: func() bounded { return bounded{} }, Empty: func(b bounded) bool { return !b.made },
		Encode: encodeBounded, Decode: decodeBounded, Size: func(bounded) int { return 25 },
		Kinds: []KindSpec{{"add", true}, {"subtract", true}, {"get", false}, {"no-room", false}, {"none-left", false}, {"alone", true},
			{"create", true}, {"bounds", false}},
		Commute: []Commutes{{boundedAdd, boundedAdd, Always}, {boundedAdd, boundedSubtract, Always}, {boundedSubtract, boundedSubtract, Always},
			{boundedNoRoom, boundedAdd, Always}, {boundedNoneLeft, boundedSubtract, Always},
			{boundedBounds, boundedAdd, Always}, {boundedBounds, boundedSubtract, Always}, {boundedBounds, boundedAlone, Always}},
		Methods: []MethodSpec[bounded]{
			{Name: "create", Kind: boundedCreate, Plan: planBoundedCreate, Apply: createBounded, Draw: drawBounds,
				Doc: "Creates a counter; start is the floor by default. It has no effect on a counter with these bounds, " +
					"and fails on one with others.",
				Params: []Param{{Name: "floor", Kind: msg.DatumInt}, {Name: "ceiling", Kind: msg.DatumInt}, {Name: "start", Kind: msg.DatumInt, Optional: true}}},
			{Name: "add", Doc: "Adds n of 1 or more. Fails with OutOfRange above the ceiling.", Params: n, Kind: boundedAlone,
				Plan: planBounded(boundedAdds, false), Apply: moveBounded(boundedAdds), Draw: drawMove, Combine: sumOfTwo},
			{Name: "subtract", Doc: "Subtracts n of 1 or more. Fails with OutOfRange below the floor.", Params: n, Kind: boundedAlone,
				Plan: planBounded(boundedSubtracts, false), Apply: moveBounded(boundedSubtracts), Draw: drawMove, Combine: sumOfTwo},
			{Name: "try-add", Doc: "Adds n of 1 or more, unless above the ceiling. Returns whether it did.", Params: n, Kind: boundedAlone,
				Plan: planBounded(boundedAdds, true), Draw: drawMove, Answers: true},
			{Name: "try-subtract", Doc: "Subtracts n of 1 or more, unless below the floor. Returns whether it did.", Params: n, Kind: boundedAlone,
				Plan: planBounded(boundedSubtracts, true), Draw: drawMove, Answers: true},
			{Name: "get", Doc: "Returns the value, or nil.", Kind: boundedGet, Answer: getBounded},
			{Name: "bounds", Doc: "Returns floor and ceiling, or two nils.", Kind: boundedBounds, Answer: boundsOf},
		},
	}
}

func errNotCreated() error {
	return Errorf(kv.KindNotFound, "the counter does not exist; create it first")
}

func planBoundedCreate(v *View[bounded], a Args) Plan {
	made, err := boundedOf(a)
	switch s := &v.State; {
	case err != nil:
		return Plan{Err: err}
	case !s.made:
		return As(boundedCreate, boundedCreates, a)
	case s.floor != made.floor || s.ceiling != made.ceiling:
		return Plan{Need: boundedBounds, Err: Errorf(kv.KindConditionFailed, "the counter exists with the bounds %d to %d; delete it first", s.floor, s.ceiling)}
	}
	return Plan{Need: boundedBounds}
}

func boundedOf(a Args) (bounded, error) {
	b := bounded{true, a[0].Int, a[1].Int, a[0].Int}
	if len(a) > 2 {
		b.value = a[2].Int
	}
	switch {
	case b.floor > b.ceiling:
		return b, Errorf(kv.KindInvalid, "the floor %d is above the ceiling %d", b.floor, b.ceiling)
	case b.value < b.floor || b.value > b.ceiling:
		return b, Errorf(kv.KindInvalid, "the start %d is not between %d and %d", b.value, b.floor, b.ceiling)
	}
	return b, nil
}

func createBounded(s bounded, a Args) (bounded, error) {
	if s.made {
		return s, Errorf(kv.KindConditionFailed, "the counter exists")
	}
	return boundedOf(a)
}

// planBounded grants a move, refuses it, or has it wait.
func planBounded(method uint32, tries bool) func(*View[bounded], Args) Plan {
	return func(v *View[bounded], a Args) Plan {
		n, s := a[0].Int, &v.State
		switch {
		case n < 1:
			return Plan{Err: Errorf(kv.KindInvalid, "n is %d; the minimum is 1", n)}
		case !s.made:
			return Plan{Need: boundedBounds, Err: errNotCreated()}
		}
		same, against := pendingMoves(v, method)
		room, granted, refused := s.room(method), boundedAdd, boundedNoRoom
		if method == boundedSubtracts {
			granted, refused = boundedSubtract, boundedNoneLeft
		}
		var answer []msg.Datum
		say := func(yes bool) []msg.Datum {
			if tries {
				answer = []msg.Datum{Bool(yes)}
			}
			return answer
		}
		var short *Shortage
		left := room - min(room, same)
		if uint64(n) > left {
			short = &Shortage{Left: left, Requested: uint64(n)}
		}
		switch {
		case short != nil && uint64(n) <= add(room, against), v.Ahead && uint64(n) <= room:
			granted = boundedAlone
		case short != nil && tries:
			return Plan{Need: refused, Answer: say(false), Short: short}
		case short != nil:
			return Plan{Need: refused, Err: s.leaves(method, n, left, add(room, against)), Short: short}
		}
		p := As(granted, method, a, say(true)...)
		p.Short = short
		return p
	}
}

// Short is the shortage because of which two modes exclude each other: that of mine if it is short, else
// what was left for the other one, with nothing requested. It is nil if they exclude each other anyway.
func Short(mine, theirs Mode, short, theirShort *Shortage) *Shortage {
	switch {
	case !mine.moves() || !theirs.moves():
		return nil
	case short != nil:
		return short
	case theirShort != nil:
		return &Shortage{Left: theirShort.Left}
	}
	return nil
}

// moves reports whether the mode is one that an addition to a bounded counter may need, or a subtraction.
func (m Mode) moves() bool {
	id, typed := m.Type()
	k := m.Kind()
	return typed && id == BoundedCounter && (k <= boundedSubtract || boundedNoRoom <= k && k <= boundedAlone)
}

// pendingMoves tells how far the undecided others may take the counter: in the
// method's direction, anywhere in the middle of any of them, since none of their
// moves may fail; and against it, where they end, since nobody sees them before.
//
// Any of them may come to be, so those count that end further in the direction, all
// of them; and one of them may be in its middle, where the rest are all done: the
// one that comes back by most.
func pendingMoves(v *View[bounded], method uint32) (same, against uint64) {
	back := uint64(0)
	v.Others(func(calls []msg.Call) {
		var ahead, behind, furthest uint64 // where it is: one of the first two is 0
		for i := range calls {
			switch n := uint64(calls[i].Args[0].Int); calls[i].Method {
			case method:
				step(&ahead, &behind, n)
			case boundedAdds, boundedSubtracts:
				step(&behind, &ahead, n)
			}
			furthest = max(furthest, ahead)
		}
		same, against = add(same, ahead), add(against, behind)
		back = max(back, furthest-ahead)
	})
	return add(same, back), against
}

// step moves by n on a line that is given by its two sides, one of which is 0. What
// was granted is never further off than 64 bits.
func step(to, from *uint64, n uint64) {
	undone := min(n, *from)
	*from -= undone
	*to = add(*to, n-undone)
}

// add stops at the end of 64 bits.
func add(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}

// room is how far the counter is from the bound that a move goes to. It needs all
// of 64 bits, without a sign.
func (s *bounded) room(method uint32) uint64 {
	if method == boundedAdds {
		return uint64(s.ceiling) - uint64(s.value)
	}
	return uint64(s.value) - uint64(s.floor)
}

// leaves is the error of a move that would leave the bounds, with how much is left: at least, and at
// most if transactions in flight take from it or add to it.
func (s *bounded) leaves(method uint32, n int64, least, most uint64) error {
	left := fmt.Sprintf("%d left", least)
	if most > least {
		left = fmt.Sprintf("%d to %d left, as transactions in flight end", least, most)
	}
	if method == boundedAdds {
		return Errorf(kv.KindOutOfRange, "adding %d would exceed the ceiling %d (%s)", n, s.ceiling, left)
	}
	return Errorf(kv.KindOutOfRange, "subtracting %d would go below the floor %d (%s)", n, s.floor, left)
}

func moveBounded(method uint32) func(bounded, Args) (bounded, error) {
	return func(s bounded, a Args) (bounded, error) {
		n := a[0].Int
		switch {
		case !s.made:
			return s, errNotCreated()
		case n < 1 || uint64(n) > s.room(method):
			return s, s.leaves(method, n, s.room(method), s.room(method))
		case method == boundedAdds:
			s.value += n
		default:
			s.value -= n
		}
		return s, nil
	}
}

func sumOfTwo(first, then Args) (Args, bool) {
	sum, ok := Sum(first[0].Int, then[0].Int)
	return Args{Int(sum)}, ok
}

func getBounded(s bounded, _ Args) ([]msg.Datum, error) {
	if !s.made {
		return []msg.Datum{Nil()}, nil
	}
	return []msg.Datum{Int(s.value)}, nil
}

func boundsOf(s bounded, _ Args) ([]msg.Datum, error) {
	if !s.made {
		return []msg.Datum{Nil(), Nil()}, nil
	}
	return []msg.Datum{Int(s.floor), Int(s.ceiling)}, nil
}

// drawBounds draws narrow bounds mostly.
func drawBounds(n func(int) int) Args {
	floor := int64(n(4) - 2)
	a := Args{Int(floor), Int(floor + int64(n(16)))}
	switch n(8) {
	case 0:
		a = Args{Int(-1 << 63), Int(1<<63 - 1)}
	case 1:
		a = Args{Int(-1 << 63), Int(int64(n(3) - 1))}
	case 2:
		a = Args{Int(1), Int(0)} // there is no such thing
	}
	switch n(4) {
	case 0:
	case 1:
		a = append(a, a[1])
	default:
		a = append(a, Int(a[0].Int+int64(n(8))))
	}
	return a
}

// drawMove draws small moves mostly.
func drawMove(n func(int) int) Args {
	switch n(16) {
	case 0:
		return Args{Int(int64(n(3) - 2))}
	case 1:
		return Args{Int(1<<63 - 1)}
	}
	return Args{Int(int64(1 + n(6)))}
}

func encodeBounded(s bounded) []byte {
	b := make([]byte, 0, 25)
	if !s.made {
		return b
	}
	b = append(b, boundedForm)
	for _, n := range []int64{s.floor, s.ceiling, s.value} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func decodeBounded(b []byte) (s bounded, err error) {
	if len(b) != 25 || b[0] != boundedForm {
		return s, kv.Errorf(kv.KindCorrupt, "%d bytes, or an unknown version", len(b))
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
	s = bounded{true, at(0), at(1), at(2)}
	if s.value < s.floor || s.value > s.ceiling {
		return s, kv.Errorf(kv.KindCorrupt, "%d is not between %d and %d", s.value, s.floor, s.ceiling)
	}
	return s, nil
}
