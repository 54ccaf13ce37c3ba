package kv

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// universe has every key that distinguishes the random spans below.
var universe = func() (keys [][]byte) {
	for _, a := range "abc" {
		keys = append(keys, []byte{byte(a)}, []byte{byte(a), 0}, []byte{byte(a), 'x'})
	}
	return keys
}()

func drawSpan(t *rapid.T) Span {
	key := func() []byte { return rapid.SampledFrom(universe).Draw(t, "key") }
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return Point(key())
	case 1:
		return Range(key(), nil)
	case 2:
		return Range(nil, key())
	}
	return Range(key(), key())
}

// TestSpansMatchSetsOfKeys compares spans with the sets of their keys.
func TestSpansMatchSetsOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpan(t), drawSpan(t)
		common, any := false, false
		for _, k := range universe {
			common = common || a.Contains(k) && b.Contains(k)
			any = any || a.Contains(k)
		}
		if any {
			require.False(t, a.IsEmpty(), "%v holds a key", a)
		}
		if common {
			require.True(t, a.Overlaps(b), "%v and %v have a common key", a, b)
		}
		if a.Overlaps(b) && !a.IsEmpty() && !b.IsEmpty() {
			// Ranges may share only keys beyond the universe: behind the last.
			require.True(t, common || !a.IsPoint() && !b.IsPoint(), "%v and %v have no common key", a, b)
		}
		require.Equal(t, a.Overlaps(b), b.Overlaps(a), "%v and %v", a, b)
	})
}

func TestSpanTable(t *testing.T) {
	k := func(s string) []byte { return []byte(s) }
	for _, test := range []struct {
		name string
		a, b Span
		want bool
	}{
		{"a point overlaps itself", Point(k("a")), Point(k("a")), true},
		{"points do not overlap others", Point(k("a")), Point(k("a\x00")), false},
		{"a range has its start", Range(k("a"), k("b")), Point(k("a")), true},
		{"a range does not have its end", Range(k("a"), k("b")), Point(k("b")), false},
		{"a range without an end has every later key", Range(k("a"), nil), Point(k("\xff\xff")), true},
		{"and no earlier one", Range(k("b"), nil), Point(k("a\xff")), false},
		{"ranges that touch do not overlap", Range(k("a"), k("b")), Range(k("b"), k("c")), false},
		{"ranges without ends overlap", Range(k("a"), nil), Range(k("z"), []byte{}), true},
		{"the whole keyspace overlaps any key", Range(nil, nil), Point(k("q")), true},
	} {
		require.Equal(t, test.want, test.a.Overlaps(test.b), test.name)
		require.Equal(t, test.want, test.b.Overlaps(test.a), test.name)
	}
	require.True(t, Range(k("b"), k("a")).IsEmpty())
	require.True(t, Range(k("b"), k("b")).IsEmpty())
	require.False(t, Range(k("b"), nil).IsEmpty())
	require.False(t, Point(k("b")).IsEmpty())
	require.False(t, Range(k("a"), nil).IsPoint(), "an end that is not given reaches to the last key")
}

func TestNextIsTheLeastGreaterKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "key")
		other := rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "other")
		next := Next(key)
		require.Positive(t, bytes.Compare(next, key))
		require.False(t, bytes.Compare(key, other) < 0 && bytes.Compare(other, next) < 0, "%q lies between %q and %q", other,
			key, next)
	})
	key := make([]byte, 1, 8)
	_ = append(Next(key), 'x')
	require.Equal(t, byte(0), key[:2][1], "Next does not write into its argument's room")
}

func TestSpanText(t *testing.T) {
	require.Equal(t, `"a" ["a", "c") ["a", end)`, Point([]byte("a")).String()+" "+Range([]byte("a"),
		[]byte("c")).String()+" "+Range([]byte("a"), nil).String())
}

func TestKeyAndValueLimits(t *testing.T) {
	require.NoError(t, CheckKey([]byte("k")))
	require.NoError(t, CheckKey(make([]byte, MaxKeyBytes)))
	require.ErrorContains(t, CheckKey(nil), "the key is empty")
	err := CheckKey(bytes.Repeat([]byte("k"), MaxKeyBytes+1))
	require.ErrorContains(t, err, "4097 bytes")
	require.Equal(t, KindInvalid, KindOf(err))
	require.Less(t, len(err.Error()), 200, "a key that is too long is not printed in full")
	require.NoError(t, CheckValue([]byte("k"), make([]byte, MaxValueBytes)))
	err = CheckValue([]byte("k"), make([]byte, MaxValueBytes+1))
	require.ErrorContains(t, err, "1048577 bytes")
	require.ErrorContains(t, err, `"k"`)
	for _, err := range []error{CheckKey(nil), CheckValue(nil, make([]byte, MaxValueBytes+1))} {
		hint := err.(*Error).Hint
		require.NotEmpty(t, hint)
		require.True(t, strings.Contains(hint, "4096") || strings.Contains(hint, "1048576"), "the hint names the limit: %s",
			hint)
	}
}

// TestClientsCannotNameSystemKeys: no key or range that a client can name contains a system key.
func TestClientsCannotNameSystemKeys(t *testing.T) {
	for key, own := range map[string]bool{
		"a": false, "\xff": false, "\xff\xfe\xff\xff": false, "\xfe\xff\xff": false,
		"\xff\xff": true, "\xff\xff\x00": true, "\xff\xffusers": true, "\xff\xff\xff": true,
	} {
		require.Equal(t, own, IsSystem([]byte(key)), "%q", key)
		err := CheckClientKey([]byte(key))
		require.Equal(t, own, err != nil, "%q", key)
		span, err := ClientRange([]byte(key), nil)
		require.Equal(t, own, err != nil, "%q", key)
		if !own {
			require.False(t, span.Contains([]byte(SystemStart)))
			require.True(t, span.Contains([]byte("\xff\xfe\xff\xff")))
		}
	}
	require.Equal(t, KindInvalid, KindOf(CheckClientKey(nil)))
	for end, want := range map[string]string{"": SystemStart, "b": "b", "\xff\xff": SystemStart,
		"\xff\xff\x01": SystemStart} {
		span, err := ClientRange([]byte("a"), []byte(end))
		require.NoError(t, err)
		require.Equal(t, want, string(span.End))
	}
}
