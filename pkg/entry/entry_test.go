package entry

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

var (
	txn     = kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 2}, Attempt: 3}
	version = kv.Version{Moves: 1, Shard: 2, Write: 3}
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestValuesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Value{
			Type: Type(rapid.Uint8().Draw(t, "type")),
			Version: kv.Version{Moves: rapid.Uint32().Draw(t, "moves"), Shard: kv.ShardID(rapid.Uint16().Draw(t, "shard")),
				Write: rapid.Uint64().Draw(t, "write")},
			Payload: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "payload"),
		}
		if v.Exists() {
			v.Expires = rapid.Int64Min(0).Draw(t, "expires")
		}
		b := v.Encode()
		back, err := DecodeValue(b)
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Equal(t, v.Type == TypeDeleted, IsTombstone(b))
		require.Equal(t, v.Type != TypeDeleted && v.Type != TypeMoved && v.Version != kv.Version{}, v.Exists())
	})
}

// Stores contain these bytes.
func TestGoldenValues(t *testing.T) {
	for _, test := range []struct {
		value Value
		want  string
	}{
		{Value{Type: 0, Version: version, Payload: []byte("hi")}, "0100" + "0000000100020000000000000003" + "6869"},
		{Value{Type: 1, Version: version, Payload: []byte{0, 0, 0, 0, 0, 0, 0, 7}}, "0101" +
			"0000000100020000000000000003" + "0000000000000007"},
		{Value{Type: 0, Version: version, Payload: []byte("hi"), Expires: 258}, "8100" + "0000000100020000000000000003" +
			"0000000000000102" + "6869"},
		{Value{Type: TypeDeleted, Version: version}, "01ff" + "0000000100020000000000000003"},
	} {
		require.Equal(t, test.want, hex.EncodeToString(test.value.Encode()))
		back, err := DecodeValue(unhex(t, test.want))
		require.NoError(t, err)
		require.Equal(t, string(test.value.Payload), string(back.Payload))
		require.Equal(t, test.value.Expires, back.Expires)
	}
}

func TestDeadlineKeysRoundTripInOrderOfTime(t *testing.T) {
	row := DeadlineKey(258, []byte("k\x00"))
	require.Equal(t, "0000000000000102"+"6b00", hex.EncodeToString(row))
	expires, user, ok := SplitDeadlineKey(row)
	require.True(t, ok)
	require.EqualValues(t, 258, expires)
	require.Equal(t, "k\x00", string(user))
	require.Negative(t, bytes.Compare(DeadlineKey(255, []byte("z")), DeadlineKey(256, []byte("a"))))
	for _, bad := range [][]byte{nil, row[:8], DeadlineKey(0, []byte("k")), DeadlineKey(-1, []byte("k"))} {
		_, _, ok := SplitDeadlineKey(bad)
		require.False(t, ok, "%x", bad)
	}
}

func TestDamagedValuesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ bytes, says string }{
		"nothing":       {"", "0 bytes is too short"},
		"half a header": {"0100000000", "5 bytes is too short"},
		"half a deadline": {"8100" + "0000000100020000000000000003" + "00000000",
			"too short to contain its expiry time"},
		"a deadline of 0": {"8100" + "0000000100020000000000000003" + "0000000000000000",
			"has the invalid expiry time 0"},
		"a tombstone's deadline": {"81ff" + "0000000100020000000000000003" + "0000000000000001", ""},
		"a later format":         {"0500" + "0000000100020000000000000003", "unknown format 5"},
	} {
		_, err := DecodeValue(unhex(t, test.bytes))
		require.ErrorContains(t, err, test.says, name)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
	}
	require.False(t, IsTombstone(nil) || IsTombstone([]byte{1}))
	require.False(t, Value{}.Exists(), "the zero value")
}

// row is a generated message.
type row interface {
	proto.Message
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// A store written by this version must be readable by every later one, with the same meaning.
func TestGoldenRows(t *testing.T) {
	ref := "0000000000000001000000000000000200000003"
	ver := "0000000100020000000000000003"
	zero := "0000000000000000000000000000"
	commit := kv.CommitID{Gateway: 1, Incarnation: 3, Number: 2}
	for _, test := range []struct {
		row, empty row
		want       string
	}{
		{&Prepared{
			Txn: txn, CommitID: commit, Fingerprint: 5, Last: 2, LastIncarnation: 3,
			Effects: []Effect{
				{Key: []byte("k"), Kind: EffectPut, Value: []byte("v"), Version: version},
				{Key: []byte("n"), Kind: EffectAdd, Type: 1, Delta: -5},
			},
			Locks:   []HeldLock{{Start: []byte("a"), End: []byte("b"), IsRange: true, Mode: 1}},
			Results: []msg.Result{{Seq: 4, Found: true}},
		}, &Prepared{}, "0a14" + ref + "1802" + "2003" +
			"2a16" + "0a016b" + "220176" + "320e" + ver +
			"2a19" + "0a016e" + "1002" + "1801" + "2809" + "320e" + zero +
			"320a" + "0a0161" + "120162" + "1801" + "2001" +
			"3a14" + "0804" + "1001" + "2a0e" + zero + "5203010302" + "59" + "0500000000000000"},
		{&Record{Txn: txn, CommitID: commit, Participants: []kv.ShardID{2, 3}}, &Record{}, "0a14" + ref + "1a020203" +
			"3203010302"},
		{&Outcome{Committed: 2, Applied: 1, ResultsLost: true, Fingerprint: 5}, &Outcome{}, "080210012001" + "29" +
			"0500000000000000"},
		{&State{Incarnation: 1, CSN: 2, Writes: 3, LowWatermark: 4}, &State{}, "0801100218032004"},
		{&Replica{Position: 1, Term: 2, CSN: 3, Window: 4, Conf: []byte{5}}, &Replica{}, "08011002180320042a0105"},
		{&Retention{SafePoint: 300, Retained: []kv.CSN{1, 200}}, &Retention{}, "08ac02120301c801"},
	} {
		b, err := test.row.Marshal()
		require.NoError(t, err)
		require.Equal(t, test.want, hex.EncodeToString(b), "%T", test.row)
		require.NoError(t, test.empty.Unmarshal(unhex(t, test.want)))
		require.Equal(t, test.row, test.empty)
	}
}

// The numbers are part of stored keys and rows.
func TestStoredNumbersNeverChange(t *testing.T) {
	for i, name := range []string{"unknown", "version", "prepared", "record", "outcome", "state", "fence", "snapshot",
		"moved", "hot-rule", "page", "deadline", "replica", "log",
		"log-state", "retention", "unknown"} {
		require.Equal(t, name, Table(i).String())
	}
	require.Equal(t, "set delete delete-below", Set.String()+" "+Delete.String()+" "+DeleteBelow.String())
	require.Equal(t, []EffectKind{0, 1, 2}, []EffectKind{EffectPut, EffectDelete, EffectAdd})
	require.EqualValues(t, 255, TypeDeleted)
}

func FuzzValue(f *testing.F) {
	f.Add(Value{Version: version, Payload: []byte("v")}.Encode())
	f.Add(Value{Type: TypeDeleted, Version: version}.Encode())
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeValue(b)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.Equal(t, b, v.Encode())
		require.Equal(t, v.Type == TypeDeleted, IsTombstone(b))
	})
}

// FuzzRows: damaged rows are rejected or decoded, without a panic.
func FuzzRows(f *testing.F) {
	for _, r := range []row{
		&Prepared{Txn: txn, Effects: []Effect{{Key: []byte("k"), Version: version}},
			Locks: []HeldLock{{Start: []byte("a")}}, Results: []msg.Result{{Found: true}}},
		&Record{Txn: txn, Participants: []kv.ShardID{1, 2}}, &Outcome{Committed: 1, Results: []msg.Result{{}}},
		&State{CSN: 5, LowWatermark: -1},
	} {
		b, err := r.Marshal()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, pair := range [][2]row{{&Prepared{}, &Prepared{}}, {&Record{}, &Record{}}, {&Outcome{}, &Outcome{}},
			{&State{}, &State{}}} {
			if pair[0].Unmarshal(b) != nil {
				continue
			}
			again, err := pair[0].Marshal()
			require.NoError(t, err)
			require.NoError(t, pair[1].Unmarshal(again))
			require.Equal(t, pair[0].String(), pair[1].String())
		}
	})
}
