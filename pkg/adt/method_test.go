package adt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestMethodsOfOperations: every operation is a method, and the method needs
// what the operation does.
func TestMethodsOfOperations(t *testing.T) {
	for kind := range msg.OpKind_name {
		for _, forUpdate := range []bool{false, true} {
			op := msg.Op{Kind: msg.OpKind(kind), ForUpdate: forUpdate}
			m := MethodOf(&op)
			require.NotEqual(t, MethodNone, m, "%v", op.Kind)
			require.Equal(t, ModeOf(&op), m.Mode(), "%v, for update: %t, is %v", op.Kind, forUpdate, m)
		}
	}
	require.Equal(t, MethodNone, MethodOf(&msg.Op{Kind: 99}))
}

func TestMethodsHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for m := range numMethods {
		require.NotEmpty(t, methods[m].name)
		require.NotEmpty(t, methods[m].noun)
		require.Equal(t, m.Mode() == ModeNone, methods[m].merit != "", "it is said of %v why nobody minds it", m)
		require.False(t, seen[m.String()], "two methods are called %v", m)
		seen[m.String()] = true
	}
	require.Equal(t, "newer", Method(31).String())
	require.Equal(t, ModeWrite, Method(31).Mode(), "what a newer shard tells of excludes everything, as far as is known")
	require.Equal(t, "a get, a put and an add", set(MethodGet, MethodPut, MethodAdd).Phrase(ModeNone))
	require.Equal(t, "get and put", set(MethodGet, MethodPut).Noun(ModeNone))
	require.Equal(t, "an add that returns the sum", MethodAddGet.Set().Phrase(ModeNone))
	require.Equal(t, "a write", Methods(0).Phrase(ModeWrite), "of a lock that was found in the log only the mode is known")
	require.Equal(t, "an operation", Methods(1<<31).Phrase(ModeNone))
	require.Equal(t, ModeWrite, set(MethodGet, MethodAdd).Mode(), "who gets and adds sees the others' adds")
	require.Equal(t, Methods(0), MethodNone.Set())
}

// TestAdviceIsTrue holds every claim against the relation between modes, for all
// pairs of what up to two methods do: what is advised goes together, and where
// it was needed, since what was done did not. Nothing is left out either: where
// there is no advice, no method that stands for the one goes together with what
// stands for the other.
func TestAdviceIsTrue(t *testing.T) {
	sets := someSets()
	given := 0
	for _, mine := range sets {
		for _, theirs := range sets {
			if Compatible(mine.Mode(), theirs.Mode()) {
				continue // they do not wait for each other
			}
			advice := Advise(mine, theirs)
			for _, a := range advice {
				given++
				m, h := a.Of(mine, theirs)
				require.True(t, Compatible(m.Mode(), h.Mode()), "%v for %v, %v for %v", m.Each(), mine.Each(), h.Each(), theirs.Each())
				require.Equal(t, a.Mine != MethodNone, a.IfMine != "", "a condition goes with each method")
				require.Equal(t, a.Theirs != MethodNone, a.IfTheirs != "")
				require.True(t, a.Mine != MethodNone || a.Theirs != MethodNone)
			}
			if len(advice) == 0 {
				for a := range numMethods {
					for b := range numMethods {
						_, one := a.standsFor(mine)
						_, other := b.standsFor(theirs)
						require.False(t, one && other && Compatible(a.Mode(), b.Mode()), "%v and %v would do", a, b)
					}
				}
			}
		}
	}
	require.Greater(t, given, 100)
	require.Empty(t, Advise(0, MethodPut.Set()), "nothing is claimed of what is not known")
}

// someSets are all sets of one or two methods.
func someSets() (out []Methods) {
	for a := MethodNone + 1; a < numMethods; a++ {
		out = append(out, a.Set())
		for b := a + 1; b < numMethods; b++ {
			out = append(out, set(a, b))
		}
	}
	return out
}

// TestStandsAreDeclaredRight: what stands for others is not of those that it
// stands for, and needs less.
func TestStandsAreDeclaredRight(t *testing.T) {
	for m := range numMethods {
		for _, s := range methods[m].stands {
			require.NotZero(t, s.needs)
			require.Zero(t, s.needs&^s.of)
			require.Zero(t, s.needs&m.Set(), "%v does not stand for itself", m)
			require.NotEmpty(t, s.provided)
			for _, o := range s.needs.Each() {
				require.NotEqual(t, o.Mode(), m.Mode(), "nothing is won with %v in the place of %v", m, o)
			}
		}
	}
}

func TestAdviceOnTheUsualPairs(t *testing.T) {
	for _, test := range []struct {
		name         string
		mine, theirs Methods
		want         []Advice
	}{
		{"a put that waits for an add could be an add", set(MethodPut), set(MethodAdd),
			[]Advice{{Mine: MethodAdd, IfMine: "all that is done with the key is to count"}}},
		{"two puts could be adds, both of them", set(MethodPut), set(MethodPut),
			[]Advice{{Mine: MethodAdd, Theirs: MethodAdd, IfMine: "all that is done with the key is to count", IfTheirs: "all that is done with the key is to count"}}},
		{"who reads what another one puts need not lock", set(MethodGet), set(MethodPut),
			[]Advice{{Mine: MethodView, IfMine: "the transaction writes nothing"}}},
		{"who waits for a reader with locks would not for one without", set(MethodPut), set(MethodGet),
			[]Advice{{Theirs: MethodView, IfTheirs: "the transaction writes nothing"}}},
		{"a get for update that waits for a get could be one without", set(MethodGetForUpdate), set(MethodGet),
			[]Advice{{Mine: MethodGet, IfMine: "the key is not written afterwards"}, {Theirs: MethodView, IfTheirs: "the transaction writes nothing"}}},
		{"nobody needs to wait for the sum", set(MethodAdd), set(MethodAddGet),
			[]Advice{{Theirs: MethodAdd, IfTheirs: "nobody needs the sum at once"}}},
		{"reading, and then writing what was counted", set(MethodGet, MethodPut), set(MethodAdd),
			[]Advice{{Mine: MethodAdd, IfMine: "all that is done with the key is to count"}}},
		{"a delete goes with nothing", set(MethodDelete), set(MethodPut), nil},
		{"an update that readers hold", set(MethodPut), set(MethodOpenView),
			[]Advice{{Theirs: MethodPast, IfTheirs: "it may see what was the case a moment ago"}}},
	} {
		require.Equal(t, test.want, Advise(test.mine, test.theirs), test.name)
	}
}
