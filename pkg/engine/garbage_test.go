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

// stored is a generated version.
type stored struct {
	engine.Version
	tombstone bool
}

// visibleVersions returns what a read at a CSN needs: the newest version at or below it and those that it
// changes; nothing if it is a tombstone.
func visibleVersions(versions []stored, at kv.CSN) (out []kv.CSN) {
	for _, v := range versions { // newest first
		if v.CSN > at {
			continue
		}
		if v.tombstone {
			return nil
		}
		out = append(out, v.CSN)
		if !v.Delta {
			return out
		}
	}
	return out
}

func withoutGarbage(versions []stored, g entry.Garbage) []stored {
	return slices.DeleteFunc(slices.Clone(versions), func(v stored) bool {
		return v.CSN < g.Below ||
			slices.Contains(g.Versions, v.CSN)
	})
}

// drawVersions generates the history of a key, newest first. Deltas follow values only.
func drawVersions(t *rapid.T) (versions []stored) {
	for i := kv.CSN(1); i <= 12; i++ {
		if !rapid.Bool().Draw(t, "version") {
			continue
		}
		v := stored{Version: engine.Version{CSN: i}}
		if len(versions) > 0 && !versions[len(versions)-1].tombstone {
			v.Delta = rapid.Bool().Draw(t, "delta")
		}
		v.tombstone = !v.Delta && rapid.IntRange(0, 2).Draw(t, "tombstone") == 0
		versions = append(versions, v)
	}
	slices.Reverse(versions)
	return versions
}

func garbage(versions []stored, retained []kv.CSN) (entry.Garbage, bool) {
	list := make([]engine.Version, len(versions))
	for i, v := range versions {
		list[i] = v.Version
	}
	return engine.Garbage([]byte("k"), list, !versions[0].tombstone, retained)
}

// Garbage is not visible at a retained CSN nor from the visible version on. Each remaining version is visible
// to a reader, or hides another.
func TestGarbageIsNotVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := drawVersions(t)
		if len(versions) == 0 {
			return
		}
		var retained []kv.CSN
		for i := kv.CSN(0); i < 12; i++ {
			if rapid.IntRange(0, 3).Draw(t, "retained") == 0 {
				retained = append(retained, i)
			}
		}
		left := versions
		if g, ok := garbage(versions, retained); ok {
			left = withoutGarbage(versions, g)
		}
		visible := versions[0].CSN
		reads := append(slices.Clone(retained), visible, 100)
		needed := map[kv.CSN]bool{}
		for _, at := range reads {
			require.Equal(t, visibleVersions(versions, at), visibleVersions(left, at), "at %d: %v became %v, retained %v", at,
				versions, left, retained)
			for _, i := range visibleVersions(versions, at) {
				needed[i] = true
			}
		}
		if len(left) > 0 {
			again, more := garbage(left, retained)
			require.False(t, more, "%v left %v, and then %v more", versions, left, again)
		}
		for _, v := range left {
			require.True(t, v.tombstone || needed[v.CSN], "%d is not visible in %v, retained %v", v.CSN, left, retained)
		}
	})
}

func TestGarbageOfIncompleteChain(t *testing.T) {
	_, ok := engine.Garbage([]byte("k"), []engine.Version{{CSN: 5, Delta: true}, {CSN: 3, Delta: true}}, true, nil)
	require.False(t, ok, "all versions of a damaged chain are kept, for repair")
}
