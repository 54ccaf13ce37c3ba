package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// largeCatalog makes a catalog that was written many times and is larger than a page.
func largeCatalog(t testing.TB) (file []byte, want membership.Saved) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	want = testIdentity()
	for i := range 60 {
		want.HotKeys = append(want.HotKeys, []byte(strings.Repeat("k", 50)+fmt.Sprintf("%03d", i)))
	}
	slices.SortFunc(want.HotKeys, slices.Compare)
	require.NoError(t, c.Init(want))
	for i := range kv.ShardID(9) {
		require.NoError(t, c.SetIncarnation(i, 5))
	}
	want.Members[1].Address = "b:7"
	require.NoError(t, c.SaveMembership(&want))
	want, _ = c.Get()
	require.NoError(t, c.Close())
	file, err := os.ReadFile(filepath.Join(dir, FileName))
	require.NoError(t, err)
	return file, want
}

// checkDamage opens a file that may be damaged. It passes if the damage is reported or has no effect.
func checkDamage(t testing.TB, file []byte, want membership.Saved, what string) (damaged bool) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), file, 0o600))
	c, err := OpenWith(dir, quick)
	if err != nil {
		var e *kv.Error
		require.ErrorAs(t, err, &e, what)
		require.Equal(t, kv.KindCorrupt, e.Kind, "%s: %v", what, err)
		require.Contains(t, err.Error(), dir)
		require.NotEmpty(t, e.Hint, what)
		return true
	}
	id, ok := c.Get()
	require.True(t, ok, "%s: the identity is lost", what)
	require.Equal(t, want, id, what)
	for i := range kv.ShardID(9) {
		inc, err := c.Incarnation(i)
		require.NoError(t, err)
		require.EqualValues(t, 5, inc, what)
	}
	if dir[len(dir)-1]%8 == 0 { // occasionally, since writes are slow
		// An accepted file can be written, and is valid afterwards.
		require.NoError(t, c.SetIncarnation(1, 6), what)
		c = reopen(t, c, dir)
		id, _ = c.Get()
		require.Equal(t, want, id, what)
	}
	require.NoError(t, c.Close())
	return false
}

func TestFlippedByteIsDetected(t *testing.T) {
	file, want := largeCatalog(t)
	require.False(t, checkDamage(t, file, want, "the file as it is"))
	const step = 97 // reaches every part of a page and every bit
	named, harmless := 0, 0
	for at := 0; at < len(file); at += step {
		b := slices.Clone(file)
		b[at] ^= 1 << (at % 8)
		if checkDamage(t, b, want, fmt.Sprintf("byte %d of %d", at, len(b))) {
			named++
		} else {
			harmless++ // a free page, or the unused rest of a page
		}
	}
	require.Greater(t, named, 20)
	require.NotZero(t, harmless)
}

// Every byte of the pages' headers and first elements is changed: bbolt follows these without checks.
func TestFlippedHeadersAreDetected(t *testing.T) {
	file, want := largeCatalog(t)
	for page := 0; page < len(file); page += os.Getpagesize() {
		number := slices.Clone(file)
		number[page] ^= 1
		if page >= 2*os.Getpagesize() && !checkDamage(t, number, want, fmt.Sprintf("the number of the page at %d", page)) {
			continue // a free page is not read
		}
		for at := page; at < page+pageHeader+metaSize; at++ {
			mask := []byte{0x01, 0x80, 0xff}[at%3]
			b := slices.Clone(file)
			b[at] ^= mask
			bad := checkDamage(t, b, want, fmt.Sprintf("byte %d ^ %02x", at, mask))
			if page < 2*os.Getpagesize() && at >= page+pageHeader {
				require.True(t, bad, "a meta page is checked whole: byte %d", at)
			}
		}
	}
}

func TestTruncationIsDetected(t *testing.T) {
	file, want := largeCatalog(t)
	for n := 0; n < len(file); n += 1021 {
		checkDamage(t, file[:n], want, fmt.Sprintf("%d of %d bytes", n, len(file)))
	}
	require.True(t, checkDamage(t, nil, want, "an empty file"))
	require.True(t, checkDamage(t, []byte("dear diary"), want, "another file"))
	require.True(t, checkDamage(t, make([]byte, len(file)), want, "zeros"))
}

// A valid value of another key, or an older one, is damage too.
func TestValueOfOtherKeyIsDamage(t *testing.T) {
	values := map[string][]byte{"a": seal("a", []byte("1")), "b": seal("a", []byte("1")), "c": seal("c", []byte("{")),
		"d": {1}}
	var n int
	require.NoError(t, unseal(values, "a", &n))
	require.Equal(t, 1, n)
	for _, k := range []string{"b", "c", "d", "e"} {
		require.Equal(t, kv.KindCorrupt, kv.KindOf(unseal(values, k, &n)), k)
	}
}

func TestInvalidStoredIdentityIsDamage(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	id := testIdentity()
	id.Node = 77
	b, err := json.Marshal(id)
	require.NoError(t, err)
	require.NoError(t, update(c.db, map[string][]byte{keyIdentity: seal(keyIdentity, b)}))
	require.NoError(t, c.Close())
	_, err = OpenWith(dir, quick)
	require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
}

// FuzzReadPages: any bytes result in values or an error, never a panic.
func FuzzReadPages(f *testing.F) {
	dir := f.TempDir()
	require.NoError(f, mustOpen(f, dir).Close())
	fresh, err := os.ReadFile(filepath.Join(dir, FileName))
	require.NoError(f, err)
	f.Add(fresh[:8*os.Getpagesize()])
	f.Add(fresh[:2*os.Getpagesize()])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := readPages(b, bucketName); err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
		}
	})
}
