package catalog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func hotKeys(n, size int) (keys [][]byte) {
	for i := range n {
		keys = append(keys, fmt.Appendf(nil, "%0*d", size, i))
	}
	return keys
}

func hotMapOf(t *testing.T, c *Catalog) *HotMap {
	t.Helper()
	h, err := c.HotMap()
	require.NoError(t, err)
	return h
}

func TestNewestHotMapIsStored(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.Error(t, c.SetHotMap(1, nil), "before Init")
	require.NoError(t, c.Init(testIdentity()))
	require.Nil(t, hotMapOf(t, c))
	c = reopen(t, c, dir)
	require.Nil(t, hotMapOf(t, c), "as in a catalog without hot maps")

	require.NoError(t, c.SetHotMap(7<<32+1, [][]byte{[]byte("a"), {0xff, 0}}))
	want := &HotMap{Cluster: "c0ffee", Epoch: 7<<32 + 1, Keys: [][]byte{[]byte("a"), {0xff, 0}}}
	require.Equal(t, want, hotMapOf(t, c))
	c = reopen(t, c, dir)
	require.Equal(t, want, hotMapOf(t, c))

	for _, epoch := range []uint64{0, 7 << 32, 7<<32 + 1} {
		require.NoError(t, c.SetHotMap(epoch, [][]byte{[]byte("old")}))
		require.Equal(t, want, hotMapOf(t, c), "epoch %d", epoch)
		c = reopen(t, c, dir)
		require.Equal(t, want, hotMapOf(t, c), "epoch %d", epoch)
	}
	require.NoError(t, c.SetHotMap(7<<32+2, nil))
	c = reopen(t, c, dir)
	require.Empty(t, hotMapOf(t, c).Keys)
	require.EqualValues(t, 7<<32+2, hotMapOf(t, c).Epoch)

	id, _ := c.Get()
	require.Equal(t, testIdentity(), id)
	require.NoError(t, c.Close())
	require.Error(t, c.SetHotMap(9<<32, nil), "closed")
}

func TestHotMapIsBounded(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.NoError(t, c.Init(testIdentity()))
	for i, x := range []struct{ n, size, kept int }{
		{256, 256, 256}, // exactly the limit
		{256, 257, 255},
		{20, 4096, 16},
		{5000, 4, maxHotKeys},
		{3, 1, 3},
	} {
		keys := hotKeys(x.n, x.size)
		require.NoError(t, c.SetHotMap(uint64(i+1), keys))
		c = reopen(t, c, dir)
		require.Equal(t, keys[:x.kept], hotMapOf(t, c).Keys)
		file, err := os.Stat(filepath.Join(dir, FileName))
		require.NoError(t, err)
		require.Less(t, file.Size(), int64(1<<20))
	}
	require.NoError(t, c.Close())
}

// An invalid hot map is ignored and reported. The rest of the catalog is not affected, and the next hot map
// replaces it.
func TestInvalidHotMapIsIgnored(t *testing.T) {
	whole := `{"Cluster":"c0ffee","Epoch":3,"Keys":["YQ=="]}`
	long := strings.Repeat("x", 300<<10)
	for what, x := range map[string]struct {
		value []byte
		text  string
	}{
		"a wrong sum":       {append(seal(keyHotMap, []byte(whole)), ' '), "sum"},
		"nothing":           {nil, "sum"},
		"another's value":   {seal(keyIdentity, []byte(whole)), "sum"},
		"no JSON":           {seal(keyHotMap, []byte("{")), "cannot be decoded"},
		"another type":      {seal(keyHotMap, []byte(`{"Epoch":"x"}`)), "cannot be decoded"},
		"another cluster's": {seal(keyHotMap, []byte(strings.Replace(whole, "c0ffee", "beef", 1))), "another cluster"},
		"an empty key":      {seal(keyHotMap, []byte(strings.Replace(whole, "YQ==", "", 1))), "empty"},
		"too long":          {seal(keyHotMap, []byte(strings.Replace(whole, "YQ==", long, 1))), "exceeds the limit"},
		"too many keys": {seal(keyHotMap, []byte(strings.Replace(whole, `"YQ=="`, strings.Repeat(`"YQ==",`,
			maxHotKeys)+`"YQ=="`, 1))), "exceeds the limit"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			c := mustOpen(t, dir)
			require.NoError(t, c.Init(testIdentity()))
			require.NoError(t, c.SetIncarnation(1, 5))
			require.NoError(t, update(c.db, map[string][]byte{keyHotMap: x.value}))
			c = reopen(t, c, dir)
			h, err := c.HotMap()
			require.Nil(t, h)
			require.ErrorContains(t, err, x.text)
			require.ErrorContains(t, err, dir)
			id, ok := c.Get()
			require.True(t, ok)
			require.Equal(t, testIdentity(), id)

			require.NoError(t, c.SetHotMap(1, hotKeys(2, 1)))
			c = reopen(t, c, dir)
			require.Equal(t, hotKeys(2, 1), hotMapOf(t, c).Keys)
			require.NoError(t, c.Close())
		})
	}
}

// If any byte of the hot map flips, the catalog opens without it.
func TestFlippedByteLosesHotMapOnly(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.NoError(t, c.Init(testIdentity()))
	require.NoError(t, c.SetHotMap(3, [][]byte{[]byte("visits")}))
	require.NoError(t, c.Close())
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	value := []byte(`{"Cluster":"c0ffee","Epoch":3`)
	var copies []int // one of them is the newest
	for from := 0; ; {
		at := bytes.Index(file[from:], value)
		if at < 0 {
			break
		}
		copies = append(copies, from+at)
		from += at + 1
	}
	require.NotEmpty(t, copies)
	for i := -sumSize; i < len(value); i++ {
		b := slices.Clone(file)
		for _, at := range copies {
			b[at+i] ^= 0x10
		}
		require.NoError(t, os.WriteFile(path, b, 0o600))
		c := mustOpen(t, dir)
		h, err := c.HotMap()
		require.Nil(t, h, "byte %d", i)
		require.ErrorContains(t, err, "sum", "byte %d", i)
		id, ok := c.Get()
		require.True(t, ok)
		require.Equal(t, testIdentity(), id)
		require.NoError(t, c.Close())
	}
}
