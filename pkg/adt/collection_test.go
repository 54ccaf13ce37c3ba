package adt_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// refModel is a sequential reference model of a data type: a map or a slice. A failed call changes
// nothing.
type refModel interface {
	call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind)
	clone() refModel
}

// collectionType is a data type with its reference model and random calls.
type collectionType struct {
	id       entry.Type
	newModel func() refModel
	draw     func(t *rapid.T) (method string, a adt.Args)
	// wholeMethod returns the whole value.
	wholeMethod string
	wholeArgs   adt.Args
}

func (w *collectionType) method(name string) *adt.TypeMethod {
	return adt.Lookup(w.id).MethodByName(name)
}

// format formats an answer for comparison.
func format(ds []msg.Datum) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%v %q %d %v; ", d.Kind, d.Bytes, d.Int, d.Float)
	}
	return b.String()
}

// stored returns a value as a shard keeps it: a tombstone is an absent key.
func stored(v entry.Value) entry.Value {
	if v.Type == entry.TypeDeleted {
		return entry.Value{}
	}
	v.Version = kv.Version{Write: 1}
	return v
}

// requireEqual compares a value and its stored form with the model.
func (w *collectionType) requireEqual(t *rapid.T, ref refModel, v *entry.Value) {
	want, _ := ref.call(w.wholeMethod, w.wholeArgs)
	plan, _ := (&adt.Request{Method: w.method(w.wholeMethod), Args: w.wholeArgs, Value: v}).Plan(nil)
	require.NoError(t, plan.Err)
	require.Equal(t, format(want), format(plan.Answer))
	if !v.Exists() {
		require.Empty(t, want)
		return
	}
	form := adt.Payload(v)
	require.NotEmpty(t, want, "an empty value becomes an absent key")
	require.Equal(t, len(form), adt.Size(&entry.Value{Type: v.Type, State: v.State}))
	back := entry.Value{Type: v.Type, Version: v.Version, Payload: bytes.Clone(form)}
	after, err := adt.Apply(w.id, &back, nil)
	require.NoError(t, err)
	require.Equal(t, form, adt.Payload(&entry.Value{Type: w.id, State: after.State}), "stored forms of one value differ")
}

// compareCalls executes calls one after the other, as transactions of one call each.
func (w *collectionType) compareCalls(t *rapid.T) {
	ref, v := w.newModel(), entry.Value{}
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		name, a := w.draw(t)
		want, failed := ref.call(name, a)
		r := adt.Request{Method: w.method(name), Args: a, Value: &v}
		plan, modes := r.Plan(nil)
		require.Equal(t, failed, kv.KindOf(plan.Err), "%s %s: %v", name, format(a), plan.Err)
		if plan.Err != nil {
			continue
		}
		require.NotEmpty(t, modes)
		require.Equal(t, format(want), format(plan.Answer), "%s %s", name, format(a))
		before := v
		form := bytes.Clone(adt.Payload(&v))
		if len(plan.Calls) > 0 {
			after, err := adt.Apply(w.id, &v, plan.Calls)
			require.NoError(t, err)
			v = stored(after)
		}
		w.requireEqual(t, ref, &v)
		if before.Exists() {
			require.Equal(t, form, adt.Payload(&entry.Value{Type: w.id, State: before.State}), "%s changed the value before it",
				name)
		}
		if rapid.Bool().Draw(t, "read back") && v.Exists() {
			v = entry.Value{Type: v.Type, Version: v.Version, Payload: adt.Payload(&v)}
		}
	}
}

// callView is a View of one key without concurrent transactions.
type callView struct{ keyView }

func (w *callView) Clock() int64 { return 0 }

func (w *callView) Calls() *mvcc.Calls { return &mvcc.Calls{} }

// compareTransactions executes transactions that read their own writes and sometimes delete the
// key. A failure undoes the whole transaction.
func (w *collectionType) compareTransactions(t *rapid.T) {
	ref, k := w.newModel(), &callView{keyView: keyView{writes: 100}}
	for range rapid.IntRange(1, 8).Draw(t, "transactions") {
		mine := ref.clone()
		var ops []msg.Op
		var wants []string
		failed := kv.KindOK
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			if rapid.IntRange(0, 7).Draw(t, "delete") == 7 {
				mine, ops, wants = w.newModel(), append(ops, msg.Op{Kind: msg.OpDelete, Key: []byte("k")}), append(wants, "")
				continue
			}
			name, a := w.draw(t)
			op := w.method(name).Op([]byte("k"), a...)
			want, kind := mine.call(name, a)
			ops, wants = append(ops, op), append(wants, format(want))
			if kind != kv.KindOK && failed == kv.KindOK {
				failed = kind
			}
		}
		x := mvcc.Exec(k, ops, k.version)
		if failed != kv.KindOK {
			require.NotNil(t, x.Failure)
			require.Equal(t, failed, kv.Kind(x.Failure.Kind), x.Failure.Text)
			continue
		}
		require.Nil(t, x.Failure)
		for i := range wants {
			require.Equal(t, wants[i], format(x.Results[i].Data), "call %d of %v", i, ops)
		}
		for i := range x.Effects {
			v, err := mvcc.NewStore(0).MakeVisible(k.item(), &x.Effects[i], 1, k.version(kv.Version{}))
			require.NoError(t, err)
			k.value = v
		}
		ref = mine
		v := k.value
		w.requireEqual(t, ref, &v)
	}
}

// failure executes calls on a value and returns the failure.
func failure(value entry.Value, ops ...msg.Op) *msg.Failure {
	k := &callView{keyView: keyView{value: value, writes: 100}}
	return mvcc.Exec(k, ops, k.version).Failure
}

func requireFailure(t *testing.T, kind kv.Kind, text string, f *msg.Failure) {
	t.Helper()
	require.NotNil(t, f)
	require.Equal(t, kind, kv.Kind(f.Kind), f.Text)
	require.Contains(t, f.Text, text)
}

// op returns a call by name, with Go values as arguments.
func (w *collectionType) op(name string, args ...any) msg.Op {
	return w.method(name).Op([]byte("k"), data(args...)...)
}

func data(args ...any) (out []msg.Datum) {
	for _, a := range args {
		switch a := a.(type) {
		case string:
			out = append(out, adt.Bytes([]byte(a)))
		case int:
			out = append(out, adt.Int(int64(a)))
		case float64:
			out = append(out, adt.Float(a))
		}
	}
	return out
}

// value returns the result of calls on an absent key.
func (w *collectionType) value(t require.TestingT, ops ...msg.Op) entry.Value {
	v := entry.Value{}
	for i := range ops {
		plan, _ := (&adt.Request{Method: adt.Lookup(w.id).Method(ops[i].Method), Args: ops[i].Args, Value: &v}).Plan(nil)
		require.NoError(t, plan.Err)
		after, err := adt.Apply(w.id, &v, plan.Calls)
		require.NoError(t, err)
		v = stored(after)
	}
	return v
}

// locks returns the kind of lock that a call needs on a value.
func (w *collectionType) locks(v entry.Value, op msg.Op) string {
	_, modes := (&adt.Request{Method: adt.Lookup(w.id).Method(op.Method), Args: op.Args, Value: &v}).Plan(nil)
	if len(modes) == 0 {
		return "none"
	}
	return adt.Lookup(w.id).Kinds[modes[0].Kind()-1].Name
}

var collections = []*collectionType{&setType, &mapType, &sortedSetType, &listType}

// drawText draws a member, field or value, mostly one of few, so that calls conflict.
func drawText(t *rapid.T, label string) msg.Datum {
	return adt.Bytes([]byte(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "aa", "ab", "\x00", "7", "-3"}).Draw(
		t, label)))
}

func TestCollectionsMatchReferenceModels(t *testing.T) {
	for _, w := range collections {
		t.Run(adt.TypeName(w.id), func(t *testing.T) {
			t.Run("calls", func(t *testing.T) { rapid.Check(t, w.compareCalls) })
			t.Run("transactions", func(t *testing.T) { rapid.Check(t, w.compareTransactions) })
		})
	}
}

func TestCollectionCallsRejectOtherTypes(t *testing.T) {
	for _, w := range collections {
		for _, m := range adt.Lookup(w.id).Methods {
			args := make(adt.Args, len(m.Params))
			for i := range args {
				args[i].Kind = m.Params[i].Kind
			}
			register := entry.Value{Type: adt.Value, Version: kv.Version{Write: 1}, Payload: []byte("x")}
			requireFailure(t, kv.KindWrongType, "the key holds a value, but "+m.Name+" needs a "+m.Type.Name,
				failure(register, m.Op([]byte("k"), args...)))
		}
		form := adt.Lookup(w.id)
		requireFailure(t, kv.KindInvalid, form.Name, failure(entry.Value{},
			msg.Op{Kind: msg.OpUpdate, Key: []byte("k"), Type: uint32(w.id), Method: 99}))
	}
}

// TestCollectionNumbersAreStable: the numbers are stored and never change.
func TestCollectionNumbersAreStable(t *testing.T) {
	for id, want := range map[entry.Type]string{
		2: "set: add remove contains len members add-count remove-count / add remove insert take present absent member all",
		3: "map: set delete get get-many increment increment-get len all range has set-if-absent / " +
			"set overwrite increment bump delete get present absent len all",
		4: "sorted-set: add increment remove score rank range-by-rank range-by-score len increment-get rev-rank " +
			"range-by-rev-rank / " +
			"add rescore increment shift remove score absent len order",
		9: "list: append range len trim append-len get / append trim prefix all",
	} {
		typ := adt.Lookup(id)
		got := typ.Name + ":"
		for _, m := range typ.Methods {
			got += " " + m.Name
		}
		got += " /"
		for _, k := range typ.Kinds {
			got += " " + k.Name
		}
		require.Equal(t, want, got)
	}
}

// TestCollectionEncodingsAreStable: stored forms never change, and other bytes are rejected.
func TestCollectionEncodingsAreStable(t *testing.T) {
	for _, row := range []struct {
		of   *collectionType
		ops  []msg.Op
		form string
		bad  []string
	}{
		{&setType, []msg.Op{setType.op("add", "b", "a", "ccc")},
			"\x01\x03\x01a\x01b\x03ccc",
			[]string{"", "\x02\x01\x01a", "\x01", "\x01\x00", "\x01\x02\x01a", "\x01\x02\x01b\x01a", "\x01\x02\x01a\x01a",
				"\x01\x01\x01a!", "\x01\x81\x00\x01a", "\x01\x01\x05a"}},
		{&mapType, []msg.Op{mapType.op("set", "b", "2", "a", ""), mapType.op("increment", "n", -12)},
			"\x01\x03\x01a\x00\x01b\x012\x01n\x03-12",
			[]string{"", "\x02\x01\x01a\x00", "\x01\x00", "\x01\x01\x01a", "\x01\x02\x01b\x00\x01a\x00",
				"\x01\x01\x01a\x00!"}},
		{&sortedSetType, []msg.Op{sortedSetType.op("add", -0.000001, "b", 0.000064, "a", 9e12, "c")},
			"\x01\x03\x01a\x80\x01\x01b\x01\x01c\x80\x80\xa0\xa8\x9c\x94\xb6\xe6\xf9\x01",
			[]string{"", "\x02\x01\x01a\x00", "\x01\x00", "\x01\x01\x01a", "\x01\x02\x01b\x00\x01a\x00",
				"\x01\x01\x01a\x00!", "\x01\x01\x01a\x80\x00", "\x01\x01\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"}},
		{&listType, []msg.Op{listType.op("append", "b", "", "aa")},
			"\x01\x03\x01b\x00\x02aa",
			[]string{"", "\x02\x01\x01a", "\x01\x00", "\x01\x01\x02a", "\x01\x02\x01a", "\x01\x01\x01a!", "\x01\x7f\x00"}},
	} {
		v := row.of.value(t, row.ops...)
		require.Equal(t, row.form, string(adt.Payload(&v)))
		for _, bad := range row.bad {
			v := entry.Value{Type: row.of.id, Version: kv.Version{Write: 1}, Payload: []byte(bad)}
			_, err := adt.Apply(row.of.id, &v, nil)
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%q", bad)
		}
	}
}

// FuzzStoredCollections: decoding damaged bytes fails, or returns a value with exactly this stored
// form.
func FuzzStoredCollections(f *testing.F) {
	for _, w := range collections {
		f.Add(uint8(w.id), []byte{1, 2, 1, 'a', 1, 'b'})
		f.Add(uint8(w.id), []byte{1, 1, 3, 'a', 'b', 'c', 2, '1', '2'})
		f.Add(uint8(w.id), []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	}
	f.Fuzz(func(t *testing.T, id uint8, form []byte) {
		if !slices.ContainsFunc(collections, func(w *collectionType) bool { return uint8(w.id) == id }) {
			return
		}
		v, err := adt.Apply(entry.Type(id), &entry.Value{Type: entry.Type(id), Version: kv.Version{Write: 1},
			Payload: bytes.Clone(form)}, nil)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.Equal(t, form, adt.Payload(&v), "two stored forms of one value")
	})
}
