package server

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/reflect"
)

// descriptor is a message of the API as reflection has it.
func descriptor(t *testing.T, name string) protoreflect.MessageDescriptor {
	r, err := reflect.Resolver(pb.File)
	require.NoError(t, err)
	d, err := r.FindDescriptorByName(protoreflect.FullName("linchpin.v1." + name))
	require.NoError(t, err)
	return d.(protoreflect.MessageDescriptor)
}

var wireKinds = map[msg.DatumKind]protoreflect.Kind{msg.DatumBytes: protoreflect.BytesKind, msg.DatumInt: protoreflect.Sint64Kind,
	msg.DatumFloat: protoreflect.DoubleKind, msg.DatumBool: protoreflect.BoolKind}

// TestTypedMessagesAreTheDeclarations: the field of each type, method and
// parameter is where readTyped looks for it, with the right name and kind.
func TestTypedMessagesAreTheDeclarations(t *testing.T) {
	op := descriptor(t, "Op")
	for _, typ := range adt.Types() {
		if typ.ID >= firstOwn {
			continue
		}
		f := op.Fields().ByNumber(protowire.Number(typ.ID) + typeOffset)
		require.NotNil(t, f, typ.Name)
		require.Equal(t, typ.Name, strings.ReplaceAll(string(f.Name()), "_", "-"))
		require.LessOrEqual(t, f.Number(), lastField)
		name := strings.ToLower(strings.ReplaceAll(pb.DataType_name[int32(typ.ID)], "_", "-"))
		require.Equal(t, typ.Name, name, "in DataType")
		body := f.Message()
		require.Equal(t, len(typ.Methods)+1, body.Fields().Len(), typ.Name)
		require.EqualValues(t, "key", body.Fields().ByNumber(1).Name())
		for _, m := range typ.Methods {
			f := body.Fields().ByNumber(protowire.Number(m.Number) + 1)
			require.Equal(t, m.Name, strings.ReplaceAll(string(f.Name()), "_", "-"), typ.Name)
			fieldsAre(t, typ.Name+"."+m.Name, f.Message(), m.Params)
		}
	}
}

func fieldsAre(t *testing.T, what string, d protoreflect.MessageDescriptor, params []adt.Param) {
	for i, p := range params {
		if f := d.Fields().ByNumber(protowire.Number(i + 1)); f != nil {
			require.Equal(t, p.Optional, f.HasPresence() && f.ContainingOneof() != nil, "%s: %s: an optional parameter is a oneof", what, p.Name)
		}
	}
	n := len(params)
	for i, p := range params {
		if p.Many {
			n = i + 1
			break
		}
	}
	require.Equal(t, n, d.Fields().Len(), what)
	for i, p := range params[:n] {
		f := d.Fields().ByNumber(protowire.Number(i + 1))
		require.Equal(t, p.Many, f.IsList(), what)
		if group := params[i:]; p.Many && len(group) > 1 {
			single := append([]adt.Param(nil), group...)
			for j := range single {
				single[j].Many = false
			}
			fieldsAre(t, what, f.Message(), single)
			continue
		}
		require.Equal(t, wireKinds[p.Kind], f.Kind(), "%s: %s", what, p.Name)
	}
}

func whole(n int64) pb.Datum { return pb.Datum{Datum: &pb.Datum_Int{Int: n}} }

func text(s string) pb.Datum { return pb.Datum{Datum: &pb.Datum_Text{Text: s}} }

// TestBothFormsOfACallAreTheSame: by names and by a message of the type, through
// either decoder.
func TestBothFormsOfACallAreTheSame(t *testing.T) {
	k := []byte("k")
	bs := func(ss ...string) (out [][]byte) {
		for _, s := range ss {
			out = append(out, []byte(s))
		}
		return out
	}
	for _, c := range []struct {
		typed pb.Op
		named pb.CallOp
	}{
		{pb.Op{Op: &pb.Op_Set{Set: &pb.SetOp{Key: k, Method: &pb.SetOp_Add{Add: &pb.Members{Members: bs("a", "", "b")}}}}},
			pb.CallOp{Key: k, Type: "set", Method: "add", Args: []pb.Datum{text("a"), text(""), text("b")}}},
		{pb.Op{Op: &pb.Op_Set{Set: &pb.SetOp{Key: k, Method: &pb.SetOp_Size_{Size_: &pb.NoArguments{}}}}},
			pb.CallOp{Key: k, Type: "set", Method: "size"}},
		{pb.Op{Op: &pb.Op_Set{Set: &pb.SetOp{Key: k, Method: &pb.SetOp_Contains{Contains: &pb.OneMember{}}}}},
			pb.CallOp{Key: k, Type: "set", Method: "contains", Args: []pb.Datum{text("")}}},
		{pb.Op{Op: &pb.Op_Dict{Dict: &pb.DictOp{Key: k, Method: &pb.DictOp_Set{Set: &pb.FieldValues{Pairs: []pb.FieldValue{{Field: k, Value: k}, {Field: []byte("x")}}}}}}},
			pb.CallOp{Key: k, Type: "dict", Method: "set", Args: []pb.Datum{text("k"), text("k"), text("x"), text("")}}},
		{pb.Op{Op: &pb.Op_Dict{Dict: &pb.DictOp{Key: k, Method: &pb.DictOp_Increment{Increment: &pb.FieldDelta{Field: k, Delta: -3}}}}},
			pb.CallOp{Key: k, Type: "dict", Method: "increment", Args: []pb.Datum{text("k"), {Datum: &pb.Datum_Int{Int: -3}}}}},
		{pb.Op{Op: &pb.Op_BoundedCounter{BoundedCounter: &pb.BoundedCounterOp{Key: k, Method: &pb.BoundedCounterOp_Create{Create: &pb.Bounds{
			Floor: -5, Ceiling: 5, OptionalStart: &pb.Bounds_Start{Start: 0}}}}}},
			pb.CallOp{Key: k, Type: "bounded-counter", Method: "create", Args: []pb.Datum{whole(-5), whole(5), whole(0)}}},
		{pb.Op{Op: &pb.Op_BoundedCounter{BoundedCounter: &pb.BoundedCounterOp{Key: k, Method: &pb.BoundedCounterOp_Create{Create: &pb.Bounds{
			Floor: -5, Ceiling: 5}}}}},
			pb.CallOp{Key: k, Type: "bounded-counter", Method: "create", Args: []pb.Datum{whole(-5), whole(5)}}},
		{pb.Op{Op: &pb.Op_Ids{Ids: &pb.IdsOp{Key: k, Method: &pb.IdsOp_Next{Next: &pb.OptionalAmount{OptionalN: &pb.OptionalAmount_N{N: 0}}}}}},
			pb.CallOp{Key: k, Type: "ids", Method: "next", Args: []pb.Datum{whole(0)}}},
	} {
		var want, typed, read msg.Op
		require.Nil(t, operation(&pb.Op{Op: &pb.Op_Call{Call: &c.named}}, &want))
		require.Nil(t, operation(&c.typed, &typed))
		require.Equal(t, want, typed)
		raw, err := c.typed.Marshal()
		require.NoError(t, err)
		kerr, err := new(decoder).operation(raw, &read)
		require.NoError(t, err)
		require.Nil(t, kerr)
		require.Equal(t, want, read)
	}
}

// TestOptionalParameters: one that is not set is absent, unless a later one is set. One
// that is set to 0 is 0.
func TestOptionalParameters(t *testing.T) {
	typ, err := adt.Declare(adt.Spec[int]{ID: 199, Name: "x", Zero: func() int { return 0 }, Encode: func(int) []byte { return nil },
		Decode: func([]byte) (int, error) { return 0, nil }, Kinds: []adt.KindSpec{{Name: "k"}},
		Methods: []adt.MethodSpec[int]{{Name: "m", Kind: 1, Answers: true, Params: []adt.Param{{Name: "a", Kind: msg.DatumInt},
			{Name: "b", Kind: msg.DatumFloat, Optional: true}, {Name: "c", Kind: msg.DatumBool, Optional: true}}},
			{Name: "n", Kind: 1, Answers: true, Params: []adt.Param{{Name: "n", Kind: msg.DatumFloat, Many: true}}}}})
	require.NoError(t, err)
	read := func(m int, b []byte) adt.Args {
		args, err := readArgs(typ.Methods[m], b)
		require.NoError(t, err)
		return args
	}
	zero := []msg.Datum{adt.Int(0)}
	require.Equal(t, zero, read(0, nil))
	require.Equal(t, []msg.Datum{adt.Int(0), adt.Float(0), adt.Bool(true)}, read(0, []byte{3 << 3, 1}))
	require.Equal(t, []msg.Datum{adt.Int(0), adt.Float(0)}, read(0, append([]byte{2<<3 | 1}, make([]byte, 8)...)), "set to 0")
	for what, b := range map[string][]byte{"a field of a newer client": {9 << 3, 1}, "of another kind than it is to be": {1<<3 | 2, 0}} {
		_, err := readArgs(typ.Methods[0], b)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), what)
	}
	one := protowire.AppendFixed64(nil, math.Float64bits(1))
	packed := append([]byte{1<<3 | 2, 16}, append(one, one...)...)
	single := append([]byte{1<<3 | 1}, one...)
	ones := []msg.Datum{adt.Float(1), adt.Float(1), adt.Float(1)}
	require.Equal(t, ones, read(1, append(packed, single...)))
	_, err = readArgs(typ.Methods[1], []byte{1<<3 | 2, 3, 0, 0, 0})
	require.Error(t, err, "half a number")
}

// TestACallThatNamesNoMethodIsRefused, by either form.
func TestACallThatNamesNoMethodIsRefused(t *testing.T) {
	var out msg.Op
	for want, op := range map[string]pb.Op{
		"no data type":                   {Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k")}}},
		"a call of a set needs a method": {Op: &pb.Op_Set{Set: &pb.SetOp{Key: []byte("k")}}},
		"the key is empty":               {Op: &pb.Op_Call{Call: &pb.CallOp{Type: "set", Method: "size"}}},
		"want add member ...":            {Op: &pb.Op_Set{Set: &pb.SetOp{Key: []byte("k"), Method: &pb.SetOp_Add{Add: &pb.Members{}}}}},
	} {
		err := operation(&op, &out)
		require.NotNil(t, err, want)
		require.Equal(t, kv.KindInvalid, err.Kind)
		require.Contains(t, err.Error(), want)
	}
}

// TestArgumentsCountOfATransactionsBytes.
func TestArgumentsCountOfATransactionsBytes(t *testing.T) {
	big := pb.Op{Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k"), Type: "register", Method: "put", Args: []pb.Datum{{Datum: &pb.Datum_Bytes{Bytes: make([]byte, kv.MaxValueBytes)}}}}}}
	_, err := operations(many(17, big), new(budget))
	require.ErrorContains(t, err, "the limit is")
	words := pb.CallOp{Key: []byte("k"), Type: "set", Method: "add", Args: make([]pb.Datum, maxArgs)}
	for i := range words.Args {
		words.Args[i] = text("")
	}
	_, err = operations([]pb.Op{{Op: &pb.Op_Call{Call: &words}}}, new(budget))
	require.ErrorContains(t, err, "the limit is", "empty arguments take room, too")
}

// TestCallsReadInJSON: what docs/api.md gives to grpcurl is what it says.
func TestCallsReadInJSON(t *testing.T) {
	const request = `{"ops":[
      {"call": {"key":"dGVhbQ==","type":"set","method":"add","args":[{"text":"ann"},{"text":"bob"}]}},
      {"call": {"key":"cG9pbnRz","type":"scored-set","method":"increment-get","args":[{"text":"ann"},{"float":2.5}]}},
      {"set": {"key":"dGVhbQ==","contains":{"member":"YW5u"}}}]}`
	m := dynamicpb.NewMessage(descriptor(t, "ExecuteRequest"))
	require.NoError(t, protojson.Unmarshal([]byte(request), m))
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	var in pb.ExecuteRequest
	require.NoError(t, in.Unmarshal(raw))
	ops, kerr := operations(in.Ops, new(budget))
	require.Nil(t, kerr)
	ann := adt.Bytes([]byte("ann"))
	require.Equal(t, []msg.Op{
		{Kind: msg.OpChange, Key: []byte("team"), Type: 2, Method: 1, Args: []msg.Datum{ann, adt.Bytes([]byte("bob"))}},
		{Kind: msg.OpChangeAsk, Seq: 1, Key: []byte("points"), Type: 4, Method: 9, Args: []msg.Datum{ann, adt.Float(2.5)}},
		{Kind: msg.OpAsk, Seq: 2, Key: []byte("team"), Type: 2, Method: 3, Args: []msg.Datum{ann}},
	}, ops)
}
