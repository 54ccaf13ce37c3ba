package backup

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestComparing: what a cluster has, against a file of b, d and f.
func TestComparing(t *testing.T) {
	record := func(key, value string) Record { return Record{Key: []byte(key), Value: []byte(value)} }
	b, d, f := record("b", "1"), record("d", "2"), record("f", "3")
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, written(t, b, d, f), 0o600))
	other := func(r Record, typ uint32, value string) Record { return Record{r.Key, typ, []byte(value), 0} }
	for _, c := range []struct {
		name string
		have []Record
		// whole and part are what is wrong, if all must be there, and if not.
		whole, part string
	}{
		{"the same", []Record{b, d, f}, "", ""},
		{"nothing", nil, `"b" is missing`, ""},
		{"without the first", []Record{d, f}, `"b" is missing`, ""},
		{"without one between", []Record{b, f}, `"d" is missing`, ""},
		{"without the last", []Record{b, d}, `"f" is missing`, ""},
		{"one before", []Record{record("a", ""), b, d, f}, `"a" is not in the backup`, `"a" is not in the backup`},
		{"one between", []Record{b, record("c", ""), d, f}, `"c" is not in the backup`, `"c" is not in the backup`},
		{"one behind", []Record{b, d, f, record("g", "")}, `"g" is not in the backup`, `"g" is not in the backup`},
		{"only one behind", []Record{record("g", "")}, `"b" is missing`, `"g" is not in the backup`},
		{"another value", []Record{b, other(d, 0, "x"), f}, `"d" differs from the backup`, `"d" differs from the backup`},
		{"another type", []Record{b, d, other(f, 1, "3")}, `"f" differs from the backup`, `"f" differs from the backup`},
	} {
		for incomplete, want := range map[bool]string{false: c.whole, true: c.part} {
			x := &restoring{path: path, o: RestoreOptions{Progress: func(string, uint64, uint64) {}}}
			err := x.compareWith(inOrder(c.have, nil), incomplete, 100)
			if want == "" {
				require.NoError(t, err, c.name)
			} else {
				require.ErrorContains(t, err, want, "%s, incomplete: %t", c.name, incomplete)
			}
			for n := range c.have {
				err := x.compareWith(inOrder(c.have[:n], errors.New("broken")), true, 100)
				require.Error(t, err, "%s, broken off after %d", c.name, n)
			}
		}
	}
}

// TestWhatHasExpiredNeedNotBeThere, but if it is, then with its deadline.
func TestWhatHasExpiredNeedNotBeThere(t *testing.T) {
	a, b := Record{Key: []byte("a"), Expires: 100}, Record{Key: []byte("b"), Expires: 101}
	x := &restoring{path: filepath.Join(t.TempDir(), "file"), o: RestoreOptions{Progress: func(string, uint64, uint64) {}}}
	require.NoError(t, os.WriteFile(x.path, written(t, a, b), 0o600))
	compare := func(expired int64, have ...Record) error { return x.compareWith(inOrder(have, nil), false, expired) }
	require.NoError(t, compare(100, a, b))
	require.NoError(t, compare(100, b))
	require.NoError(t, compare(101))
	require.ErrorContains(t, compare(99, b), `"a" is missing`)
	require.ErrorContains(t, compare(100, a), `"b" is missing`)
	b.Expires = 0
	require.ErrorContains(t, compare(100, a, b), `"b" differs from the backup`)
}

// inOrder yields records, and then a failure if there is one.
func inOrder(rs []Record, failure error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range rs {
			if !yield(r, nil) {
				return
			}
		}
		if failure != nil {
			yield(Record{}, failure)
		}
	}
}
