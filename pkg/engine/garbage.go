package engine

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Version is one version of a key, as ReadGarbage sees it.
type Version struct {
	Index kv.Index
	// Delta: it changes the one before it, so that who sees it needs that too.
	Delta bool
}

// Garbage tells which versions of a key can go, given those from the visible
// one down, newest first, whether that is a value, and the indexes, in order,
// at which somebody reads below. ok: there are any.
//
// What is visible is the newest version down to the first that is whole. Of the
// others each is seen from its own index up to that of the next whole one: by
// who sees it, or a delta that changes it. A tombstone hides what is below it,
// and can go only when nothing is left there.
func Garbage(key []byte, versions []Version, live bool, kept []kv.Index) (g entry.Garbage, ok bool) {
	g.Key = key
	base := slices.IndexFunc(versions, func(v Version) bool { return !v.Delta })
	if base < 0 {
		return g, false // what it changes is missing: nothing is known of it
	}
	whole, left := versions[base].Index, 0
	for _, v := range versions[base+1:] {
		if at, _ := slices.BinarySearch(kept, v.Index); at < len(kept) && kept[at] < whole {
			left++
		} else {
			g.Versions = append(g.Versions, v.Index)
		}
		if !v.Delta {
			whole = v.Index
		}
	}
	if left == 0 { // all of them, by one entry
		g.Versions = nil
		g.Below = versions[base].Index
		if !live {
			g.Below++
		}
		return g, !live || len(versions) > base+1
	}
	return g, len(g.Versions) > 0
}
