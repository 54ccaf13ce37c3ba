package adt_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestTopKMatchesReferenceModel: the reference model keeps all members and sorts them when read.
func TestTopKMatchesReferenceModel(t *testing.T) {
	full, lower, pass := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		k := &keyState{made: adt.Lookup(adt.TopK)}
		best := map[string]float64{}
		members := rapid.SampledFrom([]int{3, 90, 250}).Draw(t, "members")
		for range drawInt(t, "steps", 0, 2*members) {
			name := fmt.Sprintf("m%03d", drawInt(t, "member", 1, members))
			score := float64(drawInt(t, "score", -3, 60)) / 4
			_, failed, lock := k.call(t, "add", adt.Float(score), adt.Bytes([]byte(name)))
			require.Equal(t, kv.KindOK, failed)
			if old, ok := best[name]; !ok || old < score {
				best[name] = score
			}
			switch lock {
			case "lower":
				lower++
			case "pass":
				pass++
			}
		}
		k.restore()
		names := slices.SortedFunc(maps.Keys(best), func(a, b string) int {
			return cmp.Or(cmp.Compare(best[b], best[a]), strings.Compare(a, b))
		})
		n := drawInt(t, "n", 1, 120)
		if len(names) > adt.TopKeeps {
			full++
		}
		names = names[:min(len(names), adt.TopKeeps)]
		var want []msg.Datum
		for _, name := range names {
			want = append(want, adt.Bytes([]byte(name)), adt.Float(best[name]))
		}
		got, _, _ := k.call(t, "top", adt.Int(int64(n)))
		require.Equal(t, want[:min(2*n, len(want))], got)
		first, _, _ := k.call(t, "max")
		require.Equal(t, want[:min(2, len(want))], first)
	})
	if !testing.Short() { // a short run draws a fifth as much, which may be too little for that
		require.NotZero(t, min(full, lower, pass), "all cases were met: %d %d %d", full, lower, pass)
	}
}

// TestTopKIsOrderIndependent: all orders of additions have the same result, whichever members are
// displaced meanwhile.
func TestTopKIsOrderIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := make([][]msg.Datum, 150)
		for i := range calls {
			calls[i] = []msg.Datum{adt.Float(float64(drawInt(t, "score", 0, 40))),
				adt.Bytes(fmt.Appendf(nil, "%d", drawInt(t, "member", 1, 140)))}
		}
		var forms []string
		for range 2 {
			k := &keyState{made: adt.Lookup(adt.TopK)}
			for _, c := range rapid.Permutation(calls).Draw(t, "order") {
				k.call(t, "add", c...)
			}
			forms = append(forms, string(adt.Payload(&k.value)))
		}
		require.Equal(t, forms[0], forms[1])
	})
}

func TestTopKRejectsInvalidCalls(t *testing.T) {
	k := &keyState{made: adt.Lookup(adt.TopK)}
	_, failed, _ := k.call(t, "add", adt.Float(1), adt.Bytes(make([]byte, adt.TopMemberBytes+1)))
	require.Equal(t, kv.KindInvalid, failed)
	_, failed, _ = k.call(t, "top", adt.Int(0))
	require.Equal(t, kv.KindInvalid, failed)
	require.Less(t, adt.TopKeeps*(adt.TopMemberBytes+16), kv.MaxStateBytes, "the largest top-k fits into a value")
}
