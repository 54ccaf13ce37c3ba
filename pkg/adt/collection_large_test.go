package adt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// large is how many elements large values have.
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
