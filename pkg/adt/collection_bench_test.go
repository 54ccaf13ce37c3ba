package adt_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// large is how many elements the values of the benchmarks have.
const large = 100_000

// filled returns a value with many elements: the method is called with the arguments that arg returns for each number.
func (w *collectionType) filled(b testing.TB, method string, arg func(i int) []msg.Datum) entry.Value {
	v := entry.Value{}
	for i := 0; i < large; {
		var a adt.Args
		for range 1000 {
			a = append(a, arg(i)...)
			i++
		}
		after, err := adt.Apply(w.id, &v, []msg.Call{{Method: w.method(method).Number, Args: a}})
		require.NoError(b, err)
		v = stored(after)
	}
	return v
}

// member returns one of many members, unordered.
func member(i int) string { return fmt.Sprintf("member-%08x", uint32(i)*2654435761) }

func (w *collectionType) full(b testing.TB) entry.Value {
	switch w.id {
	case adt.Map:
		return w.filled(b, "set", func(i int) []msg.Datum { return data(member(i), "12345") })
	case adt.SortedSet:
		return w.filled(b, "add", func(i int) []msg.Datum { return data(float64(uint32(i)*2246822519), member(i)) })
	case adt.List:
		return w.filled(b, "append", func(i int) []msg.Datum { return data(member(i)) })
	}
	return w.filled(b, "add", func(i int) []msg.Datum { return data(member(i)) })
}

// callOf plans a call and makes what it changes.
func (w *collectionType) callOf(b *testing.B, v *entry.Value, op *msg.Op, buf []adt.Mode) []adt.Mode {
	r := adt.Request{Method: adt.Lookup(w.id).Method(op.Method), Args: op.Args, Value: v}
	plan, buf := r.Plan(buf[:0])
	if plan.Err != nil {
		b.Fatal(plan.Err)
	}
	if len(plan.Calls) > 0 {
		if _, err := adt.Apply(w.id, v, plan.Calls); err != nil {
			b.Fatal(err)
		}
	}
	return buf
}

// BenchmarkCalls plans and makes calls of values with 100,000 elements.
func BenchmarkCalls(b *testing.B) {
	for _, bench := range []struct {
		w    *collectionType
		name string
		args func(i int) []msg.Datum
	}{
		{&setType, "add", func(i int) []msg.Datum { return data(member(large + i)) }},
		{&setType, "contains", func(i int) []msg.Datum { return data(member(i)) }},
		{&mapType, "set", func(i int) []msg.Datum { return data(member(i%large), "54321") }},
		{&mapType, "increment", func(i int) []msg.Datum { return data(member(i%large), 1) }},
		{&sortedSetType, "add", func(i int) []msg.Datum { return data(float64(i), member(i%large)) }},
		{&sortedSetType, "increment", func(i int) []msg.Datum { return data(member(i%large), 1.5) }},
		{&sortedSetType, "rank", func(i int) []msg.Datum { return data(member(i % large)) }},
		{&sortedSetType, "range-by-rank", func(i int) []msg.Datum { return data(i%large, i%large+9) }},
		{&listType, "append", func(i int) []msg.Datum { return data(member(i)) }},
		{&listType, "get", func(i int) []msg.Datum { return data(i % large) }},
		{&listType, "trim", func(i int) []msg.Datum { return data(i%large, -1) }},
	} {
		b.Run(adt.TypeName(bench.w.id)+"/"+bench.name, func(b *testing.B) {
			v := bench.w.full(b)
			ops := make([]msg.Op, 1024)
			for i := range ops {
				ops[i] = msg.Op{Method: bench.w.method(bench.name).Number, Args: bench.args(i * 97)}
			}
			var buf []adt.Mode
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				buf = bench.w.callOf(b, &v, &ops[i%len(ops)], buf)
				i++
			}
		})
	}
}

// BenchmarkStored writes and reads the stored forms of values with 100,000
// elements.
func BenchmarkStored(b *testing.B) {
	for _, w := range collections {
		v := w.full(b)
		form := bytes.Clone(adt.Payload(&v))
		b.Run("decode/"+adt.TypeName(w.id), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(form)))
			for b.Loop() {
				if _, err := adt.Apply(w.id, &entry.Value{Type: v.Type, Version: v.Version, Payload: form}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encode/"+adt.TypeName(w.id), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(form)))
			for b.Loop() {
				adt.Payload(&entry.Value{Type: v.Type, Version: v.Version, State: v.State})
			}
		})
	}
}
