package linchpinpb_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/stretchr/testify/require"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	reflection "github.com/linchpindb/linchpin/pkg/rpc/reflect"
)

// TestOneofMembersAreEncoded: a oneof member that is set is on the wire, also if its value
// is nil, empty or zero. Else it reads as none, and a condition on an empty value is no
// condition.
func TestOneofMembersAreEncoded(t *testing.T) {
	members := 0
	for _, m := range withOneofs(t) {
		for _, wrapper := range m.XXX_OneofWrappers() {
			members++
			w := reflect.New(reflect.TypeOf(wrapper).Elem())
			if f := w.Elem().Field(0); f.Kind() == reflect.Pointer {
				f.Set(reflect.New(f.Type().Elem()))
			}
			name := strings.TrimPrefix(w.Type().String(), "*linchpinpb.")
			in := reflect.New(reflect.TypeOf(m).Elem())
			oneof := -1
			for i := range in.Elem().NumField() {
				if f := in.Elem().Field(i); f.Kind() == reflect.Interface && w.Type().Implements(f.Type()) {
					f.Set(w)
					oneof = i
				}
			}
			require.GreaterOrEqual(t, oneof, 0, name)
			raw, err := proto.Marshal(in.Interface().(proto.Message))
			require.NoError(t, err, name)
			require.NotEmpty(t, raw, name)
			out := reflect.New(reflect.TypeOf(m).Elem())
			require.NoError(t, proto.Unmarshal(raw, out.Interface().(proto.Message)), name)
			got := out.Elem().Field(oneof)
			require.False(t, got.IsNil(), name)
			require.Equal(t, w.Type(), got.Elem().Type(), name)
			if f := got.Elem().Elem().Field(0); f.Kind() == reflect.Slice {
				require.False(t, f.IsNil(), "%s: the server sees an empty value", name)
			}
		}
	}
	require.Greater(t, members, 40)
}

type withOneof interface {
	proto.Message
	XXX_OneofWrappers() []any
}

// withOneofs are all messages of the interface that have a oneof.
func withOneofs(t *testing.T) (out []withOneof) {
	r, err := reflection.Resolver(pb.File)
	require.NoError(t, err)
	kv, err := r.FindDescriptorByName("linchpin.v1.KV")
	require.NoError(t, err)
	all := kv.ParentFile().Messages()
	for i := range all.Len() {
		d := all.Get(i)
		m, has := reflect.New(proto.MessageType(string(d.FullName())).Elem()).Interface().(withOneof)
		require.Equal(t, d.Oneofs().Len() > 0, has, d.Name())
		if has {
			out = append(out, m)
		}
	}
	return out
}
