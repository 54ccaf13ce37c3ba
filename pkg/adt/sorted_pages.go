package adt

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// sortedPages is how a sorted set is stored in pages: its members by name, and
// by score. A change says what the score was, from which follows what changes in
// both.
func sortedPages() *Pages[sortedState] {
	type S = sortedState
	return &Pages[S]{
		InPages: func(s S) bool { return s.scores.InPages() },
		Away:    func(s S) int { return (s.scores.Away() + s.ranks.Away() + 1) / 2 }, // each member is in both
		Store: func(s S, to *paged.Storing) S {
			return S{s.scores.Store(scoresForm, to), s.ranks.Store(ranksForm, to)}
		},
		InOne: func(s S) (S, bool) {
			scores, ok := s.scores.InOne()
			ranks, ok2 := s.ranks.InOne()
			return S{scores, ranks}, ok && ok2
		},
		Refs:      func(out []entry.PageRef, s S) []entry.PageRef { return s.ranks.AppendRefs(s.scores.AppendRefs(out)) },
		Directory: func(b []byte, s S) []byte { return s.ranks.AppendDirectory(s.scores.AppendDirectory(b)) },
		Open: func(r *paged.Reader, refs *[]entry.PageRef) (s S, err error) {
			s.scores, err = paged.ReadDirectory(scoresForm, r, refs)
			if err == nil {
				s.ranks, err = paged.ReadDirectory(ranksForm, r, refs)
			}
			if err == nil && s.scores.Len() != s.ranks.Len() {
				err = errors.New("it has not as many members as scores")
			}
			return s, err
		},
		Missing: func(s S, names ...string) []Page {
			out := s.scores.Missing(names...)
			if len(names) == 0 {
				out = append(out, s.ranks.Missing()...)
			}
			return out
		},
		Tops: func(s S) ([]Page, int) {
			a, n := s.scores.Tops()
			b, m := s.ranks.Tops()
			return append(a, b...), n + m
		},
		Changed: func(b []byte, before, after S, name string) []byte {
			old, was := before.scores.Get(name)
			now, is := after.scores.Get(name)
			if was == is && old == now {
				return b
			}
			b = append(paged.AppendText(b, name), flags(was, is))
			if was {
				b = paged.AppendNumber(b, old)
			}
			if is {
				b = paged.AppendNumber(b, now)
			}
			return b
		},
		Change: changeScored,
	}
}

func changeScored(s sortedState, patches []paged.Reader) (sortedState, error) {
	type change struct {
		was, is  bool
		old, now int64
	}
	net := map[string]change{}
	err := eachChange(patches, func(r *paged.Reader, name string, was, is bool) (err error) {
		c := change{was: was, is: is}
		if was {
			c.old, err = r.Number()
		}
		if err == nil && is {
			c.now, err = r.Number()
		}
		if before, ok := net[name]; ok {
			if before.is != was || was && before.now != c.old {
				return errPatches
			}
			c.was, c.old = before.was, before.old
		}
		net[name] = c
		return err
	})
	if err != nil {
		return s, err
	}
	scores, ranks := map[string]paged.Change[string, int64]{}, map[scored]paged.Change[scored, struct{}]{}
	for name, c := range net {
		if c.was && c.is && c.old == c.now {
			continue
		}
		x := paged.Change[string, int64]{Key: name, Was: c.was, Is: c.is, Value: c.now}
		if c.was {
			at := scored{c.old, name}
			x.Old = scoresForm.Order.Bytes(name, c.old)
			ranks[at] = paged.Change[scored, struct{}]{Key: at, Was: true, Old: ranksForm.Order.Bytes(at, struct{}{})}
		}
		if c.is {
			at := scored{c.now, name}
			ranks[at] = paged.Change[scored, struct{}]{Key: at, Is: true}
		}
		scores[name] = x
	}
	return sortedState{s.scores.Change(inOrder(scoresForm.Order, scores)...), s.ranks.Change(inOrder(ranksForm.Order, ranks)...)}, nil
}
