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

// TestOperationsKeepTheirNames: a result remembers what it is of, in one byte if it is no
// data type's.
func TestOperationsKeepTheirNames(t *testing.T) {
	for kind := range msg.OpKind_name {
		op := msg.Op{Kind: msg.OpKind(kind)}
		require.Less(t, OperationOf(&op), uint32(128), "%v", op.Kind)
		require.Equal(t, MethodOf(&op).String(), OperationName(OperationOf(&op)))
	}
	for _, typ := range Types() {
		for _, m := range typ.Methods {
			did := OperationOf(&msg.Op{Kind: msg.OpUpdate, Type: uint32(typ.ID), Method: m.Number})
			require.Less(t, did, uint32(1<<21), "three bytes")
			require.Equal(t, m.FullName(), OperationName(did))
		}
	}
	require.Equal(t, "update", OperationName(OperationOf(&msg.Op{Kind: msg.OpUpdate, Type: 254, Method: 3})), "a type that is not known")
	require.Empty(t, OperationName(0), "an older version noted none")
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
	require.Equal(t, "an operation", Methods(1<<22).Phrase(ModeNone))
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
			a, ok := Advise(mine, theirs)
			if ok {
				given++
				m, h := a.Of(mine, theirs)
				require.True(t, Compatible(m.Mode(), h.Mode()), "%v for %v, %v for %v", m.Each(), mine.Each(), h.Each(), theirs.Each())
				require.Equal(t, a.Mine != MethodNone, a.IfMine != "", "a condition goes with each method")
				require.Equal(t, a.Theirs != MethodNone, a.IfTheirs != "")
				require.True(t, a.Mine != MethodNone || a.Theirs != MethodNone)
				require.True(t, a.Mine != MethodView && a.Theirs != MethodView, "a transaction that locks what it reads writes something")
				continue
			}
			for a := range numMethods {
				for b := range numMethods {
					_, one := a.standsFor(mine)
					_, other := b.standsFor(theirs)
					require.False(t, one && other && Compatible(a.Mode(), b.Mode()), "%v and %v would do", a, b)
				}
			}
		}
	}
	require.Greater(t, given, 100)
	_, ok := Advise(0, MethodPut.Set())
	require.False(t, ok, "nothing is claimed of what is not known")
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
			require.Contains(t, suggested, m)
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
		want         Advice
	}{
		{"a put that waits for an add could be an add", set(MethodPut), set(MethodAdd),
			Advice{Mine: MethodAdd, IfMine: "the key is only incremented"}},
		{"two puts could be adds, both of them", set(MethodPut), set(MethodPut),
			Advice{Mine: MethodAdd, Theirs: MethodAdd, IfMine: "the key is only incremented", IfTheirs: "the key is only incremented"}},
		{"a get that waits for a put has no substitute", set(MethodGet), set(MethodPut), Advice{}},
		{"two gets for update could both be adds", set(MethodGetForUpdate), set(MethodGetForUpdate),
			Advice{Mine: MethodAdd, Theirs: MethodAdd, IfMine: "the key is only incremented", IfTheirs: "the key is only incremented"}},
		{"a get for update that waits for a get could be one without", set(MethodGetForUpdate), set(MethodGet),
			Advice{Mine: MethodGet, IfMine: "the key is not written later"}},
		{"an add that waits for an add-get", set(MethodAdd), set(MethodAddGet),
			Advice{Theirs: MethodAdd, IfTheirs: "the sum is not needed"}},
		{"reading, and then writing what was counted", set(MethodGet, MethodPut), set(MethodAdd),
			Advice{Mine: MethodAdd, IfMine: "the key is only incremented"}},
		{"a delete goes with nothing", set(MethodDelete), set(MethodPut), Advice{}},
		{"an update that readers hold", set(MethodPut), set(MethodOpenView),
			Advice{Theirs: MethodReadSnapshot, IfTheirs: "it may read a slightly older state"}},
	} {
		a, ok := Advise(test.mine|Interactive, test.theirs)
		require.Equal(t, test.want, a, test.name)
		require.Equal(t, a != Advice{}, ok, test.name)
	}
}

// TestCallsAreNamed: of methods of data types those that ran, and no others that need the
// same lock.
func TestCallsAreNamed(t *testing.T) {
	op := func(typ, method string, args ...msg.Datum) *msg.Op {
		op, err := Call([]byte("k"), typ, method, args)
		require.NoError(t, err)
		return &op
	}
	size := MethodsOf(op("set", "len"))
	require.Equal(t, []string{"set.len"}, size.Calls())
	require.Equal(t, "len on a set", size.Noun(ModeRead))
	both := size.With(MethodsOf(op("set", "add", Bytes([]byte("ann"))))).With(Interactive | MethodGetForUpdate.Set())
	require.Equal(t, []string{"set.add", "set.len"}, both.Calls())
	require.Equal(t, "a get for update and an add and len on a set", both.Phrase(ModeWrite))
	require.NotZero(t, both&Interactive)
	require.Equal(t, []Method{MethodGetForUpdate, MethodQuery, MethodUpdate}, both.Each())
	list := both.With(MethodsOf(op("list", "len")))
	require.Equal(t, []string{"list.len"}, list.Calls(), "it was a set before")
	require.Equal(t, MethodAddGet.Set(), MethodsOf(&msg.Op{Kind: msg.OpGet, ForUpdate: true, Methods: uint64(MethodAddGet.Set())}), "what it is asked for")
	require.Empty(t, call(2, 33).Calls(), "one that is not told apart")
	require.Equal(t, "contains on a set", CallWords([]string{"set.contains"}))
	require.Equal(t, "a, b and c on a box", CallWords([]string{"box.a", "box.b", "box.c"}))
}
