package adt_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// keyState is one key on which calls are executed one after another; its value is sometimes stored
// and read back.
type keyState struct {
	made  *adt.Type
	value entry.Value
}

// call executes a call and returns its answer, the kind of its failure, and the name of its lock.
func (k *keyState) call(t require.TestingT, name string, args ...msg.Datum) (answer []msg.Datum, failed kv.Kind,
	lock string) {
	op := k.made.MethodByName(name).Op([]byte("k"), args...)
	method, err := adt.Find(&op)
	require.NoError(t, err)
	r := adt.Request{Method: method, Args: args, Value: &k.value}
	p, modes := r.Plan(nil)
	for _, m := range modes {
		lock = k.made.Kinds[m.Kind()-1].Name
	}
	if p.Err != nil {
		return nil, kv.KindOf(p.Err), lock
	}
	if len(p.Calls) > 0 {
		after, err := adt.Apply(k.made.ID, &k.value, p.Calls)
		require.NoError(t, err)
		after.Version = kv.Version{Write: 1}
		k.value = after
	}
	return p.Answer, kv.KindOK, lock
}

// restore stores the value and reads it back.
func (k *keyState) restore() {
	if k.value.Exists() {
		payload := slices.Clone(adt.Payload(&k.value))
		k.value = entry.Value{Type: k.value.Type, Version: k.value.Version, Payload: payload}
	}
}

// TestEncodingsAreStable: stored forms never change, and other bytes are rejected.
func TestEncodingsAreStable(t *testing.T) {
	for _, row := range []struct {
		id    entry.Type
		calls func(*keyState)
		form  string
	}{
		{adt.TopK, func(k *keyState) {
			k.call(t, "add", adt.Float(1.5), adt.Bytes([]byte("ann")))
			k.call(t, "add", adt.Float(-2), adt.Bytes([]byte("bob")))
		}, "\x01\x02\x3f\xf8\x00\x00\x00\x00\x00\x00\x03ann\xc0\x00\x00\x00\x00\x00\x00\x00\x03bob"},
		{adt.Summary, func(k *keyState) { k.call(t, "add", adt.Float(1.5), adt.Float(-2)) },
			"\x01\x02\xff\x91\xf4\x01\xc0\x8d\xb7\x01\x01\x03\x07\xa1\x20\x06\x05\xaf\x31\x07\xa4\x00"},
		{adt.BoundedCounter, func(k *keyState) { k.call(t, "create", adt.Int(-1), adt.Int(258), adt.Int(1)) },
			"\x01\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x01"},
	} {
		k := &keyState{made: adt.Lookup(row.id)}
		row.calls(k)
		require.Equal(t, row.form, string(adt.Payload(&k.value)), k.made.Name)
		for cut := range len(row.form) {
			v := entry.Value{Type: row.id, Version: kv.Version{Write: 1}, Payload: []byte(row.form[:cut])}
			r := adt.Request{Method: k.made.Methods[len(k.made.Methods)-1], Value: &v}
			p, _ := r.Plan(nil)
			require.Equal(t, kv.KindCorrupt, kv.KindOf(p.Err), "%s cut off at %d", k.made.Name, cut)
		}
	}
}

func drawInt(t *rapid.T, label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(t, label)
}
