package adt

import (
	"errors"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Flags of an element in a patch.
const (
	existedBefore = 1 << iota
	existsAfter
)

// mapPages declares the pages of a type whose values are one Map by name.
//
// A patch names each element with flags, its size before, and its value after:
//
//	"x" existed, exists; 12 bytes before; new value      an overwrite
//	"y" existed; 7 bytes before                          a deletion
//	"z" exists; new value                                an insertion
func mapPages[V comparable](f *paged.Form[string, V]) *Pages[paged.Map[string, V]] {
	type S = paged.Map[string, V]
	return &Pages[S]{
		InPages: S.InPages, Away: S.AbsentBytes, InOne: S.InOne, Missing: S.Missing, Tops: S.BufferedPages,
		Store:     func(s S, to *paged.PageWriter) S { return s.Store(f, to) },
		Refs:      func(out []entry.PageRef, s S) []entry.PageRef { return s.AppendRefs(out) },
		Directory: func(b []byte, s S) []byte { return s.AppendDirectory(b) },
		Open:      func(r *paged.Reader, refs *[]entry.PageRef) (S, error) { return paged.ReadDirectory(f, r, refs) },
		Changed: func(b []byte, before, after S, name string) []byte {
			old, was := before.Get(name)
			now, is := after.Get(name)
			if was == is && old == now {
				return b
			}
			b = append(paged.AppendText(b, name), elementFlags(was, is))
			if was {
				b = paged.AppendLength(b, f.Order.Bytes(name, old))
			}
			if is {
				b = f.AppendValue(b, now)
			}
			return b
		},
		Change: func(s S, patches []paged.Reader) (S, error) {
			net := map[string]paged.Change[string, V]{}
			err := readPatches(patches, func(r *paged.Reader, name string, was, is bool) (err error) {
				c := paged.Change[string, V]{Key: name, Was: was, Is: is}
				if was {
					c.Old, err = r.Length()
				}
				if err == nil && is {
					c.Value, err = f.ReadValue(r)
				}
				// Within the patches an element can change repeatedly. Each change must start where the
				// previous one has ended; otherwise a row is missing or damaged.
				if before, ok := net[name]; ok {
					if before.Is != was || was && f.Order.Bytes(name, before.Value) != c.Old {
						return errPatchOrder
					}
					c.Was, c.Old = before.Was, before.Old
				}
				net[name] = c
				return err
			})
			if err != nil {
				return s, err
			}
			return s.Change(sortedChanges(f.Order, net)...), nil
		},
	}
}

var errPatchOrder = errors.New("one change does not go on where the one before has ended")

// sortedChanges returns net changes in the order of their keys.
func sortedChanges[K comparable, V any](o *tree.Order[K, V], net map[K]paged.Change[K, V]) []paged.Change[K, V] {
	out := make([]paged.Change[K, V], 0, len(net))
	for _, c := range net {
		if c.Was || c.Is {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b paged.Change[K, V]) int { return o.Compare(a.Key, b.Key) })
	return out
}

// readPatches reads patches, oldest first.
func readPatches(patches []paged.Reader, read func(r *paged.Reader, name string, was, is bool) error) error {
	for i := range patches {
		for r := &patches[i]; r.Rest != ""; {
			name, was, is, err := readFlags(r)
			if err == nil {
				err = read(r, name, was, is)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// elementFlags encodes whether an element existed before a change and exists after it.
func elementFlags(was, is bool) (b byte) {
	if was {
		b |= existedBefore
	}
	if is {
		b |= existsAfter
	}
	return b
}

// readFlags reads the name and the flags of a change.
//
// A change of what neither existed before nor after is never written, so it is damage.
func readFlags(r *paged.Reader) (name string, was, is bool, err error) {
	var b byte
	name, err = r.Text()
	if err == nil {
		b, err = r.Byte()
	}
	if err == nil && (b == 0 || b > existedBefore|existsAfter) {
		err = errors.New("it changes what was not there and is not")
	}
	return name, b&existedBefore != 0, b&existsAfter != 0, err
}
