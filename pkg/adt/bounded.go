package adt

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// BoundedCounter is the number of the type "bounded-counter": an integer that stays between two
// bounds, such as stock or a balance. It implements escrow (O'Neil 1986):
//
//   - A change is granted if the bounds hold for every outcome of the undecided transactions of
//     others, that is, even if all those in the same direction commit and no others.
//   - It is refused if it would exceed the bounds for every outcome.
//   - Otherwise the outcome depends on undecided transactions. The change waits for the lock
//     "alone" and is planned again.
//
// While enough is left, all changes are concurrent; when nothing is left, all refusals are. Only
// near a bound do they wait. Example, with 5 left:
//
//	T1: subtract 3      granted: 5 - 3 >= 0          T1 undecided: certain are 2, possible are 5
//	T2: subtract 2      granted: 2 - 2 >= 0          whatever T1 does
//	T3: subtract 4      waits ("alone"): succeeds only if T1 or T2 aborts
//	T4: subtract 6      refused: exceeds 5 even if both abort
//
// A granted change is reserved by being prepared. An answer that is returned before that
// (View.Ahead) is reserved by the lock "alone".
//
//	                             add  subtract  get  no-room  none-left  alone  create  bounds
//	add        granted add        x      x       .      x         .        .       .       x
//	subtract   granted subtract   x      x       .      .         x        .       .       x
//	get                           .      .       x      x         x        .       .       x
//	no-room    refused add        x      .       x      x         x        .       .       x
//	none-left  refused subtract   .      x       x      x         x        .       .       x
//	alone      near a bound       .      .       .      .         .        .       .       x
//	create                        .      .       .      .         .        .       .       .
//	bounds     as created         x      x       x      x         x        x       .       x
//
// The bounds are 64-bit integers and do not change while the key exists.
//
// # Why the pairs commute
//
//	add, subtract      both were granted for every outcome of the other, so both orders stay within the bounds, and
//	                   sums are the same in either order
//	no-room, add       n did not fit, even if all undecided subtractions commit; more additions leave even less room
//	no-room, subtract  does not: the subtraction may make room
//	none-left          as no-room, in the other direction
//	get, any change    does not: the reader would see it or not
//	alone, any change  does not: the result of the one depends on the other
//	bounds, add        floor and ceiling are set by create only, and last until the key is deleted
//
// Source: O'Neil, "The Escrow Transactional Method", TODS 1986. There, a field has, beside its value, the least and
// the greatest one that the undecided transactions may leave. Here both follow from the undecided calls (View.Others),
// and only the value is stored.
const BoundedCounter entry.Type = 7

// Kinds of lock of a bounded counter, as stored.
const (
	// boundedAdd: an addition that succeeds for every outcome of undecided moves.
	boundedAdd Kind = iota + 1
	// boundedSubtract: a subtraction with the same guarantee.
	boundedSubtract
	// boundedGet: reads the value, so it conflicts with all moves.
	boundedGet
	// boundedNoRoom: a refused addition stays refused while others only add. It conflicts with
	// subtractions, which could make it possible.
	boundedNoRoom
	// boundedNoneLeft: a refused subtraction, in the same way.
	boundedNoneLeft
	// boundedAlone: the outcome depends on undecided moves, so no other move may be undecided.
	boundedAlone
	// boundedCreate: creates the counter and conflicts with everything.
	boundedCreate
	// boundedBounds: reads the bounds, or whether the counter exists; only create changes these.
	boundedBounds
)

// Methods of a bounded counter that are logged.
const (
	boundedCreates   = 1
	boundedAdds      = 2
	boundedSubtracts = 3
)

// bounded is the state of a bounded counter; the zero value stands for none.
type bounded struct {
	created               bool
	floor, ceiling, value int64
}

// boundedForm is the first byte of the stored form.
const boundedForm = 1

func init() { Install(boundedSpec()) }

// boundedSpec declares the type. Moves need the lock "alone" if the value is not known: it covers
// the others.
func boundedSpec() Spec[bounded] {
	n := []Param{{Name: "n", Kind: msg.DatumInt}}
	return Spec[bounded]{
		ID: BoundedCounter, Name: "bounded-counter",
		Doc: "A 64-bit integer between a floor and a ceiling. " +
			"Without create, add and subtract fail with NotFound.",
		Zero: func() bounded { return bounded{} }, Empty: func(b bounded) bool { return !b.created },
		Encode: encodeBounded, Decode: decodeBounded, Size: func(bounded) int { return 25 },
		Kinds: []KindSpec{{"add", true}, {"subtract", true}, {"get", false}, {"no-room", false}, {"none-left", false},
			{"alone", true},
			{"create", true}, {"bounds", false}},
		Commute: []Commutes{{boundedAdd, boundedAdd, Always}, {boundedAdd, boundedSubtract, Always},
			{boundedSubtract, boundedSubtract, Always},
			{boundedNoRoom, boundedAdd, Always}, {boundedNoneLeft, boundedSubtract, Always},
			{boundedBounds, boundedAdd, Always}, {boundedBounds, boundedSubtract, Always},
			{boundedBounds, boundedAlone, Always}},
		Methods: []MethodSpec[bounded]{
			{Name: "create", Kind: boundedCreate, Plan: planBoundedCreate, Apply: createBounded, Draw: drawBounds,
				Doc: "Creates a counter; start is the floor by default. It has no effect on a counter with these bounds, " +
					"and fails on one with others.",
				Params: []Param{{Name: "floor", Kind: msg.DatumInt}, {Name: "ceiling", Kind: msg.DatumInt},
					{Name: "start", Kind: msg.DatumInt, Optional: true}}},
			{Name: "add", Doc: "Adds n of 1 or more. Fails with OutOfRange above the ceiling.", Params: n, Kind: boundedAlone,
				Plan: planBounded(boundedAdds, false), Apply: applyMove(boundedAdds), Draw: drawMove, Combine: combineMoves},
			{Name: "subtract", Doc: "Subtracts n of 1 or more. Fails with OutOfRange below the floor.", Params: n,
				Kind: boundedAlone,
				Plan: planBounded(boundedSubtracts, false), Apply: applyMove(boundedSubtracts), Draw: drawMove,
				Combine: combineMoves},
			{Name: "try-add", Doc: "Adds n of 1 or more, unless above the ceiling. Returns whether it did.", Params: n,
				Kind: boundedAlone,
				Plan: planBounded(boundedAdds, true), Draw: drawMove, Answers: true},
			{Name: "try-subtract", Doc: "Subtracts n of 1 or more, unless below the floor. Returns whether it did.", Params: n,
				Kind: boundedAlone,
				Plan: planBounded(boundedSubtracts, true), Draw: drawMove, Answers: true},
			{Name: "get", Doc: "Returns the value, or nil.", Kind: boundedGet, Answer: getBounded},
			{Name: "bounds", Doc: "Returns floor and ceiling, or two nils.", Kind: boundedBounds, Answer: boundsOf},
		},
	}
}

func errNotCreated() error {
	return Errorf(kv.KindNotFound, "the counter does not exist; create it first")
}

// planBoundedCreate plans create: idempotent for equal bounds, a failure for other bounds.
//
//	create 0 10 on an absent key         lock create
//	create 0 10 on a counter 0 to 10     lock bounds: nothing changes
//	create 0 20 on a counter 0 to 10     fails, under lock bounds: no transaction in flight changes the bounds
func planBoundedCreate(v *View[bounded], a Args) Plan {
	made, err := newBounded(a)
	switch s := &v.State; {
	case err != nil:
		return Plan{Err: err}
	case !s.created:
		return As(boundedCreate, boundedCreates, a)
	case s.floor != made.floor || s.ceiling != made.ceiling:
		return Plan{Need: boundedBounds, Err: Errorf(kv.KindConditionFailed,
			"the counter exists with the bounds %d to %d; delete it first", s.floor, s.ceiling)}
	}
	return Plan{Need: boundedBounds}
}

// newBounded returns the counter that create makes, or an error if its arguments are invalid.
func newBounded(a Args) (bounded, error) {
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

// createBounded creates the counter. planBoundedCreate plans it only for an absent one, under an
// exclusive lock.
func createBounded(s bounded, a Args) (bounded, error) {
	if s.created {
		return s, Errorf(kv.KindConditionFailed, "the counter exists")
	}
	return newBounded(a)
}

// planBounded plans an addition or subtraction: granted, refused or waiting. tries: a refusal is an
// answer and not a failure.
//
// With n to be moved, and what is left in that direction now:
//
//	n <= left - what others may take             granted, whatever the others do
//	n >  left + what others may give back        refused, whatever the others do
//	else                                         depends on the others: alone, which waits for them
func planBounded(method uint32, tries bool) func(*View[bounded], Args) Plan {
	return func(v *View[bounded], a Args) Plan {
		n, s := a[0].Int, &v.State
		switch {
		case n < 1:
			return Plan{Err: Errorf(kv.KindInvalid, "n is %d; the minimum is 1", n)}
		case !s.created:
			return Plan{Need: boundedBounds, Err: errNotCreated()}
		}
		same, against := pendingMoves(v, method)
		left, granted, refused := s.distance(method), boundedAdd, boundedNoRoom
		if method == boundedSubtracts {
			granted, refused = boundedSubtract, boundedNoneLeft
		}
		var answer []msg.Datum
		answerIf := func(yes bool) []msg.Datum {
			if tries {
				answer = []msg.Datum{Bool(yes)}
			}
			return answer
		}
		var short *Shortage
		certain := left - min(left, same)
		if uint64(n) > certain {
			short = &Shortage{Left: certain, Requested: uint64(n)}
		}
		switch {
		// The move is neither certain to succeed nor certain to fail; or it is certain, but its
		// answer is returned before it is prepared, and only a lock can reserve the amount until
		// then.
		case short != nil && uint64(n) <= saturatingAdd(left, against), v.Ahead && uint64(n) <= left:
			granted = boundedAlone
		case short != nil && tries:
			return Plan{Need: refused, Answer: answerIf(false), Short: short}
		case short != nil:
			return Plan{Need: refused, Err: s.outOfBoundsError(method, n, certain, saturatingAdd(left, against)), Short: short}
		}
		p := As(granted, method, a, answerIf(true)...)
		p.Short = short
		return p
	}
}

// ShortageOf returns the shortage because of which two modes conflict: mine, else what was left for the
// other transaction, with nothing requested. It is nil if the modes conflict anyway.
//
// Example: 5 are left, T1 has taken 3 and is undecided, T2 wants 4 and waits. T2's receipt says that 2 are certainly
// left and 4 were requested: the client may ask for fewer, or wait.
func ShortageOf(mine, theirs Mode, short, theirShort *Shortage) *Shortage {
	switch {
	case !mine.isMove() || !theirs.isMove():
		return nil
	case short != nil:
		return short
	case theirShort != nil:
		return &Shortage{Left: theirShort.Left}
	}
	return nil
}

// isMove reports whether an addition to or subtraction from a bounded counter may need the mode.
func (m Mode) isMove() bool {
	id, typed := m.Type()
	k := m.Kind()
	return typed && id == BoundedCounter && (k <= boundedSubtract || boundedNoRoom <= k && k <= boundedAlone)
}

// pendingMoves returns how far the undecided transactions of others may move the counter: in the
// method's direction at any intermediate step, because none of their steps may fail, and against it
// at their ends, because intermediate steps are not visible.
//
// Every subset may commit in any order. In the method's direction the worst case is the sum of all
// ends in that direction, plus the largest excess of one transaction's intermediate step over its
// end: only one transaction can be between its steps. Example, for add:
//
//	T1: +2            end +2, furthest +2
//	T2: +3 -3         end  0, furthest +3     same = 2 + 3 = 5, although the ends add up to 2
func pendingMoves(v *View[bounded], method uint32) (same, against uint64) {
	back := uint64(0)
	v.Others(func(calls []msg.Call) {
		var ahead, behind, furthest uint64 // the position: ahead or behind is 0
		for i := range calls {
			switch n := uint64(calls[i].Args[0].Int); calls[i].Method {
			case method:
				moveAlong(&ahead, &behind, n)
			case boundedAdds, boundedSubtracts:
				moveAlong(&behind, &ahead, n)
			}
			furthest = max(furthest, ahead)
		}
		same, against = saturatingAdd(same, ahead), saturatingAdd(against, behind)
		// Only one transaction can be between two of its steps when this move is applied, so the
		// excesses do not add up.
		back = max(back, furthest-ahead)
	})
	return saturatingAdd(same, back), against
}

// moveAlong moves a position by n. The position is given by its distances in two directions, one of
// which is 0. Granted moves never exceed 64 bits.
//
//	ahead 2, behind 0, 3 backward    ahead 0, behind 1
func moveAlong(to, from *uint64, n uint64) {
	undone := min(n, *from)
	*from -= undone
	*to = saturatingAdd(*to, n-undone)
}

// saturatingAdd adds and saturates at the limit of uint64.
func saturatingAdd(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}

// distance returns the distance from the value to the bound in the direction of a method. It needs
// all 64 bits, unsigned.
//
// Example: from -2^63 to 2^63-1 the distance is 2^64-1, which int64 does not have.
func (s *bounded) distance(method uint32) uint64 {
	if method == boundedAdds {
		return uint64(s.ceiling) - uint64(s.value)
	}
	return uint64(s.value) - uint64(s.floor)
}

// outOfBoundsError returns the error of a move that would exceed a bound. least and most are the
// certain and the possible amount left; they differ if transactions in flight move the counter.
func (s *bounded) outOfBoundsError(method uint32, n int64, least, most uint64) error {
	left := fmt.Sprintf("%d left", least)
	if most > least {
		left = fmt.Sprintf("%d to %d left, as transactions in flight end", least, most)
	}
	if method == boundedAdds {
		return Errorf(kv.KindOutOfRange, "adding %d would exceed the ceiling %d (%s)", n, s.ceiling, left)
	}
	return Errorf(kv.KindOutOfRange, "subtracting %d would go below the floor %d (%s)", n, s.floor, left)
}

// applyMove applies a planned move. The error cannot occur for a granted move: every subset of the
// granted moves stays within the bounds, in every order. Package check verifies that.
func applyMove(method uint32) func(bounded, Args) (bounded, error) {
	return func(s bounded, a Args) (bounded, error) {
		n := a[0].Int
		switch {
		case !s.created:
			return s, errNotCreated()
		case n < 1 || uint64(n) > s.distance(method):
			return s, s.outOfBoundsError(method, n, s.distance(method), s.distance(method))
		case method == boundedAdds:
			s.value += n
		default:
			s.value -= n
		}
		return s, nil
	}
}

// combineMoves combines two moves in the same direction into one. Their sum was granted step by
// step, so the position between the two needs no check of its own.
//
// Why an intermediate step needs no check: both moves go in one direction, so the sum is the furthest position.
func combineMoves(first, then Args) (Args, bool) {
	sum, ok := Sum(first[0].Int, then[0].Int)
	return Args{Int(sum)}, ok
}

// getBounded answers get: the value, or nil for an absent counter.
func getBounded(s bounded, _ Args) ([]msg.Datum, error) {
	if !s.created {
		return []msg.Datum{Nil()}, nil
	}
	return []msg.Datum{Int(s.value)}, nil
}

// boundsOf answers bounds: floor and ceiling, or two nils.
func boundsOf(s bounded, _ Args) ([]msg.Datum, error) {
	if !s.created {
		return []msg.Datum{Nil(), Nil()}, nil
	}
	return []msg.Datum{Int(s.floor), Int(s.ceiling)}, nil
}

// drawBounds draws mostly narrow bounds.
func drawBounds(n func(int) int) Args {
	floor := int64(n(4) - 2)
	a := Args{Int(floor), Int(floor + int64(n(16)))}
	switch n(8) {
	case 0:
		a = Args{Int(-1 << 63), Int(1<<63 - 1)}
	case 1:
		a = Args{Int(-1 << 63), Int(int64(n(3) - 1))}
	case 2:
		a = Args{Int(1), Int(0)} // invalid
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

// drawMove draws mostly small amounts.
func drawMove(n func(int) int) Args {
	switch n(16) {
	case 0:
		return Args{Int(int64(n(3) - 2))}
	case 1:
		return Args{Int(1<<63 - 1)}
	}
	return Args{Int(int64(1 + n(6)))}
}

// encodeBounded writes the version, floor, ceiling and value, 8 bytes each, big-endian.
func encodeBounded(s bounded) []byte {
	b := make([]byte, 0, 25)
	if !s.created {
		return b
	}
	b = append(b, boundedForm)
	for _, n := range []int64{s.floor, s.ceiling, s.value} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// decodeBounded is the inverse of encodeBounded. It rejects a value outside of its bounds.
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
