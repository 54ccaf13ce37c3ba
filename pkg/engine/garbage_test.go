package engine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// seen is the newest version at or below an index that is left, 0 if there is
// none or if it is a tombstone.
func seen(versions []kv.Index, dead map[kv.Index]bool, at kv.Index) kv.Index {
	for _, v := range versions { // newest first
		if v <= at {
			if dead[v] {
				return 0
			}
			return v
		}
	}
	return 0
}

func remove(versions []kv.Index, g entry.Garbage) []kv.Index {
	return slices.DeleteFunc(slices.Clone(versions), func(v kv.Index) bool { return v < g.Below || slices.Contains(g.Versions, v) })
}

// TestGarbageChangesNothingThatIsRead: neither at a kept index nor from the
// visible version on; and what is left is seen by somebody, or hides something.
func TestGarbageChangesNothingThatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var versions, kept []kv.Index
		dead := map[kv.Index]bool{}
		for i := kv.Index(12); i > 0; i-- {
			if rapid.Bool().Draw(t, "version") {
				versions = append(versions, i)
				dead[i] = rapid.IntRange(0, 2).Draw(t, "tombstone") == 0
			}
		}
		if len(versions) == 0 {
			return
		}
		for i := kv.Index(0); i < 12; i++ {
			if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
				kept = append(kept, i)
			}
		}
		g, ok := engine.Garbage([]byte("k"), versions, !dead[versions[0]], kept)
		left := versions
		if ok {
			left = remove(versions, g)
		}
		for _, at := range append(slices.Clone(kept), versions[0], 100) {
			if at >= versions[0] || slices.Contains(kept, at) {
				require.Equal(t, seen(versions, dead, at), seen(left, dead, at), "at %d: %v became %v, kept %v", at, versions, left, kept)
			}
		}
		if len(left) > 0 {
			again, more := engine.Garbage([]byte("k"), left, !dead[left[0]], kept)
			require.False(t, more, "%v left %v, and then %v more", versions, left, again)
		}
		for i := 1; i < len(left); i++ {
			require.True(t, slices.ContainsFunc(kept, func(k kv.Index) bool { return k >= left[i] && k < left[i-1] }), "nobody sees %d of %v, kept %v", left[i], left, kept)
		}
	})
}
