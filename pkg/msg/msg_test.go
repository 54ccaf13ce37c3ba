package msg

import (
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gogo/protobuf/protoc-gen-gogo/descriptor"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// fill sets every field below v to a value other than zero, and pointers to messages with a probability of
// one half.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("text")
	case reflect.Uint8:
		v.SetUint(1 + r.Uint64N(255))
	case reflect.Uint16:
		v.SetUint(1 + r.Uint64N(1<<16-1))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + r.Uint64N(1<<32-1))
	case reflect.Int32: // enums
		v.SetInt(1 + r.Int64N(4))
	case reflect.Int64:
		v.SetInt(r.Int64() - 1<<62)
	case reflect.Float64:
		v.SetFloat(1 + r.Float64())
	default:
		panic(v.Kind())
	}
}

// filledEnvelopes returns an envelope with each kind of message, all fields set.
func filledEnvelopes(r *rand.Rand) (out []*Envelope) {
	for _, row := range Rows() {
		env := &Envelope{From: 1, Gateway: 2, Shard: 3, Trace: &Trace{High: 4, Low: 5, Span: 6}, Forwarded: true,
			Body: row.New()}
		fill(r, reflect.ValueOf(env.Body).Elem())
		out = append(out, env)
	}
	return out
}

func TestMessagesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for _, env := range filledEnvelopes(r) {
			b, err := env.Marshal()
			require.NoError(t, err)
			require.Len(t, b, env.Size(), env.Name())
			var back Envelope
			require.NoError(t, back.Unmarshal(b))
			require.Equal(t, env, &back, env.Name())
		}
	}
}

// The table of kinds and msg.proto have the same messages with the same numbers.
func TestRowsAreTheFieldsOfEnvelope(t *testing.T) {
	_, d := descriptor.ForMessage(&Envelope{})
	declared := map[Kind]string{}
	for _, f := range d.Field {
		if f.GetNumber() > fieldForwarded {
			declared[Kind(f.GetNumber())] = strings.TrimPrefix(f.GetTypeName(), ".linchpin.msg.")
		}
	}
	have := map[Kind]string{}
	for _, r := range Rows() {
		have[r.Kind] = r.Name
		require.NotZero(t, r.To, r.Name)
	}
	require.Equal(t, declared, have)
}

func TestEnvelopesInTraces(t *testing.T) {
	for _, env := range filledEnvelopes(rand.New(rand.NewPCG(1, 2))) {
		require.Contains(t, env.String(), "n1->gn2 "+env.Name()+"{")
	}
	require.Equal(t, "n0->s3 Empty{}", ToShard(3).String())
	require.Equal(t, "n0->gn4 Empty{}", ToGateway(4).String())
	require.Zero(t, ToShard(3).About())
}

// A newer version may add fields. An encoding that is not valid is an error.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	b, err := (&Envelope{Shard: 2, Body: &Release{Txn: kv.TxnRef{Attempt: 3}}}).Marshal()
	require.NoError(t, err)
	var more []byte
	more = protowire.AppendVarint(protowire.AppendTag(more, 9, protowire.VarintType), 300)
	more = protowire.AppendFixed32(protowire.AppendTag(more, 1000, protowire.Fixed32Type), 1)
	more = protowire.AppendBytes(protowire.AppendTag(more, 63, protowire.BytesType), []byte("new"))
	var back Envelope
	require.NoError(t, back.Unmarshal(append(more, b...)))
	require.Equal(t, kv.ShardID(2), back.Shard)
	require.Equal(t, uint32(3), As[Release](&back).Txn.Attempt)
	for name, bad := range map[string][]byte{
		"a number as bytes":   protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil),
		"a message as number": protowire.AppendVarint(protowire.AppendTag(nil, 14, protowire.VarintType), 1),
		"a cut message":       b[:len(b)-1],
		"a cut number":        {0x08, 0xff},
		"an end of a group":   protowire.AppendTag(nil, 900, protowire.EndGroupType),
	} {
		require.Error(t, new(Envelope).Unmarshal(bad), name)
	}
}

// One more word would need the next size of the allocator.
func TestFrequentMessagesFitTheirSizeClass(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Envelope{}), uintptr(32))
	require.LessOrEqual(t, unsafe.Sizeof(CommitRequest{}), uintptr(144))
	require.LessOrEqual(t, unsafe.Sizeof(Prepare{}), uintptr(144))
	require.LessOrEqual(t, unsafe.Sizeof(CommitResponse{}), uintptr(144))
	require.LessOrEqual(t, unsafe.Sizeof(Vote{}), uintptr(240))
	require.LessOrEqual(t, unsafe.Sizeof(Decision{}), uintptr(48))
}

// Messages about the course of a transaction name it, so that it can be traced.
func TestMessagesOfTransactionsNameTheirAttempt(t *testing.T) {
	traced := []string{"Lock", "LockResponse", "Check", "CheckResponse", "Release", "Prepare", "CommitRequest", "Vote",
		"Decision", "DecisionAck", "CommitResponse", "Read", "ReadResponse", "Registered", "ReadPage", "ReadPageResponse"}
	for _, env := range filledEnvelopes(rand.New(rand.NewPCG(1, 2))) {
		ref, ok := env.Attempt()
		require.Equal(t, slices.Contains(traced, env.Name()), ok, env.Name())
		require.Equal(t, ok, !ref.TxnID.IsZero(), env.Name())
	}
}

// Messages that end something are delivered first. A repeated vote is a query, which may not overtake a commit request.
func TestMessagesThatEndSomething(t *testing.T) {
	ends := []string{"LockResponse", "Check", "CheckResponse", "Release", "Vote", "Decision", "CommitResponse",
		"ReadResponse", "Registered", "Deregister", "UnsealResponse"}
	for _, row := range Rows() {
		env := &Envelope{Body: row.New()}
		require.Equal(t, slices.Contains(ends, row.Name), env.Ends(), "is %s delivered first? See Ends", row.Name)
	}
	require.False(t, (&Envelope{Body: &Vote{Yes: true, Repeated: true}}).Ends())
	require.False(t, (&Envelope{}).Ends())
}

// A message has the same meaning in every version that knows it. Fields are only added.
func TestGoldenMessages(t *testing.T) {
	txn := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 2}, Attempt: 3}
	ref := "0000000000000001000000000000000200000003"
	for _, test := range []struct {
		env  *Envelope
		want string
	}{
		{&Envelope{From: 1, Shard: 2, Body: &Release{Txn: txn}}, "080118027216" + "0a14" + ref},
		{&Envelope{Gateway: 5, Body: &Push{Txn: txn, Shard: 3}}, "1005c20118" + "0a14" + ref + "1003"},
		{&Envelope{Shard: 2, Trace: &Trace{High: 1, Low: 2, Span: 3}, Body: &Release{Txn: txn}},
			"1802" + "221b09" + "0100000000000000" +
				"11" + "0200000000000000" + "19" + "0300000000000000" + "7216" + "0a14" + ref},
		{&Envelope{Body: &Decision{Txn: txn, Last: 7, Commit: true,
			CommitID: kv.CommitID{Gateway: 1, Incarnation: 2, Number: 300}}},
			"9a0120" + "0a14" + ref + "1007" + "1801" + "3204" + "0102ac02"},
	} {
		b, err := test.env.Marshal()
		require.NoError(t, err)
		require.Equal(t, test.want, hex.EncodeToString(b), test.env.Name())
	}
}

func TestSpansOfOperationsAndGrants(t *testing.T) {
	get := Op{Kind: OpGet, Key: []byte("a"), End: []byte("z")}
	require.Equal(t, kv.Point([]byte("a")), get.Span(), "a point has no end, whatever the field says")
	for _, kind := range []OpKind{OpScan, OpDeleteRange} {
		op := Op{Kind: kind, Key: []byte("a")}
		require.True(t, op.IsRange())
		require.Equal(t, `["a", end)`, op.Span().String(), "an empty end, nil after decoding, is no bound")
	}
	require.Equal(t, kv.Point([]byte("a")), (&Grant{Start: []byte("a")}).Span())
	require.Equal(t, `["a", end)`, (&Grant{Start: []byte("a"), IsRange: true}).Span().String())
}

func TestWhichOperationsWrite(t *testing.T) {
	writes := map[OpKind]bool{OpPut: true, OpDelete: true, OpAdd: true, OpAddGet: true, OpDeleteRange: true,
		OpMoveOut: true, OpMoveIn: true,
		OpExpire: true, OpDeleteExpired: true,
		OpUpdate: true, OpUpdateGet: true}
	for kind := range OpKind_name {
		op := Op{Kind: OpKind(kind)}
		require.Equal(t, writes[op.Kind], op.Writes(), "%v", op.Kind)
	}
}

func TestFailuresAsErrors(t *testing.T) {
	require.Nil(t, (*Failure)(nil).Error())
	f := &Failure{Reason: ReasonRequest, Kind: uint32(kv.KindConditionFailed), Key: []byte("k"), Text: "absent"}
	require.Equal(t, &kv.Error{Kind: kv.KindConditionFailed, Key: []byte("k"), Text: "absent", Op: -1}, f.Error())
	f.Seq, f.HasSeq = 0, true
	require.Equal(t, 0, f.Error().Op, "operation 0 is one, and not none")
}

// FuzzEnvelope: no input makes the decoder panic, and an accepted one decodes to the same message after encoding. The
// encodings may differ, since protobuf has several for a message.
func FuzzEnvelope(f *testing.F) {
	for _, env := range filledEnvelopes(rand.New(rand.NewPCG(3, 4))) {
		b, err := env.Marshal()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte{0x72, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var env, back Envelope
		if env.Unmarshal(b) != nil {
			return
		}
		_ = env.String()
		again, err := env.Marshal()
		require.NoError(t, err)
		require.Len(t, again, env.Size())
		require.NoError(t, back.Unmarshal(again))
		require.Equal(t, env.String(), back.String())
	})
}
