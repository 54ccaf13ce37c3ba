package engine

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Version is one version of a key, as ReadGarbage sees it.
type Version struct {
	CSN kv.CSN
	// Delta: it changes the version before it, so a reader of it needs that too.
	Delta bool
}

// Garbage returns which versions of a key can be deleted. versions are those from the visible one down,
// newest first; live reports whether the visible one is a value; retained are the CSNs below, in order, at
// which snapshots are read. ok: there is garbage.
//
// Visible is the newest version down to the first whole one. Each older version is visible from its own CSN
// up to that of the next whole one: to a reader, or as the base of a delta. Example with retained = {5}:
//
//	CSN   2 value   4 delta   6 delta   8 value (visible)
//	5 sees 2 and 4, so only 6 is garbage
//
// A tombstone hides older versions, and can be deleted only when none is left.
func Garbage(key []byte, versions []Version, live bool, retained []kv.CSN) (g entry.Garbage, ok bool) {
	g.Key = key
	base := slices.IndexFunc(versions, func(v Version) bool { return !v.Delta })
	if base < 0 {
		return g, false // the base of the oldest delta is missing: the chain is damaged
	}
	whole, left := versions[base].CSN, 0
	for _, v := range versions[base+1:] {
		if at, _ := slices.BinarySearch(retained, v.CSN); at < len(retained) && retained[at] < whole {
			left++
		} else {
			g.Versions = append(g.Versions, v.CSN)
		}
		if !v.Delta {
			whole = v.CSN
		}
	}
	if left == 0 { // one entry deletes all
		g.Versions = nil
		g.Below = versions[base].CSN
		if !live {
			g.Below++
		}
		return g, !live || len(versions) > base+1
	}
	return g, len(g.Versions) > 0
}
