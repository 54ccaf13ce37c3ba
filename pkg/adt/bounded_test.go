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

// edge draws numbers at the limits of int64, and small ones.
func edge(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(-5, 15), rapid.SampledFrom(
		[]int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 3, math.MinInt64 + 3})).Draw(t, label)
}

// TestBoundedCounterMatchesBigIntegers executes calls one after another.
func TestBoundedCounterMatchesBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &keyState{made: adt.Lookup(adt.BoundedCounter)}
		var floor, ceiling, value *big.Int
		fits := func(x *big.Int) bool { return x.Cmp(floor) >= 0 && x.Cmp(ceiling) <= 0 }
		for range drawInt(t, "steps", 1, 30) {
			name := rapid.SampledFrom([]string{"create", "add", "subtract", "try-add", "try-subtract", "get", "bounds"}).Draw(t,
				"method")
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
					kind = kv.KindConditionFailed
				}
			case "get":
				want = []msg.Datum{adt.Nil()}
				if value != nil {
					want[0] = adt.Int(value.Int64())
				}
			case "bounds":
				want = []msg.Datum{adt.Nil(), adt.Nil()}
				if value != nil {
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
					kind = kv.KindNotFound
				case fits(delta.Add(delta, value)):
					value = delta
					if tries {
						want = []msg.Datum{adt.Bool(true)}
					}
				case tries:
					want = []msg.Datum{adt.Bool(false)}
				default:
					kind = kv.KindOutOfRange
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

// pendingTxn is an undecided transaction: its moves in order.
type pendingTxn struct{ calls []msg.Call }

// trace returns the lowest, highest and last value of the transaction, starting at value.
func (x *pendingTxn) trace(value int64) (low, high, end int64) {
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

// possibleValues returns the lowest and highest value for every outcome and order of the undecided
// transactions, by enumeration.
func possibleValues(value int64, undecided []*pendingTxn) (low, high int64) {
	low, high = value, value
	for i, x := range undecided {
		l, h, end := x.trace(value)
		rest := append(append([]*pendingTxn(nil), undecided[:i]...), undecided[i+1:]...)
		rl, rh := possibleValues(end, rest)
		low, high = min(low, l, rl), max(high, h, rh)
	}
	return low, high
}

// decidedValues returns the lowest and highest value between undecided transactions.
func decidedValues(value int64, undecided []*pendingTxn) (low, high int64) {
	low, high = value, value
	for _, x := range undecided {
		_, _, end := x.trace(0)
		low, high = low+min(end, 0), high+max(end, 0)
	}
	return low, high
}

// TestBoundedCounterStaysWithinBounds executes random transactions that are decided in any order.
// The counter never exceeds its bounds. A move is granted only if it succeeds for every outcome of
// the undecided transactions, refused only if it fails for every outcome, and waits only otherwise.
func TestBoundedCounterStaysWithinBounds(t *testing.T) {
	seen := map[string]int{}
	made := adt.Lookup(adt.BoundedCounter)
	rapid.Check(t, func(t *rapid.T) {
		const floor, ceiling = 0, 10
		k := &keyState{made: made}
		k.call(t, "create", adt.Int(floor), adt.Int(ceiling), adt.Int(int64(drawInt(t, "start", floor, ceiling))))
		value := func() int64 {
			got, _, _ := k.call(t, "get")
			return got[0].Int
		}
		var undecided []*pendingTxn
		singles := rapid.Bool().Draw(t, "singles")
		for range drawInt(t, "steps", 1, 40) {
			if n := len(undecided); n > 0 && (n > 4 || rapid.Bool().Draw(t, "decide")) {
				i := drawInt(t, "which", 0, n-1)
				x := undecided[i]
				undecided = append(undecided[:i:i], undecided[i+1:]...)
				if rapid.Bool().Draw(t, "commits") {
					after, err := adt.Apply(made.ID, &k.value, x.calls)
					require.NoError(t, err, "a granted move never fails later")
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
			x := &pendingTxn{}
			own := k.value
			for range moves {
				name := rapid.SampledFrom([]string{"add", "subtract", "try-add", "try-subtract"}).Draw(t, "method")
				n := int64(drawInt(t, "n", 1, 8))
				lock, outcome := planMove(t, made, name, n, &own, undecided)
				seen[lock]++
				_, _, before := x.trace(value())
				move := msg.Call{Method: 2, Args: adt.Args{adt.Int(n)}}
				if name == "subtract" || name == "try-subtract" {
					move.Method = 3
				}
				tried := &pendingTxn{append(append([]msg.Call(nil), x.calls...), move)}
				least, most := possibleValues(value(), append([]*pendingTxn{tried}, undecided...))
				low, high := decidedValues(before, undecided)
				switch {
				case lock == "alone":
					require.True(t, move.Method == 2 && most > ceiling && low+n <= ceiling || move.Method == 3 && least < floor &&
						high-n >= floor,
						"%s %d waits at %d, between %d and %d", name, n, before, low, high)
					x = nil // it waits; this test aborts it
				case outcome == "granted":
					require.True(t, least >= floor && most <= ceiling, "%s %d is granted at %d; possible values are %d to %d", name,
						n, before, least, most)
					after, err := adt.Apply(made.ID, &own, tried.calls[len(tried.calls)-1:])
					require.NoError(t, err)
					after.Version = kv.Version{Write: 1}
					own, x = after, tried
				default:
					require.True(t, move.Method == 2 && low+n > ceiling || move.Method == 3 && high-n < floor,
						"%s %d is refused at %d; possible values are %d to %d", name, n, before, low, high)
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
		require.NotZero(t, seen[lock], "%s was never needed: %v", lock, seen)
	}
}

// TestEscrowCountsTransactionsAsAWhole: a transaction that takes and returns an amount does not
// reduce what is left, and one that adds an amount and takes it back adds nothing for others.
func TestEscrowCountsTransactionsAsAWhole(t *testing.T) {
	const add, subtract = 2, 3
	moves := func(ns ...int64) *pendingTxn {
		x := &pendingTxn{}
		for _, n := range ns {
			c := msg.Call{Method: add, Args: adt.Args{adt.Int(n)}}
			if n < 0 {
				c = msg.Call{Method: subtract, Args: adt.Args{adt.Int(-n)}}
			}
			x.calls = append(x.calls, c)
		}
		return x
	}
	for _, test := range []struct {
		name, method  string
		n             int64
		others        []*pendingTxn
		lock, outcome string
	}{
		{"an amount taken and returned needs no space", "add", 3, []*pendingTxn{moves(-5, 5)}, "add", "granted"},
		{"an amount added first needs space until it is taken back", "add", 3, []*pendingTxn{moves(3, -3)}, "alone",
			"granted"},
		{"and is not available to others", "try-add", 4, []*pendingTxn{moves(3, -3)}, "no-room", "refused"},
		{"an amount added and taken back leaves the stock unchanged", "subtract", 7, []*pendingTxn{moves(2, -2)}, "subtract",
			"granted"},
		{"an amount taken first is missing until it is returned", "try-subtract", 7, []*pendingTxn{moves(-2, 2)}, "alone",
			"granted"},
		{"only one transaction is between its steps at a time", "add", 1, []*pendingTxn{moves(2, -2), moves(2, -2)}, "add",
			"granted"},
		{"a committed move and an intermediate step add up", "add", 1, []*pendingTxn{moves(1), moves(2, -2)}, "alone",
			"granted"},
		{"a possible addition is waited for", "try-subtract", 8, []*pendingTxn{moves(-1, 2)}, "alone", "granted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := &keyState{made: adt.Lookup(adt.BoundedCounter)}
			k.call(t, "create", adt.Int(0), adt.Int(10), adt.Int(7))
			lock, outcome := planMove(t, k.made, test.method, test.n, &k.value, test.others)
			require.Equal(t, test.lock, lock)
			require.Equal(t, test.outcome, outcome)
		})
	}
}

// planMove plans a move beside undecided transactions.
func planMove(t require.TestingT, made *adt.Type, name string, n int64, own *entry.Value,
	undecided []*pendingTxn) (lock, outcome string) {
	r := adt.Request{Method: made.MethodByName(name), Args: adt.Args{adt.Int(n)}, Value: own}
	r.Others = func(visit func([]msg.Call)) {
		for _, x := range undecided {
			visit(x.calls)
		}
	}
	p, modes := r.Plan(nil)
	require.Len(t, modes, 1)
	lock = made.Kinds[modes[0].Kind()-1].Name
	switch {
	case p.Err != nil:
		require.Equal(t, kv.KindOutOfRange, kv.KindOf(p.Err))
		return lock, "failed"
	case len(p.Calls) == 0:
		require.Equal(t, []msg.Datum{adt.Bool(false)}, p.Answer)
		return lock, "refused"
	}
	return lock, "granted"
}

// TestShortageReportsAmountLeft: beside undecided transactions a plan reports the certain amount,
// and the error the possible amount as well.
func TestShortageReportsAmountLeft(t *testing.T) {
	counter := adt.Lookup(adt.BoundedCounter)
	k := &keyState{made: counter}
	k.call(t, "create", adt.Int(0), adt.Int(20), adt.Int(8))
	move := func(method string, n int64) []msg.Call {
		return []msg.Call{{Method: counter.MethodByName(method).Number, Args: adt.Args{adt.Int(n)}}}
	}
	for name, c := range map[string]struct {
		others []msg.Call
		method string
		n      int64
		ahead  bool
		mode   string
		short  *adt.Shortage
		err    string
	}{
		"enough":                 {nil, "subtract", 8, false, "subtract", nil, ""},
		"enough with others":     {move("subtract", 3), "subtract", 5, false, "subtract", nil, ""},
		"enough, answered early": {nil, "subtract", 8, true, "alone", nil, ""},
		"others may take it": {move("subtract", 3), "subtract", 6, false, "alone",
			&adt.Shortage{Left: 5, Requested: 6}, ""},
		"others may have taken all": {move("subtract", 8), "subtract", 1, false, "alone",
			&adt.Shortage{Left: 0, Requested: 1}, ""},
		"others may add it": {move("add", 3), "subtract", 9, false, "alone", &adt.Shortage{Left: 8, Requested: 9},
			""},
		"space above that others use": {move("add", 3), "add", 10, false, "alone", &adt.Shortage{Left: 9, Requested: 10}, ""},
		"a try that is refused":       {nil, "try-subtract", 9, false, "none-left", &adt.Shortage{Left: 8, Requested: 9}, ""},
		"an error": {nil, "subtract", 9, false, "none-left", &adt.Shortage{Left: 8, Requested: 9},
			"subtracting 9 would go below the floor 0 (8 left)"},
		"an error above": {nil, "add", 13, false, "no-room", &adt.Shortage{Left: 12, Requested: 13},
			"adding 13 would exceed the ceiling 20 (12 left)"},
		"an error beside others": {move("subtract", 3), "subtract", 9, false, "none-left",
			&adt.Shortage{Left: 5, Requested: 9},
			"subtracting 9 would go below the floor 0 (5 to 8 left, as transactions in flight end)"},
	} {
		r := adt.Request{Method: counter.MethodByName(c.method), Args: adt.Args{adt.Int(c.n)}, Value: &k.value,
			Ahead:  c.ahead,
			Others: func(visit func([]msg.Call)) { visit(c.others) }}
		plan, modes := r.Plan(nil)
		require.Equal(t, c.short, plan.Short, name)
		require.Len(t, modes, 1, name)
		require.Equal(t, "bounded-counter."+c.mode, modes[0].KindName(), name)
		if c.err == "" {
			require.NoError(t, plan.Err, name)
			continue
		}
		require.Equal(t, c.err, kv.TextOf(plan.Err), name)
		require.Equal(t, kv.KindOutOfRange, kv.KindOf(plan.Err), name)
	}
}

// TestShortageConcernsMovesOnly: other operations conflict whatever the value is.
func TestShortageConcernsMovesOnly(t *testing.T) {
	mode := func(method string, args ...msg.Datum) adt.Mode {
		op, err := adt.Call([]byte("k"), "bounded-counter", method, args)
		require.NoError(t, err)
		return adt.Modes(nil, &op)[0]
	}
	alone, get := mode("subtract", adt.Int(1)), mode("get")
	mine, theirs := &adt.Shortage{Left: 2, Requested: 3}, &adt.Shortage{Left: 4, Requested: 5}
	require.Equal(t, mine, adt.ShortageOf(alone, alone, mine, theirs))
	require.Equal(t, &adt.Shortage{Left: 4}, adt.ShortageOf(alone, alone, nil, theirs))
	require.Nil(t, adt.ShortageOf(alone, alone, nil, nil))
	for _, other := range []adt.Mode{get, adt.ModeWrite, adt.ModeRead} {
		require.Nil(t, adt.ShortageOf(alone, other, mine, theirs))
		require.Nil(t, adt.ShortageOf(other, alone, mine, theirs))
	}
}
