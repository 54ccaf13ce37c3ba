package kv

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawRef(t *rapid.T) TxnRef {
	return TxnRef{
		TxnID:   TxnID{Time: rapid.Int64Min(0).Draw(t, "time"), Rand: rapid.Uint64().Draw(t, "rand")},
		Attempt: rapid.Uint32().Draw(t, "attempt"),
	}
}

// sign makes comparisons comparable.
func sign(n int) int { return max(-1, min(1, n)) }

func TestStoredIDsSortByAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRef(t), drawRef(t)
		if rapid.Bool().Draw(t, "same time") {
			b.Time = a.Time
		}
		ab, err := a.TxnID.Marshal()
		require.NoError(t, err)
		bb, err := b.TxnID.Marshal()
		require.NoError(t, err)
		require.Equal(t, bytes.Compare(ab, bb), sign(a.TxnID.Compare(b.TxnID)), "low watermarks are compared as encoded ids")
		require.Equal(t, a.TxnID.Compare(b.TxnID) < 0, a.TxnID.String() < b.TxnID.String())
	})
}

func TestAgeIsATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ages := make([]Age, 3)
		begun := []int64{0, rapid.Int64Range(0, 4).Draw(t, "begun"), 0, 0}
		for i := range ages {
			id := TxnID{Time: int64(rapid.IntRange(1, 3).Draw(t, "time"))}
			ages[i] = AgeOf(TxnRef{TxnID: id, Attempt: uint32(rapid.IntRange(1, 3).Draw(t, "attempt"))}, begun[id.Time])
		}
		a, b, c := ages[0], ages[1], ages[2]
		require.Equal(t, a.Compare(b), -b.Compare(a))
		require.Equal(t, a == b, a.Compare(b) == 0)
		require.False(t, a.Older(b) && b.Older(c) && !a.Older(c))
		switch {
		case a.TxnID == b.TxnID:
			require.Equal(t, a.Attempt > b.Attempt, a.Older(b), "the later attempt is first")
		case a.Begun != b.Begun:
			require.Equal(t, a.Begun < b.Begun, a.Older(b), "the begin time is compared before the id")
		}
	})
}

func TestVersionsAndEpochsAreOrdered(t *testing.T) {
	for _, pair := range [][2]Version{
		{{}, {Write: 1}},
		{{Shard: 9, Write: 1}, {Shard: 1, Write: 2}},
		{{Write: 99}, {Moves: 1, Write: 1}},
	} {
		require.Negative(t, pair[0].Compare(pair[1]), "%v and %v", pair[0], pair[1])
		require.Positive(t, pair[1].Compare(pair[0]))
		require.Zero(t, pair[0].Compare(pair[0]))
	}
	for _, pair := range [][2]Epoch{{{}, {1, 1}}, {{1, 7}, {1, 8}}, {{1, 99}, {2, 1}}} {
		require.True(t, pair[0].Less(pair[1]), "%v and %v", pair[0], pair[1])
		require.False(t, pair[1].Less(pair[0]))
		require.False(t, pair[0].Less(pair[0]))
	}
}

// TestEncodingsAreStable: these are in stores and on the wire, and never change.
func TestEncodingsAreStable(t *testing.T) {
	for _, test := range []struct {
		value interface{ Marshal() ([]byte, error) }
		want  string
	}{
		{TxnID{Time: 1, Rand: 2}, "00000000000000010000000000000002"},
		{TxnID{Time: 1_700_000_000_123_456_789, Rand: 0xdeadbeefcafef00d}, "17979cfe3d85cd15deadbeefcafef00d"},
		{TxnRef{TxnID: TxnID{Time: 1, Rand: 2}, Attempt: 3}, "0000000000000001000000000000000200000003"},
		{Version{Moves: 1, Shard: 2, Write: 3}, "0000000100020000000000000003"},
		{Epoch{Incarnation: 1, Count: 2}, "00000000000000010000000000000002"},
	} {
		b, err := test.value.Marshal()
		require.NoError(t, err)
		require.Equal(t, test.want, hex.EncodeToString(b))
	}
}

// wire is the interface of a gogoproto custom type.
type wire interface {
	Size() int
	Marshal() ([]byte, error)
	MarshalTo([]byte) (int, error)
	Unmarshal([]byte) error
}

// readBack marshals v both ways and unmarshals it into empty.
func readBack(t require.TestingT, v, empty wire) {
	b, err := v.Marshal()
	require.NoError(t, err)
	require.Len(t, b, v.Size())
	to := make([]byte, v.Size()+3)
	n, err := v.MarshalTo(to)
	require.NoError(t, err)
	require.Equal(t, b, to[:n])
	require.NoError(t, empty.Unmarshal(b))
	require.Equal(t, v, empty)
	require.Error(t, empty.Unmarshal(append(b, 0)))
	require.Error(t, empty.Unmarshal(b[1:]))
}

func TestWireRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRef(t)
		v := Version{Moves: r.Attempt, Shard: ShardID(r.Rand), Write: uint64(r.Time)}
		e := Epoch{Incarnation: Incarnation(r.Rand), Count: uint64(r.Time)}
		readBack(t, &r.TxnID, &TxnID{})
		readBack(t, &r, &TxnRef{})
		readBack(t, &v, &Version{})
		readBack(t, &e, &Epoch{})
	})
}

func TestCommitIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRef(t)
		id := CommitID{Gateway: NodeID(r.Time), Incarnation: r.Attempt, Number: r.Rand}
		b, err := id.Marshal()
		require.NoError(t, err)
		require.Len(t, b, id.Size())
		var back CommitID
		require.NoError(t, back.Unmarshal(b))
		require.Equal(t, id, back)
		require.Error(t, back.Unmarshal(append(b, 0)))
		require.Error(t, back.Unmarshal(b[:len(b)-1]))
		require.Equal(t, CommitID{}, back)
	})
	var c CommitID
	require.NoError(t, c.Unmarshal(nil))
	require.Error(t, c.Unmarshal([]byte{0x80, 0, 1, 1}), "each id has one encoding")
	require.Equal(t, "n1.2.300", CommitID{Gateway: 1, Incarnation: 2, Number: 300}.String())
}

func TestEmptyFieldIsTheZeroValue(t *testing.T) {
	id, r, v, e := TxnID{1, 2}, TxnRef{TxnID{1, 2}, 3}, Version{1, 2, 3}, Epoch{1, 2}
	for _, w := range []wire{&id, &r, &v, &e} {
		require.NoError(t, w.Unmarshal(nil))
	}
	require.True(t, id.IsZero() && r == TxnRef{} && v.IsZero() && e.IsZero())
}

func TestTextForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRef(t)
		id, err := ParseTxnID(" " + r.TxnID.String() + "\n")
		require.NoError(t, err)
		require.Equal(t, r.TxnID, id)
		text, err := r.TxnID.MarshalText() // nothing if it is zero
		require.NoError(t, err)
		require.NoError(t, id.UnmarshalText(text))
		require.Equal(t, r.TxnID, id)
		v := Version{Moves: r.Attempt, Shard: ShardID(r.Rand), Write: uint64(r.Time)}
		back, err := ParseVersion(v.String())
		require.NoError(t, err)
		require.Equal(t, v, back)
	})
	for _, bad := range []string{"", "12", "zz000000000000010000000000000002", "000000000000000100000000000000020"} {
		_, err := ParseTxnID(bad)
		require.ErrorContains(t, err, "32 hexadecimal digits", bad)
	}
	for _, bad := range []string{"", "1.2", "1.2.3.4", "1.70000.3", "5000000000.1.1", "-1.2.3", "a.b.c", "1..3"} {
		_, err := ParseVersion(bad)
		require.ErrorContains(t, err, "MOVES.SHARD.WRITE", bad)
	}
	require.Equal(t, "s3 n2 1.7 0.3.1742", ShardID(3).String()+" "+NodeID(2).String()+" "+Epoch{1,
		7}.String()+" "+Version{0, 3, 1742}.String())
	require.Equal(t, "00000000000000010000000000000002/3", TxnRef{TxnID{1, 2}, 3}.String())
}

// FuzzIdentities: any bytes are rejected, or are the only encoding of a value.
func FuzzIdentities(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, versionSize))
	f.Add(bytes.Repeat([]byte{0xff}, txnIDSize))
	f.Add(bytes.Repeat([]byte{7}, txnRefSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, w := range []wire{&TxnID{}, &TxnRef{}, &Version{}, &Epoch{}, &CommitID{}} {
			if w.Unmarshal(b) != nil || len(b) == 0 {
				continue
			}
			again, err := w.Marshal()
			require.NoError(t, err)
			require.Equal(t, b, again)
		}
		if id, err := ParseTxnID(string(b)); err == nil {
			back, err := ParseTxnID(id.String())
			require.NoError(t, err)
			require.Equal(t, id, back)
		}
		if v, err := ParseVersion(string(b)); err == nil {
			back, err := ParseVersion(v.String())
			require.NoError(t, err)
			require.Equal(t, v, back)
		}
	})
}
