package adt

import (
	"errors"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// MaxMemberBytes bounds a member of a set or sorted set, and a field of a map.
// They may be empty. They are keys of trees, and compared often, so that they are
// bound to be shorter than values.
const MaxMemberBytes = 64 << 10

// collectionForm is the first byte of the stored form of a set, map, sorted set
// or list. A later layout takes another number.
const collectionForm = 1

// fitMembers tells which of the arguments is too long for a member: of every so
// many, the one at a place.
func fitMembers(a Args, every, place int, what string) error {
	for i := place; i < len(a); i += every {
		if n := len(a[i].Bytes); n > MaxMemberBytes {
			return Errorf(kv.KindInvalid, "a %s has %d bytes; the limit is %d", what, n, MaxMemberBytes)
		}
	}
	return nil
}

// eachPart has every argument of so many, from the first on, as a part of its
// own; the others say what is to be done with it.
func eachPart(every, place int) func(Args) [][]byte {
	return func(a Args) [][]byte {
		out := make([][]byte, 0, len(a)/every)
		for i := place; i < len(a); i += every {
			out = append(out, a[i].Bytes)
		}
		return out
	}
}

// firstPart has the first argument as the part, whatever comes after it.
func firstPart(a Args) [][]byte { return [][]byte{a[0].Bytes} }

// inARow makes one call of two that do what they do for each of their arguments,
// in order. It is never one of more than FewParts: that would be locked as a whole,
// as seen by readers.
func inARow(every int) func(first, then Args) (Args, bool) {
	return func(first, then Args) (Args, bool) {
		if len(first)+len(then) > every*FewParts {
			return nil, false
		}
		return append(append(make(Args, 0, len(first)+len(then)), first...), then...), true
	}
}

// span gives positions from first to last, last included, as a slice of n has
// them: from i up to j, without j. Negative ones count from the end, and those
// that there are not are left out (Redis' LRANGE).
func span(first, last int64, n int) (i, j int) {
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

// deleteNamed removes the members, or fields, that are named and there.
func deleteNamed[V any](s paged.Map[string, V], names Args) (paged.Map[string, V], error) {
	for _, d := range names {
		if name := string(d.Bytes); s.Has(name) {
			s = s.Delete(name)
		}
	}
	return s, nil
}

// commutesIn lists what a table says: by kinds, when each commutes with the kinds
// of change, of which first is the first; 0 is never.
func commutesIn(first Kind, when [][]When) (out []Commutes) {
	for a, row := range when {
		for i, w := range row {
			if w != 0 {
				out = append(out, Commutes{Kind(a), first + Kind(i), w})
			}
		}
	}
	return out
}

var errNone = errors.New("it has no elements, and would not have been kept")

// openStored reads the version of a collection's form, and how many elements of
// at least so many bytes follow. Forms that promise more than they can hold are
// refused before memory is taken for them.
func openStored(payload []byte, least int) (r paged.Reader, n int, err error) {
	if len(payload) == 0 || payload[0] != collectionForm {
		return r, 0, errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	r.Rest = string(payload[1:])
	n, err = r.Count(least)
	if err == nil && n == 0 {
		err = errNone
	}
	return r, n, err
}

// byText is the form of members and fields, by their bytes, with values.
func byText[V any](bytes func(string, V) int, write func([]byte, V) []byte, read func(*paged.Reader) (V, error)) *paged.Form[string, V] {
	return paged.NewForm(paged.Form[string, V]{
		Order:     &tree.Order[string, V]{Compare: strings.Compare, Bytes: bytes},
		AppendKey: paged.AppendText, ReadKey: (*paged.Reader).Text, AppendValue: write, ReadValue: read,
	})
}

// refused fails a call.
func refused(err error) Plan { return Plan{Err: err} }

// nothing is the plan of a call that changes nothing as things are, which is kept
// true by a lock.
func nothing(need Kind, answer ...msg.Datum) Plan { return Plan{Need: need, Answer: answer} }
