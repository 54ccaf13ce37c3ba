package adt

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// modes are the generic modes.
var modes = []Mode{ModeNone, ModeRead, ModeAdd, ModeWrite}

func TestModeCompatibilityTable(t *testing.T) {
	require.Len(t, modes, int(numModes))
	for _, a := range modes {
		require.True(t, Compatible(a, ModeNone))
		require.Equal(t, a != ModeNone, a.Valid())
		for _, b := range modes {
			require.Equal(t, Compatible(a, b), Compatible(b, a), "%v and %v", a, b)
			require.Equal(t, join(t, a, b), join(t, b, a), "%v and %v", a, b)
			require.True(t, Covers(join(t, a, b), a) && Covers(join(t, a, b), b))
			for _, c := range modes {
				require.Equal(t, join(t, join(t, a, b), c), join(t, a, join(t, b, c)))
				if Covers(a, b) && Compatible(a, c) {
					require.True(t, Compatible(b, c), "%v covers %v, so it excludes at least as much", a, b)
				}
			}
		}
	}
	require.False(t, Mode(numModes).Valid())
	require.Equal(t, "none read add write Mode(9)",
		ModeNone.String()+" "+ModeRead.String()+" "+ModeAdd.String()+" "+ModeWrite.String()+" "+Mode(9).String())
}

func join(t *testing.T, a, b Mode) Mode {
	mode, ok := Join(a, b)
	require.True(t, ok)
	return mode
}

func TestOperationModes(t *testing.T) {
	for _, test := range []struct {
		name string
		op   msg.Op
		want Mode
	}{
		{"a get reads", msg.Op{Kind: msg.OpGet}, ModeRead},
		{"a get for update writes", msg.Op{Kind: msg.OpGet, ForUpdate: true}, ModeWrite},
		{"a scan reads its range", msg.Op{Kind: msg.OpScan}, ModeRead},
		{"a scan for update writes it", msg.Op{Kind: msg.OpScan, ForUpdate: true}, ModeWrite},
		{"a requirement reads", msg.Op{Kind: msg.OpRequire, Expect: msg.ExpectExists}, ModeRead},
		{"a blind increment adds", msg.Op{Kind: msg.OpAdd, Delta: 1}, ModeAdd},
		{"an increment that returns the sum writes", msg.Op{Kind: msg.OpAddGet, Delta: 1}, ModeWrite},
		{"a put writes", msg.Op{Kind: msg.OpPut}, ModeWrite},
		{"a put if absent writes", msg.Op{Kind: msg.OpPut, Expect: msg.ExpectAbsent}, ModeWrite},
		{"a delete writes", msg.Op{Kind: msg.OpDelete}, ModeWrite},
		{"a delete-range writes its range", msg.Op{Kind: msg.OpDeleteRange}, ModeWrite},
	} {
		require.Equal(t, test.want, ModeOf(&test.op), test.name)
	}
	for kind := range msg.OpKind_name {
		op := msg.Op{Kind: msg.OpKind(kind)}
		require.True(t, ModeOf(&op).Valid(), "%v", op.Kind)
		require.True(t, !op.Writes() || ModeOf(&op) != ModeRead, "%v writes under a read lock", op.Kind)
	}
}

func TestSumMatchesBigIntegers(t *testing.T) {
	edges := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1,
		math.MaxInt64 / 2, math.MinInt64 / 2})
	number := rapid.OneOf(edges, rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		sum, ok := Sum(a, b)
		require.Equal(t, want.IsInt64(), ok, "%d + %d", a, b)
		if ok {
			require.Equal(t, want.Int64(), sum)
		}
	})
}

func TestCounterEncodingRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		back, err := DecodeCounter(EncodeCounter(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
	})
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, EncodeCounter(-2),
		"stored: must never change")
	for _, bad := range [][]byte{nil, make([]byte, 7), make([]byte, 9)} {
		_, err := DecodeCounter(bad)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
	}
}

func TestTypeNames(t *testing.T) {
	require.Equal(t, []entry.Type{0, 1}, []entry.Type{Value, Counter}, "stored: must never change")
	require.Equal(t, "value counter deleted type 99",
		TypeName(Value)+" "+TypeName(Counter)+" "+TypeName(entry.TypeDeleted)+" "+TypeName(99))
}
