package entry

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestDirectoriesAndPatchesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Value{Type: Type(rapid.IntRange(2, 239).Draw(t, "type")), Version: version}
		pages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) PageRef {
			return PageRef{rapid.Uint64().Draw(t, "id"), kv.CSN(rapid.Uint64().Draw(t, "born"))}
		}), 1, 20).Draw(t, "pages")
		rest := rapid.SliceOf(rapid.Byte()).Draw(t, "rest")
		b := EncodeDirectory(&v, pages, rest)
		require.True(t, IsDirectory(b))
		require.False(t, IsDelta(b) || IsPatch(b) || IsTombstone(b) || IsMoveTombstone(b))
		back, again, directory, err := DecodeDirectory(b)
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Equal(t, pages, again)
		require.Equal(t, string(rest), string(directory))
		named, err := Pages(b)
		require.NoError(t, err)
		require.Equal(t, pages, named)

		b = EncodePatch(&v, rest)
		require.True(t, IsPatch(b) && IsDelta(b))
		require.False(t, IsDirectory(b) || IsTombstone(b) || IsMoveTombstone(b))
		back, patch, err := DecodePatch(b)
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Equal(t, string(rest), string(patch))
		named, err = Pages(b)
		require.NoError(t, err)
		require.Empty(t, named)
	})
}

// Stores contain these bytes.
func TestGoldenPages(t *testing.T) {
	v, head := Value{Type: 2, Version: version}, "02"+"0000000100020000000000000003"
	require.Equal(t, "03"+head+"02"+"0702"+"ac0203"+"6869", hex.EncodeToString(EncodeDirectory(&v, []PageRef{{7, 2},
		{300, 3}}, []byte("hi"))))
	require.Equal(t, "04"+head+"6869", hex.EncodeToString(EncodePatch(&v, []byte("hi"))))
	require.Equal(t, "6b"+"0000000000000102", hex.EncodeToString(PageKey([]byte("k"), 258)))
	user, id, ok := SplitPageKey(PageKey([]byte("k"), 258))
	require.True(t, ok)
	require.Equal(t, "k", string(user))
	require.EqualValues(t, 258, id)
	_, _, ok = SplitPageKey(make([]byte, 8))
	require.False(t, ok, "no user key")
}

func TestDamagedDirectoriesAreNamed(t *testing.T) {
	head := "0000000100020000000000000003"
	for name, test := range map[string]struct{ bytes, says string }{
		"half a header":       {"0302000000", "5 bytes is too short"},
		"a whole value":       {"0102" + head, "not a value in pages"},
		"no number of pages":  {"0302" + head, "truncated"},
		"no pages":            {"0302" + head + "00", "0 pages"},
		"more than there are": {"0302" + head + "05" + "0101", "5 pages"},
		"a page truncated":    {"0302" + head + "01" + "01ff", "truncated"},
		"a tombstone":         {"03ff" + head + "010101", "type 255"},
		"no identity":         {"0302" + "0000000000000000000000000000" + "010101", "no identity"},
	} {
		_, _, _, err := DecodeDirectory(unhex(t, test.bytes))
		require.ErrorContains(t, err, test.says, name)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), name)
	}
	for _, bad := range []string{"0402", "0102" + head, "0302" + head, "04ff" + head} {
		_, _, err := DecodePatch(unhex(t, bad))
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), bad)
	}
}

// FuzzDirectory: damaged rows are rejected or decoded, without a panic.
func FuzzDirectory(f *testing.F) {
	f.Add(EncodeDirectory(&Value{Type: 2, Version: version}, []PageRef{{7, 2}, {300, 3}}, []byte("hi")))
	f.Add(EncodePatch(&Value{Type: 2, Version: version}, []byte("hi")))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, pages, directory, err := DecodeDirectory(b)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.True(t, v.Exists())
		back, again, rest, err := DecodeDirectory(EncodeDirectory(&v, pages, directory))
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Equal(t, pages, again)
		require.Equal(t, directory, rest)
	})
}
