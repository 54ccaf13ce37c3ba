package entry

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func encodeDelta(v Value, calls ...msg.Call) []byte {
	b := make([]byte, DeltaSize(&v, calls))
	EncodeDelta(b, &v, calls)
	return b
}

func TestDeltasReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Value{Type: Type(rapid.IntRange(0, 253).Draw(t, "type")), Version: version}
		var calls []msg.Call
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			c := msg.Call{Method: rapid.Uint32().Draw(t, "method")}
			for range rapid.IntRange(0, 3).Draw(t, "arguments") {
				c.Args = append(c.Args, msg.Datum{Kind: msg.DatumBytes, Bytes: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "bytes")})
			}
			calls = append(calls, c)
		}
		b := encodeDelta(v, calls...)
		require.True(t, IsDelta(b))
		require.False(t, IsTombstone(b) || IsMoveTombstone(b))
		back, again, err := DecodeDelta(b)
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Equal(t, calls, again)
		head, delta, err := DecodeHead(b)
		require.NoError(t, err)
		require.True(t, delta)
		require.Equal(t, v, head)
		_, err = DecodeValue(b)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
		require.ErrorContains(t, err, "a change, not a whole value")
	})
}

// Stores contain these bytes.
func TestGoldenDelta(t *testing.T) {
	b := encodeDelta(Value{Type: 2, Version: version}, msg.Call{Method: 1, Args: []msg.Datum{{Kind: msg.DatumBytes,
		Bytes: []byte("hi")}, {Kind: msg.DatumInt, Int: -1}}})
	require.Equal(t, "0202"+"0000000100020000000000000003"+"0a10"+
		"0801"+"1206"+"0801"+"1202"+"6869"+"1204"+"0802"+"1801", hex.EncodeToString(b))
}

func TestDamagedDeltasAreNamed(t *testing.T) {
	head := "0000000100020000000000000003"
	for name, test := range map[string]struct{ bytes, says string }{
		"half a header":        {"0202000000", "5 bytes is too short"},
		"a whole value":        {"0102" + head, "a whole value, not a change"},
		"no calls":             {"0202" + head, "is empty"},
		"a tombstone":          {"02ff" + head + "0a020801", "type 255"},
		"a mark":               {"02fe" + head + "0a020801", "type 254"},
		"no identity":          {"0202" + "0000000000000000000000000000" + "0a020801", "no identity"},
		"calls that end early": {"0202" + head + "0a0508", "cannot be decoded"},
	} {
		_, _, err := DecodeDelta(unhex(t, test.bytes))
		require.ErrorContains(t, err, test.says, name)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), name)
	}
}

// FuzzDelta: damaged rows are rejected or decoded, without a panic.
func FuzzDelta(f *testing.F) {
	f.Add(encodeDelta(Value{Type: 2, Version: version}, msg.Call{Method: 1, Args: []msg.Datum{{Kind: msg.DatumBytes,
		Bytes: []byte("hi")}}}))
	f.Add(Value{Version: version, Payload: []byte("v")}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		v, calls, err := DecodeDelta(b)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.True(t, v.Exists())
		back, again, err := DecodeDelta(encodeDelta(v, calls...))
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Len(t, again, len(calls))
	})
}
