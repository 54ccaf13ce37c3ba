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

// Absent is the error of what lacks pages of a value. Whoever gets it has them
// read and filled, and does the same again.
type Absent = paged.Absent

// Lacks are the pages that an error says are lacking; nil if it is another.
func Lacks(err error) []Page {
	if a := (*Absent)(nil); errors.As(err, &a) {
		return a.Pages
	}
	return nil
}

// Pages is how values of a type are stored in pages, if they can be: those whose
// elements have names, which are the parts of the type's calls.
type Pages[S any] struct {
	// InPages reports whether a value is in pages, Away about how many of its bytes,
	// as Size counts them, are not in memory; 0 only if all are.
	InPages func(S) bool
	Away    func(S) int
	// Store is paged.Map's Store, and InOne its InOne.
	Store func(S, *paged.Storing) S
	InOne func(S) (S, bool)
	// Refs and Directory append the names of a value's pages and its directory,
	// which Open reads.
	Refs      func([]entry.PageRef, S) []entry.PageRef
	Directory func([]byte, S) []byte
	Open      func(*paged.Reader, *[]entry.PageRef) (S, error)
	// Missing lists the pages that are not in memory: all of them, or those without
	// which it is not known whether there are elements of some names.
	Missing func(S, ...string) []Page
	// Tops is paged.Map's Tops.
	Tops func(S) ([]Page, int)
	// Changed appends what became of the element of a name, if anything did, and
	// Change reads that, patch by patch, and does it again.
	Changed func(b []byte, before, after S, name string) []byte
	Change  func(S, []paged.Reader) (S, error)
}

// erased takes the Go type of the values away.
func (p *Pages[S]) erased() *Pages[any] {
	if p == nil {
		return nil
	}
	return &Pages[any]{
		InPages:   func(s any) bool { return p.InPages(s.(S)) },
		Away:      func(s any) int { return p.Away(s.(S)) },
		Store:     func(s any, to *paged.Storing) any { return p.Store(s.(S), to) },
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

// lacking has a panic of what lacks pages, or contradicts them, be an error. What
// it lacks comes with all that the calls' parts lack, so that one round does.
func (t *Type) lacking(s any, err *error, parts func() []string) {
	switch p := recover().(type) {
	case nil:
	case *Absent:
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

// names are the elements that calls are about, each once, in order.
func (t *Type) names(calls []msg.Call) (out []string) {
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
