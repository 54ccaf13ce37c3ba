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

// twin is a data type as one would write it without a thought for others: a map
// or a slice. A failed call changes nothing.
type twin interface {
	call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind)
	clone() twin
}

// twinned is a data type, how to make a twin of it, and calls of its methods.
type twinned struct {
	id   entry.Type
	twin func() twin
	draw func(t *rapid.T) (method string, a adt.Args)
	// whole answers all that a value holds.
	whole string
	args  adt.Args
}

func (w *twinned) method(name string) *adt.TypeMethod { return adt.Lookup(w.id).MethodByName(name) }

// show is an answer as it is compared.
func show(ds []msg.Datum) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%v %q %d %v; ", d.Kind, d.Bytes, d.Int, d.Float)
	}
	return b.String()
}

// stands is a value as it is kept: a tombstone is nothing here.
func stands(v entry.Value) entry.Value {
	if v.Type == entry.TypeDeleted {
		return entry.Value{}
	}
	v.Version = kv.Version{Write: 1}
	return v
}

// requireWhole compares all that a value holds, and its stored form.
func (w *twinned) requireWhole(t *rapid.T, tw twin, v *entry.Value) {
	want, _ := tw.call(w.whole, w.args)
	plan, _ := (&adt.Request{Method: w.method(w.whole), Args: w.args, Value: v}).Plan(nil)
	require.NoError(t, plan.Err)
	require.Equal(t, show(want), show(plan.Answer))
	if !v.Exists() {
		require.Empty(t, want)
		return
	}
	form := adt.Payload(v)
	require.NotEmpty(t, want, "a value without anything is not kept")
	require.Equal(t, len(form), adt.Size(&entry.Value{Type: v.Type, State: v.State}))
	back := entry.Value{Type: v.Type, Version: v.Version, Payload: bytes.Clone(form)}
	after, err := adt.Apply(w.id, &back, nil)
	require.NoError(t, err)
	require.Equal(t, form, adt.Payload(&entry.Value{Type: w.id, State: after.State}), "stored forms of one value differ")
}

// calls makes calls one after the other, as transactions of one call each.
func (w *twinned) calls(t *rapid.T) {
	tw, v := w.twin(), entry.Value{}
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		name, a := w.draw(t)
		want, failed := tw.call(name, a)
		r := adt.Request{Method: w.method(name), Args: a, Value: &v}
		plan, modes := r.Plan(nil)
		require.Equal(t, failed, kv.KindOf(plan.Err), "%s %s: %v", name, show(a), plan.Err)
		if plan.Err != nil {
			continue
		}
		require.NotEmpty(t, modes)
		require.Equal(t, show(want), show(plan.Answer), "%s %s", name, show(a))
		before := v
		form := bytes.Clone(adt.Payload(&v))
		if len(plan.Calls) > 0 {
			after, err := adt.Apply(w.id, &v, plan.Calls)
			require.NoError(t, err)
			v = stands(after)
		}
		w.requireWhole(t, tw, &v)
		if before.Exists() {
			require.Equal(t, form, adt.Payload(&entry.Value{Type: w.id, State: before.State}), "%s changed what was there before", name)
		}
		if rapid.Bool().Draw(t, "read back") && v.Exists() {
			v = entry.Value{Type: v.Type, Version: v.Version, Payload: adt.Payload(&v)}
		}
	}
}

// world is a store of one key, where nobody else is.
type world struct{ oneKey }

func (w *world) Clock() int64 { return 0 }

func (w *world) Calls() *mvcc.Calls { return &mvcc.Calls{} }

// transactions makes calls in transactions that see their own changes, and
// sometimes delete the key between them; a failure takes all of one back.
func (w *twinned) transactions(t *rapid.T) {
	tw, k := w.twin(), &world{oneKey: oneKey{writes: 100}}
	for range rapid.IntRange(1, 8).Draw(t, "transactions") {
		mine := tw.clone()
		var ops []msg.Op
		var wants []string
		failed := kv.KindOK
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			if rapid.IntRange(0, 7).Draw(t, "delete") == 7 {
				mine, ops, wants = w.twin(), append(ops, msg.Op{Kind: msg.OpDelete, Key: []byte("k")}), append(wants, "")
				continue
			}
			name, a := w.draw(t)
			op := w.method(name).Op([]byte("k"), a...)
			want, kind := mine.call(name, a)
			ops, wants = append(ops, op), append(wants, show(want))
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
			require.Equal(t, wants[i], show(x.Results[i].Answer), "call %d of %v", i, ops)
		}
		for i := range x.Effects {
			v, err := mvcc.NewStore(0).Show(k.item(), &x.Effects[i], 1, k.version(kv.Version{}))
			require.NoError(t, err)
			k.value = v
		}
		tw = mine
		v := k.value
		w.requireWhole(t, tw, &v)
	}
}

// failure makes one call of a plain value and of calls, and gives the
// failure.
func failure(value entry.Value, ops ...msg.Op) *msg.Failure {
	k := &world{oneKey: oneKey{value: value, writes: 100}}
	return mvcc.Exec(k, ops, k.version).Failure
}

func requireFailure(t *testing.T, kind kv.Kind, text string, f *msg.Failure) {
	t.Helper()
	require.NotNil(t, f)
	require.Equal(t, kind, kv.Kind(f.Kind), f.Text)
	require.Contains(t, f.Text, text)
}

// op is a call by name, with Go values for arguments.
func (w *twinned) op(name string, args ...any) msg.Op {
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

// value is what calls make of nothing.
func (w *twinned) value(t require.TestingT, ops ...msg.Op) entry.Value {
	v := entry.Value{}
	for i := range ops {
		plan, _ := (&adt.Request{Method: adt.Lookup(w.id).Method(ops[i].Method), Args: ops[i].Args, Value: &v}).Plan(nil)
		require.NoError(t, plan.Err)
		after, err := adt.Apply(w.id, &v, plan.Calls)
		require.NoError(t, err)
		v = stands(after)
	}
	return v
}

// locks are the kinds of lock that a call needs of a value.
func (w *twinned) locks(v entry.Value, op msg.Op) string {
	_, modes := (&adt.Request{Method: adt.Lookup(w.id).Method(op.Method), Args: op.Args, Value: &v}).Plan(nil)
	if len(modes) == 0 {
		return "none"
	}
	return adt.Lookup(w.id).Kinds[modes[0].Kind()-1].Name
}

var collections = []*twinned{&sets, &dicts, &scoredSets, &lists}

// drawText is a member, a field or a value: mostly one of few, so that calls meet.
func drawText(t *rapid.T, label string) msg.Datum {
	return adt.Bytes([]byte(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "aa", "ab", "\x00", "7", "-3"}).Draw(t, label)))
}

func TestCollectionsAgainstTwins(t *testing.T) {
	for _, w := range collections {
		t.Run(adt.TypeName(w.id), func(t *testing.T) {
			t.Run("calls", func(t *testing.T) { rapid.Check(t, w.calls) })
			t.Run("transactions", func(t *testing.T) { rapid.Check(t, w.transactions) })
		})
	}
}

func TestCollectionsAreOfOneType(t *testing.T) {
	for _, w := range collections {
		for _, m := range adt.Lookup(w.id).Methods {
			args := make(adt.Args, len(m.Params))
			for i := range args {
				args[i].Kind = m.Params[i].Kind
			}
			register := entry.Value{Type: adt.Value, Version: kv.Version{Write: 1}, Payload: []byte("x")}
			requireFailure(t, kv.KindWrongType, "the key holds a value, but "+m.Name+" needs a "+m.Type.Name, failure(register, m.Op([]byte("k"), args...)))
		}
		form := adt.Lookup(w.id)
		requireFailure(t, kv.KindInvalid, form.Name, failure(entry.Value{}, msg.Op{Kind: msg.OpUpdate, Key: []byte("k"), Type: uint32(w.id), Method: 99}))
	}
}

// TestNumbersOfCollections: stored, and must never change.
func TestNumbersOfCollections(t *testing.T) {
	for id, want := range map[entry.Type]string{
		2: "set: add remove contains len members add-count remove-count / add remove insert take present absent member all",
		3: "map: set delete get get-many increment increment-get len all range has set-if-absent / " +
			"set overwrite increment bump delete get present absent len all",
		4: "sorted-set: add increment remove score rank range-by-rank range-by-score len increment-get rev-rank range-by-rev-rank / " +
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

// FuzzStoredCollections: a stored form that was damaged is read back, and is what
// was read, or is an error.
func FuzzStoredCollections(f *testing.F) {
	for _, w := range collections {
		f.Add(uint8(w.id), []byte{1, 2, 1, 'a', 1, 'b'})
		f.Add(uint8(w.id), []byte{1, 1, 3, 'a', 'b', 'c', 2, '1', '2'})
		f.Add(uint8(w.id), []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	}
	f.Fuzz(func(t *testing.T, id uint8, form []byte) {
		if !slices.ContainsFunc(collections, func(w *twinned) bool { return uint8(w.id) == id }) {
			return
		}
		v, err := adt.Apply(entry.Type(id), &entry.Value{Type: entry.Type(id), Version: kv.Version{Write: 1}, Payload: bytes.Clone(form)}, nil)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		require.Equal(t, form, adt.Payload(&v), "two stored forms of one value")
	})
}
