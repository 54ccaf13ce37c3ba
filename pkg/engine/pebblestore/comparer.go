package pebblestore

import (
	"bytes"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// The names below are stored with the data. A change of what they stand for
// takes a new name and a new format of the store.
const (
	comparerName    = "linchpin.v1"
	csnPropertyName = "linchpin.index.v1"
)

// comparer teaches pebble the order of enginekey. Its Split lets bloom
// filters and prefix seeks work on all versions of a key together.
var comparer = func() *pebble.Comparer {
	c := &pebble.Comparer{
		Name:                 comparerName,
		Compare:              enginekey.Compare,
		Equal:                bytes.Equal,
		Split:                enginekey.Split,
		ComparePointSuffixes: bytes.Compare,
		CompareRangeSuffixes: bytes.Compare,
		AbbreviatedKey: func(k []byte) uint64 {
			return pebble.DefaultComparer.AbbreviatedKey(k[:enginekey.Split(k)])
		},
		Separator:          separator,
		Successor:          successor,
		ImmediateSuccessor: func(dst, prefix []byte) []byte { return append(append(dst, prefix...), 0) },
		FormatKey:          formatKey,
	}
	return c.EnsureDefaults()
}()

// separator shortens the keys of index blocks: a key not below a and below b.
// Only prefixes can be shortened, and the result must end in a zero byte, as
// else its last byte could be taken for the length of a suffix.
func separator(dst, a, b []byte) []byte {
	ap, bp := a[:enginekey.Split(a)], b[:enginekey.Split(b)]
	if len(ap) == 0 || len(bp) == 0 || bytes.Equal(ap, bp) {
		return append(dst, a...)
	}
	n := len(dst)
	dst = pebble.DefaultComparer.Separator(dst, ap, bp)
	if bytes.Equal(dst[n:], ap) {
		return append(dst[:n], a...) // nothing gained; a itself is exact
	}
	return append(dst, 0)
}

// successor is a short key not below a.
func successor(dst, a []byte) []byte {
	ap := a[:enginekey.Split(a)]
	n := len(dst)
	dst = pebble.DefaultComparer.Successor(dst, ap)
	if bytes.Equal(dst[n:], ap) {
		return append(dst[:n], a...)
	}
	return append(dst, 0)
}

// formatKey shows a key in pebble's own messages.
func formatKey(b []byte) fmt.Formatter { return formatted(b) }

type formatted []byte

func (f formatted) Format(s fmt.State, _ rune) {
	k, err := enginekey.Decode(f, nil)
	if err != nil {
		fmt.Fprintf(s, "%x", []byte(f))
		return
	}
	fmt.Fprintf(s, "%v/%v/%q", k.Shard, k.Table, k.User)
	if k.CSN > 0 {
		fmt.Fprintf(s, "@%d", k.CSN)
	}
}

// csnCollector notes for every block the range of CSNs of its versions,
// so that a read at a CSN can pass over blocks that are all newer. It is a
// function of the key alone, as pebble demands: else a deleted version could
// come back because only the block of its deletion was passed over.
func csnCollector() pebble.BlockPropertyCollector {
	return sstable.NewBlockIntervalCollector(csnPropertyName, csnMapper{}, nil)
}

type csnMapper struct{}

// MapPointKey gives the interval that a version's CSN fills, and an empty
// one for other rows.
func (csnMapper) MapPointKey(key pebble.InternalKey, _ []byte) (sstable.BlockInterval, error) {
	i, ok := enginekey.CSN(key.UserKey)
	if !ok {
		return sstable.BlockInterval{}, nil
	}
	// The greatest CSN has no successor to end its interval with. It is not used, and counted as the one
	// before it, a reader of everything still does not skip it.
	lower := min(uint64(i), math.MaxUint64-1)
	return sstable.BlockInterval{Lower: lower, Upper: lower + 1}, nil
}

// MapRangeKeys gives nothing: range keys are not used.
func (csnMapper) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return sstable.BlockInterval{}, nil
}

// csnFilter passes blocks that may hold a version at or below a CSN.
// Only scans of the version table may use it.
func csnFilter(csn kv.CSN) pebble.BlockPropertyFilter {
	upper := uint64(csn)
	if upper < math.MaxUint64 {
		upper++
	}
	return sstable.NewBlockIntervalFilter(csnPropertyName, 0, upper, nil)
}
