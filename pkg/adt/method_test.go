package adt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestEveryOperationHasAMethod: every operation has a method, with the mode of the operation.
func TestEveryOperationHasAMethod(t *testing.T) {
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

// TestOperationNamesRoundTrip: a result names its operation, in one byte unless it called a data
// type.
func TestOperationNamesRoundTrip(t *testing.T) {
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
	require.Equal(t, "update", OperationName(OperationOf(&msg.Op{Kind: msg.OpUpdate, Type: 254, Method: 3})),
		"a type that is not known")
	require.Empty(t, OperationName(0), "an older version noted none")
}

func TestMethodWords(t *testing.T) {
	seen := map[string]bool{}
	for m := range numMethods {
		require.NotEmpty(t, methods[m].name)
		require.NotEmpty(t, methods[m].noun)
		require.Equal(t, m.Mode() == ModeNone, methods[m].reason != "", "the reason of %v", m)
		require.False(t, seen[m.String()], "two methods are called %v", m)
		seen[m.String()] = true
	}
	require.Equal(t, "newer", Method(31).String())
	require.Equal(t, ModeWrite, Method(31).Mode(), "what a newer shard tells of excludes everything, as far as is known")
	require.Equal(t, "a get, a put and an add", methodSet(MethodGet, MethodPut, MethodAdd).Phrase(ModeNone))
	require.Equal(t, "get and put", methodSet(MethodGet, MethodPut).Noun(ModeNone))
	require.Equal(t, "an add that returns the sum", MethodAddGet.Set().Phrase(ModeNone))
	require.Equal(t, "a write", Methods(0).Phrase(ModeWrite), "of a lock that was found in the log only the mode is known")
	require.Equal(t, "an operation", Methods(1<<22).Phrase(ModeNone))
	require.Equal(t, ModeWrite, methodSet(MethodGet, MethodAdd).Mode(), "get and add together read the value")
	require.Equal(t, Methods(0), MethodNone.Set())
}

// TestAdviceMatchesCompatibility checks all pairs of sets of up to two methods: the advised methods
// are compatible, and those that they replace are not. Without advice, no substitutes of the two
// sides are compatible.
func TestAdviceMatchesCompatibility(t *testing.T) {
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
				require.True(t, Compatible(m.Mode(), h.Mode()), "%v for %v, %v for %v", m.Each(), mine.Each(), h.Each(),
					theirs.Each())
				require.Equal(t, a.Mine != MethodNone, a.IfMine != "", "a condition goes with each method")
				require.Equal(t, a.Theirs != MethodNone, a.IfTheirs != "")
				require.True(t, a.Mine != MethodNone || a.Theirs != MethodNone)
				require.True(t, a.Mine != MethodView && a.Theirs != MethodView,
					"a transaction that locks what it reads writes something")
				continue
			}
			for a := range numMethods {
				for b := range numMethods {
					_, one := a.canReplace(mine)
					_, other := b.canReplace(theirs)
					require.False(t, one && other && Compatible(a.Mode(), b.Mode()), "%v and %v would do", a, b)
				}
			}
		}
	}
	require.Greater(t, given, 100)
	_, ok := Advise(0, MethodPut.Set())
	require.False(t, ok, "no advice for unknown methods")
}

// someSets returns all sets of one or two methods.
func someSets() (out []Methods) {
	for a := MethodNone + 1; a < numMethods; a++ {
		out = append(out, a.Set())
		for b := a + 1; b < numMethods; b++ {
			out = append(out, methodSet(a, b))
		}
	}
	return out
}

// TestSubstitutesAreWeaker: a substitute is not among the methods that it replaces, and needs a
// weaker mode.
func TestSubstitutesAreWeaker(t *testing.T) {
	for m := range numMethods {
		for _, s := range methods[m].substitutes {
			require.Contains(t, substituteOrder, m)
			require.NotZero(t, s.anyOf)
			require.Zero(t, s.anyOf&^s.replaces)
			require.Zero(t, s.anyOf&m.Set(), "%v does not stand for itself", m)
			require.NotEmpty(t, s.condition)
			for _, o := range s.anyOf.Each() {
				require.NotEqual(t, o.Mode(), m.Mode(), "%v is no weaker than %v", m, o)
			}
		}
	}
}

func TestAdviceForCommonPairs(t *testing.T) {
	for _, test := range []struct {
		name         string
		mine, theirs Methods
		want         Advice
	}{
		{"a put that waits for an add could be an add", methodSet(MethodPut), methodSet(MethodAdd),
			Advice{Mine: MethodAdd, IfMine: "the key is only incremented"}},
		{"two puts could be adds, both of them", methodSet(MethodPut), methodSet(MethodPut),
			Advice{Mine: MethodAdd, Theirs: MethodAdd, IfMine: "the key is only incremented",
				IfTheirs: "the key is only incremented"}},
		{"a get that waits for a put has no substitute", methodSet(MethodGet), methodSet(MethodPut), Advice{}},
		{"two gets for update could both be adds", methodSet(MethodGetForUpdate), methodSet(MethodGetForUpdate),
			Advice{Mine: MethodAdd, Theirs: MethodAdd, IfMine: "the key is only incremented",
				IfTheirs: "the key is only incremented"}},
		{"a get for update that waits for a get could be one without", methodSet(MethodGetForUpdate), methodSet(MethodGet),
			Advice{Mine: MethodGet, IfMine: "the key is not written later"}},
		{"an add that waits for an add-get", methodSet(MethodAdd), methodSet(MethodAddGet),
			Advice{Theirs: MethodAdd, IfTheirs: "the sum is not needed"}},
		{"reading, and then writing what was counted", methodSet(MethodGet, MethodPut), methodSet(MethodAdd),
			Advice{Mine: MethodAdd, IfMine: "the key is only incremented"}},
		{"a delete is compatible with nothing", methodSet(MethodDelete), methodSet(MethodPut), Advice{}},
		{"an update that readers hold", methodSet(MethodPut), methodSet(MethodOpenView),
			Advice{Theirs: MethodReadSnapshot, IfTheirs: "it may read a slightly older state"}},
	} {
		a, ok := Advise(test.mine|Interactive, test.theirs)
		require.Equal(t, test.want, a, test.name)
		require.Equal(t, a != Advice{}, ok, test.name)
	}
}

// TestCallsAreNamedByMethod: receipts name the called methods, and no others with the same lock.
func TestCallsAreNamedByMethod(t *testing.T) {
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
	require.Equal(t, MethodAddGet.Set(), MethodsOf(&msg.Op{Kind: msg.OpGet, ForUpdate: true,
		Methods: uint64(MethodAddGet.Set())}), "the operation that it is made for")
	require.Empty(t, callSet(2, 33).Calls(), "a number that is not recorded")
	require.Equal(t, "contains on a set", DescribeCalls([]string{"set.contains"}))
	require.Equal(t, "a, b and c on a box", DescribeCalls([]string{"box.a", "box.b", "box.c"}))
}
