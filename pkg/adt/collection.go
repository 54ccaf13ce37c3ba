package adt

import (
	"errors"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// MaxMemberBytes limits a member of a set or sorted set and a field of a map; the minimum is 0.
// They are keys of trees and are compared often, so the limit is lower than that of values.
const MaxMemberBytes = 64 << 10

// collectionForm is the first byte of the stored form of a set, map, sorted set or list. A later
// layout gets another number.
const collectionForm = 1

// checkMemberSizes returns an error if a member is too long. Members are the arguments at a place
// in each group of every arguments.
func checkMemberSizes(a Args, every, place int, what string) error {
	for i := place; i < len(a); i += every {
		if n := len(a[i].Bytes); n > MaxMemberBytes {
			return Errorf(kv.KindInvalid, "a %s has %d bytes; the limit is %d", what, n, MaxMemberBytes)
		}
	}
	return nil
}

// partsEvery returns a Part function: each argument at a place in a group of every arguments is a
// part.
func partsEvery(every, place int) func(Args) [][]byte {
	return func(a Args) [][]byte {
		out := make([][]byte, 0, len(a)/every)
		for i := place; i < len(a); i += every {
			out = append(out, a[i].Bytes)
		}
		return out
	}
}

// firstPart is a Part function: the first argument is the part.
func firstPart(a Args) [][]byte { return [][]byte{a[0].Bytes} }

// concatArgs returns a Combine function for methods that process each group of arguments in order.
// The result never has more than MaxLockedParts parts: above that, it would lock the whole value.
//
// A transaction that adds ten members one by one has one call with ten arguments in its effect, and not ten calls.
//
//	add s a; add s b; add s a     one call: add a b a
//	sixteen members and one more  two calls, so that the locks stay those of members
func concatArgs(every int) func(first, then Args) (Args, bool) {
	return func(first, then Args) (Args, bool) {
		if len(first)+len(then) > every*MaxLockedParts {
			return nil, false
		}
		return append(append(make(Args, 0, len(first)+len(then)), first...), then...), true
	}
}

// positionRange converts positions first to last, inclusive, into the bounds of a slice of n
// elements. Negative positions count from the end; positions outside are cut off (Redis' LRANGE).
func positionRange(first, last int64, n int) (i, j int) {
	if first < 0 {
		first += int64(n)
	}
	if last < 0 {
		last += int64(n)
	}
	first, last = max(first, 0), min(last, int64(n)-1)
	if first > last {
		return 0, 0
	}
	return int(first), int(last) + 1
}

// deleteNamed removes the named members or fields that exist.
//
// Applied after other transactions' changes, some of the names may be gone already. Deleting is idempotent, which is
// why two deletions of one member commute.
func deleteNamed[V any](s paged.Map[string, V], names Args) (paged.Map[string, V], error) {
	for _, d := range names {
		if name := string(d.Bytes); s.Has(name) {
			s = s.Delete(name)
		}
	}
	return s, nil
}

// commuteTable converts a table into declarations: by kind, the condition for each kind of change,
// of which first is the first; 0 is never.
//
// Only the columns of kinds that change the value are listed: two queries always commute.
func commuteTable(first Kind, when [][]When) (out []Commutes) {
	for a, row := range when {
		for i, w := range row {
			if w != 0 {
				out = append(out, Commutes{Kind(a), first + Kind(i), w})
			}
		}
	}
	return out
}

var errEmpty = errors.New("it has no elements, and would not have been kept")

// openStored reads the version and the number of elements of a stored collection, each of at least
// least bytes. A number that the remaining bytes cannot contain is rejected before memory is
// allocated for it.
func openStored(payload []byte, least int) (r paged.Reader, n int, err error) {
	if len(payload) == 0 || payload[0] != collectionForm {
		return r, 0, errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	r.Rest = string(payload[1:])
	n, err = r.Count(least)
	if err == nil && n == 0 {
		err = errEmpty
	}
	return r, n, err
}

// encodedSize returns the length of encodeElements.
func encodedSize[V any](s paged.Map[string, V]) int {
	return 1 + paged.UnsignedBytes(uint64(s.Len())) + s.Bytes()
}

// encodeElements writes the version, the number of elements, and each name with its length and its
// value as the form does, in the order of names.
func encodeElements[V any](f *paged.Form[string, V], s paged.Map[string, V]) []byte {
	b := paged.AppendLength(append(make([]byte, 0, encodedSize(s)), collectionForm), s.Len())
	for name, v := range s.All() {
		b = f.AppendValue(f.AppendKey(b, name), v)
	}
	return b
}

// decodeElements is the inverse of encodeElements, of elements of at least least bytes. It rejects
// names that are not in order, each once.
func decodeElements[V any](f *paged.Form[string, V], payload []byte, least int) (m paged.Map[string, V], err error) {
	r, n, err := openStored(payload, least)
	if err != nil {
		return m, err
	}
	s, err := tree.Build(f.Order, n, func() (name string, v V, err error) {
		name, err = f.ReadKey(&r)
		if err == nil {
			v, err = f.ReadValue(&r)
		}
		return name, v, err
	})
	if err == nil {
		err = r.End()
	}
	return paged.Whole(s), err
}

// newTextForm returns the page form of members or fields, ordered by their bytes, with values.
func newTextForm[V any](bytes func(string, V) int, write func([]byte, V) []byte,
	read func(*paged.Reader) (V, error)) *paged.Form[string, V] {
	return paged.NewForm(paged.Form[string, V]{
		Order:     &tree.Order[string, V]{Compare: strings.Compare, Bytes: bytes},
		AppendKey: paged.AppendText, ReadKey: (*paged.Reader).Text, AppendValue: write, ReadValue: read,
	})
}

// failPlan returns the plan of a call that fails.
func failPlan(err error) Plan { return Plan{Err: err} }

// noChange returns the plan of a call that changes nothing under a lock that keeps this true.
func noChange(need Kind, answer ...msg.Datum) Plan { return Plan{Need: need, Answer: answer} }
