package enginekey

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// These bytes are the format on disk. If one of them changes, existing stores cannot be read: define a new
// format instead.
func TestEncodingNeverChanges(t *testing.T) {
	for _, c := range []struct {
		what string
		key  Key
		want string
	}{
		{"a version", Key{Shard: 3, Table: entry.TableVersion, User: []byte("abc"), CSN: 7},
			"0003" + "01" + "616263" + "0001" + "00" + "fffffffffffffff8" + "09"},
		{"the highest CSN sorts first", Key{Shard: 0x0102, Table: entry.TableVersion, User: []byte("k"), CSN: ^kv.CSN(0)},
			"0102" + "01" + "6b" + "0001" + "00" + "0000000000000000" + "09"},
		{"zero bytes are escaped", Key{Shard: 0, Table: entry.TableVersion, User: []byte{0, 'a', 0, 0}, CSN: 0},
			"0000" + "01" + "00ff6100ff00ff" + "0001" + "00" + "ffffffffffffffff" + "09"},
		{"a prepared row has no CSN", Key{Shard: 1, Table: entry.TablePrepared, User: []byte{0xff, 0x00}},
			"0001" + "02" + "ff00ff" + "0001" + "00"},
		{"the state row has no name", Key{Shard: 1023, Table: entry.TableState},
			"03ff" + "05" + "0001" + "00"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := c.key.Append(nil)
			require.Equal(t, c.want, hex.EncodeToString(got))
			back, err := Decode(got, nil)
			require.NoError(t, err)
			require.Equal(t, c.key.Append(nil), back.Append(nil))
		})
	}
}

func TestEncodingOfBoundsNeverChanges(t *testing.T) {
	for _, c := range []struct {
		what         string
		span         kv.Span
		lower, upper string
	}{
		{"one key", kv.Point([]byte("a")), "000201" + "61" + "000100", "000201" + "61" + "00010000"},
		{"a range", kv.Range([]byte("a"), []byte("b")), "000201" + "61" + "000100", "000201" + "62" + "000100"},
		{"to the last key", kv.Range([]byte("a"), nil), "000201" + "61" + "000100", "00020200"},
	} {
		t.Run(c.what, func(t *testing.T) {
			lo, hi := Bounds(2, entry.TableVersion, c.span)
			require.Equal(t, c.lower, hex.EncodeToString(lo))
			require.Equal(t, c.upper, hex.EncodeToString(hi))
		})
	}
}

func drawKey(t *rapid.T, name string) Key {
	k := Key{
		Shard: kv.ShardID(rapid.SampledFrom([]int{0, 1, 255, 256, 1023}).Draw(t, name+" shard")),
		Table: entry.Table(rapid.IntRange(1, 5).Draw(t, name+" table")),
		// Few different byte values, so that keys share prefixes and contain escapes.
		User: rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 0x01, 0x09, 'a', 0xfe, 0xff}), 0, 12).Draw(t, name+" user"),
	}
	if k.Table == entry.TableVersion {
		k.CSN = kv.CSN(rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64()).Draw(t, name+" csn"))
	}
	return k
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Shard, b.Shard),
		cmp.Compare(a.Table, b.Table),
		bytes.Compare(a.User, b.User),
		cmp.Compare(b.CSN, a.CSN), // newest first
	)
}

func TestEncodedOrderIsKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawKey(t, "a"), drawKey(t, "b")
		if rapid.Bool().Draw(t, "same user key") {
			b.Shard, b.User = a.Shard, a.User
		}
		require.Equal(t, compareKeys(a, b), Compare(a.Append(nil), b.Append(nil)))
		require.Equal(t, len(AppendPrefix(nil, a.Shard, a.Table, a.User)), Split(a.Append(nil)))
	})
}

func TestBoundsContainExactlySpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t, "key")
		start, end := drawKey(t, "start").User, drawKey(t, "end").User
		span := rapid.SampledFrom([]kv.Span{kv.Point(start), kv.Range(start, end), kv.Range(start, nil)}).Draw(t, "span")
		lo, hi := Bounds(k.Shard, k.Table, span)
		b := k.Append(nil)
		inside := Compare(lo, b) <= 0 && Compare(b, hi) < 0
		require.Equal(t, span.Contains(k.User), inside)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(Key{Shard: 3, Table: entry.TableVersion, User: []byte("abc"), CSN: 7}.Append(nil))
	f.Add(Key{Shard: 3, Table: entry.TableState}.Append(nil))
	f.Add([]byte{0, 0, 1, 0, 0xff, 0, 1, 0})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := Split(b); n < 0 || n > len(b) {
			t.Fatalf("Split(%x) = %d", b, n)
		}
		k, err := Decode(b, nil)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.Equal(t, b, k.Append(nil), "decoding and encoding gives the same bytes")
	})
}
