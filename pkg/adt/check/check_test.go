package check_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// rounds suffices to find every planted error.
const rounds = 5000

// names is a sorted set of words, with a number that "stamp" sets.
type names struct {
	words []string
	stamp int64
}

const (
	kindAdd adt.Kind = iota + 1
	kindRemove
	kindHas
	kindCount
	kindStamp
)

func words(a adt.Args) (out [][]byte) {
	for i := range a {
		out = append(out, a[i].Bytes)
	}
	return out
}

// with returns the set with or without words.
func (n names) with(a adt.Args, in bool) names {
	out := names{slices.Clone(n.words), n.stamp}
	for i := range a {
		w := string(a[i].Bytes)
		at, there := slices.BinarySearch(out.words, w)
		switch {
		case in && !there:
			out.words = slices.Insert(out.words, at, w)
		case !in && there:
			out.words = slices.Delete(out.words, at, at+1)
		}
	}
	return out
}

func (n names) encode() []byte {
	out := binary.AppendVarint(nil, n.stamp)
	for _, w := range n.words {
		out = append(binary.AppendUvarint(out, uint64(len(w))), w...)
	}
	return out
}

func decodeNames(b []byte) (n names, err error) {
	stamp, k := binary.Varint(b)
	n.stamp = stamp
	for b = b[k:]; len(b) > 0; {
		l, k := binary.Uvarint(b)
		n.words = append(n.words, string(b[k:k+int(l)]))
		b = b[k+int(l):]
	}
	return n, nil
}

// right is a correct declaration.
func right() adt.Spec[names] {
	many := []adt.Param{{Name: "word", Kind: msg.DatumBytes, Many: true}}
	return adt.Spec[names]{
		ID: 200, Name: "names", Zero: func() names { return names{} },
		Encode: names.encode, Decode: decodeNames,
		Empty: func(n names) bool { return len(n.words) == 0 && n.stamp == 0 },
		Kinds: []adt.KindSpec{{Name: "add", Changes: true}, {Name: "remove", Changes: true}, {Name: "has"}, {Name: "count"},
			{Name: "stamp", Changes: true}},
		Commute: []adt.Commutes{{A: kindAdd, B: kindAdd, When: adt.Always}, {A: kindRemove, B: kindRemove, When: adt.Always},
			{A: kindAdd, B: kindRemove, When: adt.OtherPart}, {A: kindHas, B: kindAdd, When: adt.OtherPart},
			{A: kindHas, B: kindRemove, When: adt.OtherPart},
			{A: kindStamp, B: kindAdd, When: adt.Always}, {A: kindStamp, B: kindRemove, When: adt.Always},
			{A: kindStamp, B: kindHas, When: adt.Always}, {A: kindStamp, B: kindCount, When: adt.Always}},
		Methods: []adt.MethodSpec[names]{
			{Name: "add", Params: many, Kind: kindAdd, Part: words,
				Apply:   func(n names, a adt.Args) (names, error) { return n.with(a, true), nil },
				Combine: func(a, b adt.Args) (adt.Args, bool) { return append(slices.Clone(a), b...), true }},
			{Name: "remove", Params: many, Kind: kindRemove, Part: words,
				Apply: func(n names, a adt.Args) (names, error) { return n.with(a, false), nil }},
			{Name: "has", Params: []adt.Param{{Name: "word", Kind: msg.DatumBytes}}, Kind: kindHas, Part: words,
				Answer: func(n names, a adt.Args) ([]msg.Datum, error) {
					_, there := slices.BinarySearch(n.words, string(a[0].Bytes))
					return []msg.Datum{adt.Bool(there)}, nil
				}},
			{Name: "count", Kind: kindCount,
				Answer: func(n names, _ adt.Args) ([]msg.Datum, error) { return []msg.Datum{adt.Int(int64(len(n.words)))}, nil }},
			{Name: "stamp", Params: []adt.Param{{Name: "n", Kind: msg.DatumInt}}, Kind: kindStamp,
				Apply:  func(n names, a adt.Args) (names, error) { return names{n.words, a[0].Int}, nil },
				Answer: func(n names, _ adt.Args) ([]msg.Datum, error) { return []msg.Datum{adt.Int(n.stamp)}, nil }},
		},
	}
}

func TestCorrectDeclarationIsNotRefuted(t *testing.T) {
	made, err := adt.Declare(right())
	require.NoError(t, err)
	for seed := range uint64(2) {
		report, err := check.Examine(made, seed, rounds)
		require.NoError(t, err)
		require.Greater(t, report.Pairs, rounds/4)
		require.Greater(t, report.Waits, rounds/10)
		require.Empty(t, report.Strict)
		require.Empty(t, report.Untried)
	}
}

// TestPlantedErrorsAreFound: each error is found and described in a way that explains it.
func TestPlantedErrorsAreFound(t *testing.T) {
	commute := func(a, b adt.Kind, when adt.When) func(*adt.Spec[names]) {
		return func(s *adt.Spec[names]) { s.Commute = append(s.Commute, adt.Commutes{A: a, B: b, When: when}) }
	}
	for _, test := range []struct {
		name  string
		plant func(*adt.Spec[names])
		texts []string
	}{
		{"adds and removes of one word", commute(kindAdd, kindRemove, adt.Always),
			[]string{"add ", "remove ", "A, then B", "B, then A"}},
		{"a count beside adds", commute(kindCount, kindAdd, adt.Always), []string{"count", "answered 0", "answered 1"}},
		{"a count beside removes of other words", commute(kindHas, kindRemove, adt.Always), []string{"has ", "remove "}},
		{"two stamps that return the previous one", commute(kindStamp, kindStamp, adt.Always),
			[]string{"stamp ", "answered 0"}},
		{"Combine forgets the first", func(s *adt.Spec[names]) {
			s.Methods[0].Combine = func(_, b adt.Args) (adt.Args, bool) { return b, true }
		}, []string{"Combine", "add "}},
		{"the stored form loses the stamp", func(s *adt.Spec[names]) {
			s.Encode = func(n names) []byte { return names{words: n.words}.encode() }
		}, []string{"Encode and Decode lose something", "stamp "}},
		{"the stored form cannot be read", func(s *adt.Spec[names]) {
			s.Decode = func(b []byte) (names, error) {
				if n, err := decodeNames(b); err != nil || len(n.words) < 2 {
					return n, err
				}
				return names{}, fmt.Errorf("two are too many")
			}
		}, []string{"Decode cannot read that: two are too many"}},
		{"the stored form changes when read back", func(s *adt.Spec[names]) {
			s.Decode = func(b []byte) (names, error) {
				n, err := decodeNames(b)
				slices.Reverse(n.words)
				return n, err
			}
		}, []string{"after it was read back"}},
		{"Apply changes what it is given", func(s *adt.Spec[names]) {
			s.Methods[0].Apply = func(n names, a adt.Args) (names, error) {
				if len(n.words) > 0 {
					n.words[0] = max(n.words[0], string(a[0].Bytes))
				}
				return n.with(a, true), nil
			}
		}, []string{"alters the value that it is given"}},
		{"two values share an appended slice", func(s *adt.Spec[names]) {
			s.Methods[0].Apply = func(n names, a adt.Args) (names, error) {
				if w := string(a[0].Bytes); len(a) == 1 && len(n.words) > 0 && n.words[len(n.words)-1] < w {
					return names{append(n.words, w), n.stamp}, nil
				}
				out := n.with(a, true)
				out.words = slices.Grow(out.words, 4)
				return out, nil
			}
		}, []string{"The value after add ", "was altered afterwards"}},
		{"Apply alters its arguments", func(s *adt.Spec[names]) {
			s.Methods[1].Apply = func(n names, a adt.Args) (names, error) {
				out := n.with(a, false)
				a[0] = adt.Bytes(nil)
				a[0].Bytes = []byte("other")
				return out, nil
			}
		}, []string{"alters"}},
		{"an error under a lock that does not keep it true", func(s *adt.Spec[names]) {
			s.Methods[1].Apply = func(n names, a adt.Args) (names, error) {
				if out := n.with(a, false); len(out.words) < len(n.words) {
					return out, nil
				}
				return n, adt.Errorf(kv.KindConditionFailed, "it is not there")
			}
		}, []string{"remove ", "it is not there"}},
		{"an answer beyond the protection of the lock", func(s *adt.Spec[names]) {
			s.Methods[0].Answer = func(n names, _ adt.Args) ([]msg.Datum, error) {
				return []msg.Datum{adt.Int(int64(len(n.words)))}, nil
			}
		}, []string{"add ", "answered 0", "answered 1", "In this order"}},
		{"a wrong part", func(s *adt.Spec[names]) {
			s.Methods[2].Part = func(adt.Args) [][]byte { return [][]byte{[]byte("x")} }
		}, []string{"has "}},
		{"an Empty value that differs from Zero", func(s *adt.Spec[names]) {
			s.Empty = func(n names) bool { return len(n.words) == 0 }
		}, []string{"Empty", "stamp "}},
		{"a weaker lock for unknown values", func(s *adt.Spec[names]) {
			s.Methods[3].Answer, s.Methods[3].Answers = nil, true
			s.Methods[3].Kind = kindHas
			s.Methods[3].Part = func(adt.Args) [][]byte { return [][]byte{[]byte("x")} }
			s.Methods[3].Plan = func(v *adt.View[names], _ adt.Args) adt.Plan {
				return adt.Plan{Need: kindCount, Answer: []msg.Datum{adt.Int(int64(len(v.State.words)))}}
			}
		}, []string{`needs the lock "count"`, `"has", does not`}},
		{"a change under a lock for queries", func(s *adt.Spec[names]) {
			s.Methods[1].Plan = func(_ *adt.View[names], a adt.Args) adt.Plan { return adt.As(kindHas, 2, a) }
		}, []string{"declared not to"}},
		{"an answer ahead without a lock that keeps it true", func(s *adt.Spec[names]) {
			s.Methods[4].Answer, s.Methods[4].Answers = nil, true
			s.Methods[4].Plan = func(v *adt.View[names], a adt.Args) adt.Plan {
				if v.Ahead {
					return adt.As(kindStamp, 5, a, adt.Int(int64(len(v.State.words))))
				}
				return adt.As(kindStamp, 5, a, adt.Int(v.State.stamp))
			}
		}, []string{"ahead of its commit", "When it was prepared"}},
		{"a failure that depends on undecided calls", func(s *adt.Spec[names]) {
			s.Methods[0].Plan = func(v *adt.View[names], a adt.Args) adt.Plan {
				undecided := 0
				v.Others(func([]msg.Call) { undecided++ })
				if undecided > 0 {
					return adt.Plan{Err: adt.Errorf(kv.KindConditionFailed, "an undecided call exists")}
				}
				return adt.As(kindAdd, 1, a)
			}
		}, []string{"fails (ConditionFailed: an undecided call exists) while", "none commit"}},
		{"Draw makes invalid arguments", func(s *adt.Spec[names]) {
			s.Methods[4].Draw = func(n func(int) int) adt.Args { return adt.Args{adt.Float(float64(n(3)))} }
		}, []string{"stamp of a names: n must be a whole number"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := right()
			test.plant(&s)
			made, err := adt.Declare(s)
			require.NoError(t, err)
			for seed := range uint64(3) {
				err = check.Type(made, seed, rounds)
				require.Error(t, err)
				if seed == 0 {
					t.Log(err)
				}
				for _, part := range test.texts {
					require.Contains(t, err.Error(), part)
				}
				require.Less(t, strings.Count(err.Error(), "\n"), 8, "a reduced counterexample: %v", err)
				require.EqualError(t, check.Type(made, seed, rounds), err.Error(), "the same seed gives the same result")
			}
		})
	}
}

// TestStrictLocksAreReported: locks that could commute are reported and are not an error.
func TestStrictLocksAreReported(t *testing.T) {
	s := right()
	s.Commute = slices.DeleteFunc(s.Commute, func(c adt.Commutes) bool {
		return c.A == kindStamp && c.B == kindAdd || c.A == kindAdd && c.B == kindRemove
	})
	made, err := adt.Declare(s)
	require.NoError(t, err)
	report, err := check.Examine(made, 1, rounds)
	require.NoError(t, err)
	all := strings.Join(report.Strict, "\n")
	require.Contains(t, all, `"add" and "stamp" do not go together, and nothing was found`)
	require.Contains(t, all, `"add" and "remove" do not go together on different parts`)
	require.Len(t, report.Strict, 2)
}

// TestUntriedMethodsAreReported: a method with a wrong declaration that never gets valid arguments
// is not refuted, but reported as untried. With valid arguments it is refuted.
func TestUntriedMethodsAreReported(t *testing.T) {
	s := right()
	s.Kinds = append(s.Kinds, adt.KindSpec{Name: "reset", Changes: true})
	reset := adt.Kind(len(s.Kinds))
	s.Commute = append(s.Commute, adt.Commutes{A: reset, B: kindAdd, When: adt.Always}) // it removes added words
	s.Methods = append(s.Methods, adt.MethodSpec[names]{Name: "reset",
		Params: []adt.Param{{Name: "day", Kind: msg.DatumBytes}}, Kind: reset,
		Apply: func(n names, a adt.Args) (names, error) {
			if _, err := time.Parse(time.DateOnly, string(a[0].Bytes)); err != nil {
				return n, adt.Errorf(kv.KindInvalid, "no day")
			}
			return names{}, nil
		}})
	made, err := adt.Declare(s)
	require.NoError(t, err)
	report, err := check.Examine(made, 1, rounds)
	require.NoError(t, err)
	require.Empty(t, report.Strict)
	require.Equal(t, []string{"every call of reset failed; Draw may make up arguments that it takes",
		`"add" and "reset" go together, and were never held beside each other`}, report.Untried)

	s.Methods[5].Draw = func(n func(int) int) adt.Args {
		return adt.Args{
			adt.Bytes(fmt.Appendf(nil, "2024-02-%02d", 1+n(29)))}
	}
	made, err = adt.Declare(s)
	require.NoError(t, err)
	require.ErrorContains(t, check.Type(made, 1, rounds), "reset ")
}

// TestViolationInAnyStepIsReported: a violation is reported in whichever step it occurs, even in a
// single round.
func TestViolationInAnyStepIsReported(t *testing.T) {
	wrong := false
	s := right()
	s.Methods[1].Apply = func(n names, a adt.Args) (names, error) {
		if len(n.words) > 0 && n.stamp > 0 {
			wrong = true
			a[0].Bytes[0]++
		}
		return n.with(a, false), nil
	}
	s.Methods[1].Params = []adt.Param{{Name: "word", Kind: msg.DatumBytes}}
	s.Methods[1].Draw = func(n func(int) int) adt.Args { return adt.Args{adt.Bytes([]byte{'a' + byte(n(4))})} }
	made, err := adt.Declare(s)
	require.NoError(t, err)
	seen := 0
	for seed := range uint64(300) {
		wrong = false
		if err := check.Type(made, seed, 1); wrong {
			require.Error(t, err, "seed %d", seed)
			seen++
		}
	}
	require.Greater(t, seen, 10)
}
