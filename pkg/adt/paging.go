package adt

import (
	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// pagesOf returns the declaration of pages if v is in pages, else nil.
func pagesOf(v *entry.Value) *Pages[any] {
	if v.State == nil {
		return nil
	}
	if t := Lookup(v.Type); t != nil && t.pages != nil && t.pages.InPages(v.State) {
		return t.pages
	}
	return nil
}

// InPages reports whether a value is in pages.
func InPages(v *entry.Value) bool { return pagesOf(v) != nil }

// CanBePaged reports whether values of the type of v can be in pages.
func CanBePaged(v *entry.Value) bool {
	t := Lookup(v.Type)
	return t != nil && t.pages != nil
}

// UnloadedBytes approximates the number of bytes of a value that are not in memory.
//
// It is 0 for most values, and the other functions of this file return at once then.
func UnloadedBytes(v *entry.Value) int {
	if p := pagesOf(v); p != nil {
		return p.Away(v.State)
	}
	return 0
}

// MissingPages returns the pages of a value that are not in memory.
func MissingPages(v *entry.Value) []Page {
	if UnloadedBytes(v) == 0 {
		return nil
	}
	return pagesOf(v).Missing(v.State)
}

// BufferedPages returns the absent pages of a value that have buffered changes, and the approximate size of
// these changes.
func BufferedPages(v *entry.Value) ([]Page, int) {
	if UnloadedBytes(v) == 0 {
		return nil, 0
	}
	return pagesOf(v).Tops(v.State)
}

// NeededPages returns the absent pages without which calls cannot be applied to a value; nil if there
// are none.
//
// It executes the calls and discards the result. That is done only for values with absent pages, of which the calls
// concern few elements.
func NeededPages(v *entry.Value, calls []msg.Call) (lacks []Page) {
	if UnloadedBytes(v) == 0 {
		return nil
	}
	_, err := Apply(v.Type, v, calls)
	return AbsentPages(err)
}

// Storing configures the writing of pages: their approximate size, and the function that stores and
// names them.
type Storing = paged.PageWriter

// StoreInPages stores a value in pages and passes the new pages to to. It changes v to the value as
// stored, and returns the references to all its pages and the directory.
//
// Only pages that have changed are written; the directory names the others as before. A page that was never loaded,
// and has changes beside it, stays as it is, and the changes go into the directory.
func StoreInPages(v *entry.Value, to *Storing) ([]entry.PageRef, []byte, error) {
	t := Lookup(v.Type)
	s, err := t.state(v)
	if err != nil {
		return nil, nil, err
	}
	v.State, v.Payload = t.pages.Store(s, to), nil
	return t.pages.Refs(nil, v.State), t.pages.Directory([]byte{directoryForm}, v.State), nil
}

// InOnePiece converts a value in pages to one in one piece if all of it is in memory, and reports
// whether v is in one piece.
func InOnePiece(v *entry.Value) bool {
	p := pagesOf(v)
	if p == nil {
		return true
	}
	s, ok := p.InOne(v.State)
	if ok {
		v.State = s
	}
	return ok
}

// The first bytes of a directory and of a patch; later layouts get other numbers.
const (
	directoryForm = 1
	patchForm     = 1
)

// Open returns a value in pages from its directory, with no page in memory. head has its type and
// version.
//
// The directory is small and is read at once with the row; pages follow when a call needs them:
//
//	row of the key     type, version, references to pages 7, 9 and 12, directory
//	Open               a value with three absent pages; len, and calls of buffered members, need no page
//	contains "m"       Absent{page 9}: the shard reads the row of page 9, and repeats the call
func Open(head entry.Value, refs []entry.PageRef, directory []byte) (entry.Value, error) {
	t := Lookup(head.Type)
	if t == nil || t.pages == nil {
		return head, kv.Errorf(kv.KindInvalid, "data type %d does not store values in pages", head.Type)
	}
	if len(directory) == 0 || directory[0] != directoryForm {
		return head, kv.Errorf(kv.KindCorrupt,
			"the directory of a stored %s has an unknown version; it may have been written by a newer linchpin", t.Name)
	}
	r := paged.Reader{Rest: string(directory[1:])}
	s, err := t.pages.Open(&r, &refs)
	if err == nil {
		err = r.End()
	}
	if err == nil && len(refs) > 0 || err == nil && t.empty(s) {
		err = paged.ErrCount
	}
	if err != nil {
		return head, kv.Errorf(kv.KindCorrupt, "the directory of a stored %s cannot be read: %v", t.Name, err)
	}
	head.State = s
	return head, nil
}

// Patch encodes the effect of calls on a value in pages: the change of each element that they
// concern.
//
// The calls themselves are not stored: applying them needs the pages that they look at, and a patch needs none. It
// contains the size of each element before, so that the directory's counts can be kept without the pages.
func Patch(before, after *entry.Value, calls []msg.Call) []byte {
	t := Lookup(after.Type)
	b := []byte{patchForm}
	for _, name := range t.elementNames(calls) {
		b = t.pages.Changed(b, before.State, after.State, name)
	}
	return b
}

// Patched returns a value in pages after patches, oldest first, without a version. It needs no
// page.
//
// Patches are folded at once, so that a page is copied once and not once for each patch.
func Patched(v *entry.Value, patches ...[]byte) (out entry.Value, err error) {
	p := pagesOf(v)
	if p == nil {
		return out, kv.Errorf(kv.KindCorrupt, "a stored change is of a value in pages, but the value is not in pages")
	}
	rs := make([]paged.Reader, len(patches))
	for i, b := range patches {
		if len(b) == 0 || b[0] != patchForm {
			return out, kv.Errorf(kv.KindCorrupt,
				"a stored change has an unknown version; it may have been written by a newer linchpin")
		}
		rs[i].Rest = string(b[1:])
	}
	t, s := Lookup(v.Type), v.State
	defer t.recoverAbsent(s, &err, func() []string { return nil })
	s, err = p.Change(s, rs)
	if err != nil {
		return out, kv.Errorf(kv.KindCorrupt, "a stored change of a %s cannot be read: %v", t.Name, err)
	}
	return t.newValue(s), nil
}
