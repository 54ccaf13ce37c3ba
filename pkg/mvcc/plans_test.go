package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// setView is a View of sets, with the plans of the executed piece.
type setView struct {
	values  map[string]entry.Value
	intents map[string][]Intent
	plans   Plans
	writes  uint64
}

func newSetView() *setView {
	return &setView{values: map[string]entry.Value{}, intents: map[string][]Intent{}}
}

func (s *setView) Value(key []byte) (entry.Value, error) { return s.values[string(key)], nil }
func (s *setView) Clock() int64                          { return 0 }

func (s *setView) Pending([]byte) (low, high int64)  { return 0, 0 }
func (s *setView) Rows(uint32) RangeRows             { return RangeRows{} }
func (s *setView) Held([]byte, adt.Mode) bool        { return true }
func (s *setView) undecided(key []byte) []Intent     { return s.intents[string(key)] }
func (s *setView) version(kv.Version) (v kv.Version) { s.writes++; return kv.Version{Write: s.writes} }
func (s *setView) Calls() *Calls {
	return &Calls{Held: s.Held, Intents: s.undecided,
		Plans: &s.plans}
}
func (s *setView) exec(ops []msg.Op) Execution { return Exec(s, ops, s.version) }
func (s *setView) answers(x Execution) (out []msg.Datum) {
	for _, r := range x.Results {
		out = append(out, r.Data...)
	}
	return out
}

// holds stores a set with some members at a key.
func (s *setView) holds(t *testing.T, key string, members ...string) {
	t.Helper()
	v, err := adt.Apply(adt.Set, &entry.Value{}, []msg.Call{{Method: 1, Args: args(members)}})
	require.NoError(t, err)
	v.Version = s.version(kv.Version{})
	s.values[key] = v
}

func args(members []string) (out adt.Args) {
	for _, m := range members {
		out = append(out, adt.Bytes([]byte(m)))
	}
	return out
}

func setOp(method, key string, members ...string) msg.Op {
	return adt.Lookup(adt.Set).MethodByName(method).Op([]byte(key), args(members)...)
}

// plan stores the plans of a piece, each call after the one with the position in after, -1 for
// none.
func (s *setView) plan(t *testing.T, ops []msg.Op, after ...int) {
	t.Helper()
	s.plans.Reset(len(ops))
	for i := range ops {
		method, err := adt.Find(&ops[i])
		require.NoError(t, err)
		v := s.values[string(ops[i].Key)]
		r := adt.Request{Method: method, Args: ops[i].Args, Value: &v}
		if after[i] >= 0 {
			r.Value = s.plans.ResultOf(after[i])
			require.NotNil(t, r.Value)
		}
		plan, modes := r.Plan(nil)
		if after[i] >= 0 {
			s.plans.SetAfter(i, after[i], &r, &plan, modes)
		} else {
			s.plans.Set(i, &r, &plan, modes)
		}
	}
}

// addThenCount adds a member and counts, twice, and counts another set.
func addThenCount() []msg.Op {
	return []msg.Op{setOp("add-count", "a", "x"), setOp("len", "a"), setOp("len", "b"), setOp("add-count", "a", "x", "y"),
		setOp("len", "a")}
}

var addThenCountAfter = []int{-1, 0, -1, 1, 3}

// TestPlansAreReusedWhileCurrent counts the plans that Exec makes although there are stored ones.
// The results are those without stored plans.
func TestPlansAreReusedWhileCurrent(t *testing.T) {
	for _, c := range []struct {
		name    string
		disturb func(t *testing.T, s *setView)
		plans   int
		want    []int64
	}{
		{"nothing has changed", func(*testing.T, *setView) {}, 0, []int64{1, 3, 1, 1, 4}},
		{"a set has changed", func(t *testing.T, s *setView) { s.holds(t, "a", "x", "y") }, 4, []int64{0, 2, 1, 0, 2}},
		{"the other set has changed", func(t *testing.T, s *setView) { s.holds(t, "b", "x", "y") }, 1,
			[]int64{1, 3, 2, 1, 4}},
		{"a set was deleted", func(_ *testing.T, s *setView) {
			s.values["a"] = entry.Value{Type: entry.TypeDeleted, Version: s.version(kv.Version{})}
		}, 4, []int64{1, 1, 1, 1, 2}},
		{"another transaction has an undecided change", func(_ *testing.T, s *setView) {
			e := &entry.Effect{Key: []byte("a"), Kind: entry.EffectChange, Type: uint32(adt.Set),
				Calls: []msg.Call{{Method: 1, Args: args([]string{"z"})}}}
			s.intents["a"] = []Intent{{kv.TxnRef{TxnID: kv.TxnID{Time: 7}, Attempt: 1}, e}}
		}, 4, []int64{1, 3, 1, 1, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetView()
			s.holds(t, "a", "p", "q")
			s.holds(t, "b", "p")
			ops := addThenCount()
			s.plan(t, ops, addThenCountAfter...)
			c.disturb(t, s)
			x := s.exec(ops)
			require.Nil(t, x.Failure)
			require.Empty(t, x.Missing)
			require.Equal(t, c.plans, x.Plans)
			var want []msg.Datum
			for _, n := range c.want {
				want = append(want, adt.Int(n))
			}
			require.Equal(t, want, s.answers(x))

			s.plans.Reset(len(ops))
			again := s.exec(ops)
			require.Equal(t, len(ops), again.Plans, "without stored plans")
			require.Equal(t, again.Results, x.Results)
			require.Equal(t, again.Effects, x.Effects)
		})
	}
}

// TestPlansBufferIsBounded: the memory of a long piece's plans is not retained for short pieces.
func TestPlansBufferIsBounded(t *testing.T) {
	var p Plans
	p.Reset(1000)
	require.Len(t, p.byOp, 1000)
	p.Reset(3)
	require.LessOrEqual(t, cap(p.byOp), maxRetainedPlans)
	p.Reset(0)
	require.Nil(t, (*Plans)(nil).at(0))
}
