package adt_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// edge draws numbers at the ends of 64 bits, and small ones.
func edge(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(-5, 15), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 3, math.MinInt64 + 3})).Draw(t, label)
}

// TestBoundedCountersAgainstBigNumbers: one call after another.
func TestBoundedCountersAgainstBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &single{made: adt.Lookup(adt.BoundedCounter)}
		var floor, ceiling, value *big.Int
		fits := func(x *big.Int) bool { return x.Cmp(floor) >= 0 && x.Cmp(ceiling) <= 0 }
		for range drawInt(t, "steps", 1, 30) {
			name := rapid.SampledFrom([]string{"create", "add", "subtract", "try-add", "try-subtract", "get", "bounds"}).Draw(t, "method")
			n := edge(t, "n")
			var want []msg.Datum
			kind := kv.KindOK
			var args []msg.Datum
			switch name {
			case "create":
				f, c := edge(t, "floor"), edge(t, "ceiling")
				args = []msg.Datum{adt.Int(f), adt.Int(c), adt.Int(n)}
				switch bf, bc := big.NewInt(f), big.NewInt(c); {
				case f > c || n < f || n > c:
					kind = kv.KindInvalid
				case value == nil:
					floor, ceiling, value = bf, bc, big.NewInt(n)
				case floor.Cmp(bf) != 0 || ceiling.Cmp(bc) != 0:
					kind = kv.KindCondition
				}
			case "get":
				want = []msg.Datum{adt.Nil()}
				if value != nil {
					want[0] = adt.Int(value.Int64())
				}
			case "bounds":
				if want = []msg.Datum{adt.Nil(), adt.Nil()}; value != nil {
					want = []msg.Datum{adt.Int(floor.Int64()), adt.Int(ceiling.Int64())}
				}
			default:
				args = []msg.Datum{adt.Int(n)}
				delta, tries := big.NewInt(n), name[:3] == "try"
				if name == "subtract" || name == "try-subtract" {
					delta.Neg(delta)
				}
				switch {
				case n < 1:
					kind = kv.KindInvalid
				case value == nil:
					kind = kv.KindCondition
				case fits(delta.Add(delta, value)):
					value = delta
					if tries {
						want = []msg.Datum{adt.Bool(true)}
					}
				case tries:
					want = []msg.Datum{adt.Bool(false)}
				default:
					kind = kv.KindCondition
				}
			}
			got, failed, _ := k.call(t, name, args...)
			require.Equal(t, kind, failed, "%s %v", name, args)
			require.Equal(t, want, got, "%s %v", name, args)
			if rapid.Bool().Draw(t, "restore") {
				k.restore()
			}
		}
	})
}

// escrowTxn is an undecided transaction: its moves in their order.
type escrowTxn struct{ calls []msg.Call }

func (x *escrowTxn) along(value int64) (low, high, end int64) {
	low, high, end = value, value, value
	for _, c := range x.calls {
		if c.Method == 2 {
			end += c.Args[0].Int
		} else {
			end -= c.Args[0].Int
		}
		low, high = min(low, end), max(high, end)
	}
	return low, high, end
}

// reach is how low and how high the value may get, whatever the undecided become
// and in whichever order, by trying it all.
func reach(value int64, undecided []*escrowTxn) (low, high int64) {
	low, high = value, value
	for i, x := range undecided {
		l, h, end := x.along(value)
		rest := append(append([]*escrowTxn(nil), undecided[:i]...), undecided[i+1:]...)
		rl, rh := reach(end, rest)
		low, high = min(low, l, rl), max(high, h, rh)
	}
	return low, high
}

// TestNothingLeaksOutOfBoundedCounters runs random transactions, decided in any
// order and either way. The counter never leaves its bounds; a move is granted only
// if it holds whatever the undecided become, and refused only if it fails whatever
// they do; and, where all of them are single moves, nobody waits without need.
func TestNothingLeaksOutOfBoundedCounters(t *testing.T) {
	seen := map[string]int{}
	made := adt.Lookup(adt.BoundedCounter)
	rapid.Check(t, func(t *rapid.T) {
		const floor, ceiling = 0, 10
		k := &single{made: made}
		k.call(t, "create", adt.Int(floor), adt.Int(ceiling), adt.Int(int64(drawInt(t, "start", floor, ceiling))))
		value := func() int64 {
			got, _, _ := k.call(t, "get")
			return got[0].Int
		}
		var undecided []*escrowTxn
		singles := rapid.Bool().Draw(t, "singles")
		for range drawInt(t, "steps", 1, 40) {
			if n := len(undecided); n > 0 && (n > 4 || rapid.Bool().Draw(t, "decide")) {
				i := drawInt(t, "which", 0, n-1)
				x := undecided[i]
				undecided = append(undecided[:i:i], undecided[i+1:]...)
				if rapid.Bool().Draw(t, "commits") {
					after, err := adt.Apply(made.ID, &k.value, x.calls)
					require.NoError(t, err, "what was granted is never refused later")
					after.Version = kv.Version{Write: 1}
					k.value = after
					require.True(t, value() >= floor && value() <= ceiling)
				}
				continue
			}
			moves := 1
			if !singles {
				moves = drawInt(t, "moves", 1, 3)
			}
			x := &escrowTxn{}
			own := k.value
			for range moves {
				name := rapid.SampledFrom([]string{"add", "subtract", "try-add", "try-subtract"}).Draw(t, "method")
				n := int64(drawInt(t, "n", 1, 8))
				lock, outcome := planMove(t, made, name, n, &own, undecided)
				seen[lock]++
				_, _, before := x.along(value())
				move := msg.Call{Method: 2, Args: adt.Args{adt.Int(n)}}
				if name == "subtract" || name == "try-subtract" {
					move.Method = 3
				}
				tried := &escrowTxn{append(append([]msg.Call(nil), x.calls...), move)}
				low, high := reach(before, undecided)
				switch {
				case lock == "alone":
					if singles {
						up, down := ceiling-n, floor+n
						require.True(t, move.Method == 2 && low <= up && high > up || move.Method == 3 && high >= down && low < down,
							"%s %d waits at %d, between %d and %d", name, n, before, low, high)
					}
					x = nil // it waits; here it gives up
				case outcome == "granted":
					low, high := reach(value(), append([]*escrowTxn{tried}, undecided...))
					require.True(t, low >= floor && high <= ceiling, "%s %d is granted at %d, and may come to between %d and %d", name, n, before, low, high)
					after, err := adt.Apply(made.ID, &own, tried.calls[len(tried.calls)-1:])
					require.NoError(t, err)
					after.Version = kv.Version{Write: 1}
					own, x = after, tried
				default:
					require.True(t, move.Method == 2 && low+n > ceiling || move.Method == 3 && high-n < floor,
						"%s %d is refused at %d, and may come to between %d and %d", name, n, before, low, high)
					if outcome == "failed" {
						x = nil
					}
				}
				if x == nil {
					break
				}
			}
			if x != nil && len(x.calls) > 0 {
				undecided = append(undecided, x)
			}
		}
	})
	for _, lock := range []string{"add", "subtract", "no-room", "none-left", "alone"} {
		require.NotZero(t, seen[lock], "%s was met: %v", lock, seen)
	}
}

// planMove plans a move beside undecided transactions.
func planMove(t require.TestingT, made *adt.Type, name string, n int64, own *entry.Value, undecided []*escrowTxn) (lock, outcome string) {
	r := adt.Request{Method: made.MethodByName(name), Args: adt.Args{adt.Int(n)}, Value: own}
	r.Others = func(visit func(uint32, adt.Args)) {
		for _, x := range undecided {
			for _, c := range x.calls {
				visit(c.Method, c.Args)
			}
		}
	}
	p, modes := r.Plan(nil)
	require.Len(t, modes, 1)
	lock = made.Kinds[modes[0].Kind()-1].Name
	switch {
	case p.Err != nil:
		require.Equal(t, kv.KindCondition, kv.KindOf(p.Err))
		return lock, "failed"
	case len(p.Calls) == 0:
		require.Equal(t, []msg.Datum{adt.Bool(false)}, p.Answer)
		return lock, "refused"
	}
	return lock, "granted"
}
