package pebblestore

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestComparerKeepsPebblesRules(t *testing.T) {
	var prefixes, suffixes [][]byte
	for _, k := range []string{"", "a", "a\x00", "a\x00\x00", "a\x09", "ab", "\x09\x09\x09\x09\x09\x09\x09\x09\x09",
		"\xff"} {
		prefixes = append(prefixes, enginekey.AppendPrefix(nil, 1, entry.TableVersion, []byte(k)))
		prefixes = append(prefixes, enginekey.AppendPrefixEnd(nil, 256, entry.TableRecord, []byte(k)))
	}
	for _, i := range []kv.CSN{0, 1, 9, 255, 1 << 40, ^kv.CSN(0)} {
		suffixes = append(suffixes, enginekey.AppendCSN(nil, i))
	}
	require.NoError(t, pebble.CheckComparer(comparer, prefixes, suffixes))
}

func drawKey(t *rapid.T, name string) []byte {
	key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 9, 'a', 'b', 0xff}), 0, 6).Draw(t, name)
	table := entry.Table(rapid.IntRange(1, 2).Draw(t, name+" table"))
	k := enginekey.Key{Shard: kv.ShardID(rapid.IntRange(0, 2).Draw(t, name+" shard")), Table: table, User: key}
	if table == entry.TableVersion {
		k.CSN = kv.CSN(rapid.Uint64Range(0, 3).Draw(t, name+" csn"))
	}
	return k.Append(nil)
}

func TestShortenedKeysStayBetween(t *testing.T) {
	shorter := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawKey(t, "a"), drawKey(t, "b")
		succ := comparer.Successor([]byte("dst"), a)
		require.True(t, bytes.HasPrefix(succ, []byte("dst")))
		require.LessOrEqual(t, comparer.Compare(a, succ[3:]), 0)
		switch comparer.Compare(a, b) {
		case 0:
			return
		case 1:
			a, b = b, a
		}
		sep := comparer.Separator([]byte("dst"), a, b)[3:]
		require.LessOrEqual(t, comparer.Compare(a, sep), 0, "%x %x", a, sep)
		require.Negative(t, comparer.Compare(sep, b), "%x %x", sep, b)
		require.True(t, bytes.Equal(sep, a) || enginekey.Split(sep) == len(sep), "a shortened key is all prefix")
		if len(sep) < len(a) {
			shorter++
		}
		if comparer.AbbreviatedKey(a) > comparer.AbbreviatedKey(b) {
			t.Fatalf("abbreviated keys of %x and %x are out of order", a, b)
		}
	})
	require.NotZero(t, shorter)
}

func TestKeysAreShownReadably(t *testing.T) {
	show := func(b []byte) string {
		var w bytes.Buffer
		s := comparer.FormatKey(b)
		s.Format(plain{&w}, 's')
		return w.String()
	}
	require.Equal(t, `s3/version/"k\x00"@7`, show(enginekey.AppendVersion(nil, 3, []byte("k\x00"), 7)))
	require.Equal(t, `s0/record/"r"`, show(enginekey.AppendPrefix(nil, 0, entry.TableRecord, []byte("r"))))
	require.Equal(t, "6162", show([]byte("ab")))
}

// plain is a fmt.State without flags.
type plain struct{ *bytes.Buffer }

func (plain) Width() (int, bool)     { return 0, false }
func (plain) Precision() (int, bool) { return 0, false }
func (plain) Flag(int) bool          { return false }
