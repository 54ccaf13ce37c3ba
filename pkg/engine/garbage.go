package engine

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Garbage tells which versions of a key can go, given those from the visible
// one down, newest first, whether that is a value, and the indexes, in order,
// at which somebody reads below. ok: there are any.
//
// Of two neighbours the older one is seen from its own index up to that of the
// newer one. A tombstone hides what is below it, and can go only when nothing
// is left there.
func Garbage(key []byte, versions []kv.Index, live bool, kept []kv.Index) (g entry.Garbage, ok bool) {
	g.Key = key
	left := 0
	for i := 1; i < len(versions); i++ {
		if at, _ := slices.BinarySearch(kept, versions[i]); at < len(kept) && kept[at] < versions[i-1] {
			left++
			continue
		}
		g.Versions = append(g.Versions, versions[i])
	}
	if left == 0 { // all of them, by one entry
		g.Versions = nil
		if g.Below = versions[0]; !live {
			g.Below++
		}
		return g, !live || len(versions) > 1
	}
	return g, len(g.Versions) > 0
}
