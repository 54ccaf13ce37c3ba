package adt

import (
	"errors"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Page is a stored page of a value that may not be in memory.
type Page = paged.Page

// Absent is the error of an operation that needs pages which are not in memory. The caller loads
// the pages and repeats the operation.
type Absent = paged.Absent

// AbsentPages returns the pages that err reports as not in memory; nil for other errors.
func AbsentPages(err error) []Page {
	if a := (*Absent)(nil); errors.As(err, &a) {
		return a.Pages
	}
	return nil
}

// Pages declares how values of a type are stored in pages: types whose elements have names, which
// are the parts of the type's calls.
type Pages[S any] struct {
	// InPages reports whether a value is in pages. Away approximates how many of its bytes, as
	// counted by Size, are not in memory; it is 0 only if all are.
	InPages func(S) bool
	Away    func(S) int
	// Store is paged.Map.Store, and InOne is paged.Map.InOne.
	Store func(S, *paged.PageWriter) S
	InOne func(S) (S, bool)
	// Refs and Directory append the references to a value's pages and its directory, which Open
	// reads.
	Refs      func([]entry.PageRef, S) []entry.PageRef
	Directory func([]byte, S) []byte
	Open      func(*paged.Reader, *[]entry.PageRef) (S, error)
	// Missing lists the pages that are not in memory: all, or those needed to know whether elements
	// of some names exist.
	Missing func(S, ...string) []Page
	// Tops is paged.Map.BufferedPages.
	Tops func(S) ([]Page, int)
	// Changed appends the change of the named element, if any, to a patch. Change applies patches.
	Changed func(b []byte, before, after S, name string) []byte
	Change  func(S, []paged.Reader) (S, error)
}

// erased wraps the functions for values of type any.
func (p *Pages[S]) erased() *Pages[any] {
	if p == nil {
		return nil
	}
	return &Pages[any]{
		InPages:   func(s any) bool { return p.InPages(s.(S)) },
		Away:      func(s any) int { return p.Away(s.(S)) },
		Store:     func(s any, to *paged.PageWriter) any { return p.Store(s.(S), to) },
		InOne:     func(s any) (any, bool) { return p.InOne(s.(S)) },
		Refs:      func(out []entry.PageRef, s any) []entry.PageRef { return p.Refs(out, s.(S)) },
		Directory: func(b []byte, s any) []byte { return p.Directory(b, s.(S)) },
		Open:      func(r *paged.Reader, refs *[]entry.PageRef) (any, error) { return p.Open(r, refs) },
		Missing:   func(s any, names ...string) []Page { return p.Missing(s.(S), names...) },
		Tops:      func(s any) ([]Page, int) { return p.Tops(s.(S)) },
		Changed: func(b []byte, before, after any, name string) []byte {
			return p.Changed(b, before.(S), after.(S), name)
		},
		Change: func(s any, patches []paged.Reader) (any, error) { return p.Change(s.(S), patches) },
	}
}

// recoverAbsent converts a panic about absent or damaged pages into an error. It adds all other
// pages that the calls' parts need, so that one read round suffices. It is deferred: the trees of
// package paged have no errors in their signatures, because every access could fail.
//
//	call            contains(x), contains(y) on a set of 100 pages, none in memory
//	without parts   panic: page 3 is absent; load it; panic: page 70 is absent; load it; executed
//	with parts      panic: page 3 is absent, and 70 is needed, too; load both; executed
func (t *Type) recoverAbsent(s any, err *error, parts func() []string) {
	switch p := recover().(type) {
	case nil:
	case *Absent:
		// The panic names the first absent page only. The call may need pages of its other parts as
		// well.
		if names := parts(); len(names) > 0 {
			for _, page := range t.pages.Missing(s, names...) {
				if !slices.Contains(p.Pages, page) {
					p.Pages = append(p.Pages, page)
				}
			}
		}
		*err = p
	case *paged.Damaged:
		*err = kv.Errorf(kv.KindCorrupt, "a stored %s contradicts itself: %s", t.Name, p.Text)
	default:
		panic(p)
	}
}

// elementNames returns the names of the elements that calls concern, each once, in order.
func (t *Type) elementNames(calls []msg.Call) (out []string) {
	seen := map[string]bool{}
	for i := range calls {
		m := t.Method(calls[i].Method)
		if m == nil || m.part == nil {
			continue
		}
		for _, p := range m.part(calls[i].Args) {
			if name := string(p); !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}
