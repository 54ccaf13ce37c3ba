package replicamsg_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// fill sets each field below v to another value, so that a field that is not converted, or converted from another
// field, is found. Responses of Raft, which are not sent, stay empty.
func fill(t *testing.T, v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Responses" && v.Type() == reflect.TypeFor[raftpb.Message]() {
				continue
			}
			fill(t, v.Field(i), next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(string(rune('a' + *next%26)))
	case reflect.Int32, reflect.Int64:
		v.SetInt(*next)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(*next))
	default:
		require.Fail(t, "a field of a new kind", "%v", v.Type())
	}
}

func TestAllFieldsArrive(t *testing.T) {
	var m consensus.Message
	next := int64(0)
	fill(t, reflect.ValueOf(&m).Elem(), &next)
	require.Greater(t, next, int64(40), "fields of Raft among them")
	sent := replicamsg.EncodeAll([]consensus.Message{m, {Gone: true}})
	require.Equal(t, []consensus.Message{m, {Gone: true}}, replicamsg.DecodeAll(sent))

	raw, err := (&peerpb.ReplicaBatch{Messages: sent}).Marshal()
	require.NoError(t, err)
	var got peerpb.ReplicaBatch
	require.NoError(t, got.Unmarshal(raw))
	require.Equal(t, []consensus.Message{m, {Gone: true}}, replicamsg.DecodeAll(got.Messages))
}

func TestCopyRefersToNothingOfTheMessage(t *testing.T) {
	m := consensus.Message{Raft: raftpb.Message{Entries: []raftpb.Entry{{Data: []byte("row")}}}}
	sent := replicamsg.Encode(&m)
	got, err := replicamsg.Copy(sent)
	require.NoError(t, err)
	require.Equal(t, m, got)
	got.Raft.Entries[0].Data[0], got.Raft.Entries[0].Index = 'x', 9
	require.Equal(t, raftpb.Entry{Data: []byte("row")}, m.Raft.Entries[0])

	m.Raft.Responses = []raftpb.Message{{}}
	sent = replicamsg.Encode(&m)
	_, err = replicamsg.Copy(sent)
	require.ErrorIs(t, err, peerpb.ErrLocalMessage)
}
