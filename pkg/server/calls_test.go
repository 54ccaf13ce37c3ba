package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
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

// TestDataTypesAreTheDeclarations: the numbers and names of DataType are those of the
// types of the store.
func TestDataTypesAreTheDeclarations(t *testing.T) {
	n := 0
	for _, typ := range adt.All() {
		if typ.ID >= firstOwn {
			continue
		}
		n++
		name := strings.ToLower(strings.ReplaceAll(pb.DataType_name[int32(typ.ID)], "_", "-"))
		require.Equal(t, typ.Name, name)
	}
	require.Len(t, pb.DataType_name, n)
}

func whole(n int64) pb.Datum { return pb.Datum{Datum: &pb.Datum_Int{Int: n}} }

func text(s string) pb.Datum { return pb.Datum{Datum: &pb.Datum_Text{Text: s}} }

// TestBothDecodersReadCallsAlike: that of Execute and that of Pipeline.
func TestBothDecodersReadCallsAlike(t *testing.T) {
	k := []byte("k")
	for _, c := range []pb.CallOp{
		{Key: k, Type: "set", Method: "add", Args: []pb.Datum{text("a"), text(""), text("b")}},
		{Key: k, Type: "set", Method: "len"},
		{Key: k, Type: "map", Method: "increment", Args: []pb.Datum{text("k"), whole(-3)}},
		{Key: k, Type: "bounded-counter", Method: "create", Args: []pb.Datum{whole(-5), whole(5), whole(0)}},
		{Key: k, Type: "bounded-counter", Method: "create", Args: []pb.Datum{whole(-5), whole(5)}},
	} {
		in := pb.Op{Op: &pb.Op_Call{Call: &c}}
		raw, err := in.Marshal()
		require.NoError(t, err)
		var want, read msg.Op
		require.Nil(t, operation(&in, &want))
		require.Len(t, want.Args, len(c.Args), "what is absent stays absent, and what is 0 does not")
		kerr, err := new(decoder).operation(raw, &read)
		require.NoError(t, err)
		require.Nil(t, kerr)
		require.Equal(t, want, read)
	}
}

// TestACallThatNamesNoMethodIsRefused.
func TestACallThatNamesNoMethodIsRefused(t *testing.T) {
	var out msg.Op
	for want, op := range map[string]pb.Op{
		"unknown data type":   {Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k")}}},
		"no method":           {Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k"), Type: "set"}}},
		"the key is empty":    {Op: &pb.Op_Call{Call: &pb.CallOp{Type: "set", Method: "len"}}},
		"want add member ...": {Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k"), Type: "set", Method: "add"}}},
	} {
		err := operation(&op, &out)
		require.NotNil(t, err, want)
		require.Equal(t, kv.KindInvalid, err.Kind)
		require.Contains(t, err.Error(), want)
	}
}

// TestArgumentsCountOfATransactionsBytes.
func TestArgumentsCountOfATransactionsBytes(t *testing.T) {
	big := pb.Op{Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k"), Type: "value", Method: "put",
		Args: []pb.Datum{{Datum: &pb.Datum_Bytes{Bytes: make([]byte, kv.MaxValueBytes)}}}}}}
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
      {"call": {"key":"cG9pbnRz","type":"sorted-set","method":"increment-get","args":[{"text":"ann"},{"float":2.5}]}},
      {"call": {"key":"dGVhbQ==","type":"set","method":"contains","args":[{"text":"ann"}]}}]}`
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
		{Kind: msg.OpUpdate, Key: []byte("team"), Type: 2, Method: 1, Args: []msg.Datum{ann, adt.Bytes([]byte("bob"))}},
		{Kind: msg.OpUpdateGet, Seq: 1, Key: []byte("points"), Type: 4, Method: 9, Args: []msg.Datum{ann, adt.Float(2.5)}},
		{Kind: msg.OpQuery, Seq: 2, Key: []byte("team"), Type: 2, Method: 3, Args: []msg.Datum{ann}},
	}, ops)
}
