package vclock

import (
	"encoding/hex"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// drawClock draws a clock, and the same as a map, its reference model.
func drawClock(t *rapid.T, name string) (*Clock, map[kv.ShardID]kv.CSN) {
	c, model := &Clock{}, map[kv.ShardID]kv.CSN{}
	for range rapid.IntRange(0, 8).Draw(t, name) {
		s := kv.ShardID(rapid.SampledFrom([]uint16{3, 0, 1, 2, 200, 65535}).Draw(t, "shard"))
		i := kv.CSN(rapid.SampledFrom([]uint64{1, 0, 2, 3, 300, 1<<64 - 1}).Draw(t, "csn"))
		c.Raise(s, i)
		if i > model[s] {
			model[s] = i
		}
	}
	return c, model
}

// requireEqual compares a clock with its reference model.
func requireEqual(t *rapid.T, c *Clock, model map[kv.ShardID]kv.CSN) {
	last := -1
	seen := map[kv.ShardID]kv.CSN{}
	for _, e := range c.Entries() {
		require.Greater(t, int(e.Shard), last, "entries are in the order of shards")
		last = int(e.Shard)
		seen[e.Shard] = e.CSN
		require.NotZero(t, e.CSN, "an entry is not 0")
	}
	require.Equal(t, model, seen)
	for s := range model {
		require.Equal(t, model[s], c.At(s))
	}
	require.Zero(t, c.At(4711))
}

func TestClockEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, ta := drawClock(t, "a")
		b, tb := drawClock(t, "b")
		requireEqual(t, a, ta)
		covers := true
		merged := maps.Clone(ta)
		for s, i := range tb {
			covers = covers && ta[s] >= i
			merged[s] = max(merged[s], i)
		}
		require.Equal(t, covers, a.Covers(b))
		before := a.Clone()
		a.Merge(b)
		requireEqual(t, a, merged)
		requireEqual(t, before, ta)
		require.True(t, a.Covers(before) && a.Covers(b))
		require.Equal(t, covers, before.Covers(a), "a merge changes the clock unless it covers the other")
	})
}

func TestEncodingRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, model := drawClock(t, "clock")
		back, err := Decode(c.Encode())
		require.NoError(t, err)
		requireEqual(t, back, model)
		require.Equal(t, c.String(), back.String())
	})
}

// Clients store tokens, so all tokens ever returned must be decoded.
func TestGoldenTokens(t *testing.T) {
	for token, want := range map[string]string{
		"":                         "<>",
		"01":                       "<>",
		"010005":                   "<s0:5>",
		"010005010703ac02":         "<s0:5 s1:7 s4:300>",
		"01ffff0301":               "<s65535:1>",
		"01800101":                 "<s128:1>",
		"0101ffffffffffffffffff01": "<s1:18446744073709551615>",
	} {
		b, err := hex.DecodeString(token)
		require.NoError(t, err)
		c, err := Decode(b)
		require.NoError(t, err, token)
		require.Equal(t, want, c.String(), token)
		if len(b) > 0 {
			require.Equal(t, token, hex.EncodeToString(c.Encode()))
		}
	}
}

func TestInvalidTokensAreRejected(t *testing.T) {
	for name, token := range map[string]string{
		"another format":                  "020005",
		"a shard without a CSN":           "0100",
		"a cut CSN":                       "0100ac",
		"the same shard twice":            "0103050006",
		"a shard beyond two bytes":        "0180800401",
		"shards that add up to more":      "01ffff03010101",
		"a CSN of zero":                   "010000",
		"a number of ten bytes and a bit": "0101ffffffffffffffffff02",
		"a number written too long":       "01808000" + "01",
	} {
		b, err := hex.DecodeString(token)
		require.NoError(t, err)
		_, err = Decode(b)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%s: %v", name, err)
	}
}

// FuzzDecode: bytes are rejected, or are the only encoding of a clock.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "01", "010005010703ac02", "01ffff0301", "02", "0180800401", "010000"} {
		b, err := hex.DecodeString(s)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			require.Equal(t, kv.KindInvalid, kv.KindOf(err))
			return
		}
		if len(b) > 0 {
			require.Equal(t, b, c.Encode())
		}
		for i, e := range c.Entries() {
			require.NotZero(t, e.CSN)
			require.True(t, i == 0 || c.Entries()[i-1].Shard < e.Shard)
		}
	})
}
