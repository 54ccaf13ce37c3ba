package adt

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// sortedPages declares how a sorted set is stored in pages: by member and by score. A patch
// contains the old score, from which the changes of both indexes follow.
//
// A member is looked up by name, so the page of the index by member must be in memory for a call; the page of the
// index by score is needed only for ranks and ranges. A change buffers what it does to that one:
//
//	add 7 m     scores: page of m is read, old score 3; ranks: drop (3, m), insert (7, m), both buffered
func sortedPages() *Pages[sortedState] {
	type S = sortedState
	return &Pages[S]{
		InPages: func(s S) bool { return s.scores.InPages() },
		// each member is in both indexes
		Away: func(s S) int { return (s.scores.AbsentBytes() + s.ranks.AbsentBytes() + 1) / 2 },
		Store: func(s S, to *paged.PageWriter) S {
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
			a, n := s.scores.BufferedPages()
			b, m := s.ranks.BufferedPages()
			return append(a, b...), n + m
		},
		Changed: func(b []byte, before, after S, name string) []byte {
			old, was := before.scores.Get(name)
			now, is := after.scores.Get(name)
			if was == is && old == now {
				return b
			}
			b = append(paged.AppendText(b, name), elementFlags(was, is))
			if was {
				b = paged.AppendNumber(b, old)
			}
			if is {
				b = paged.AppendNumber(b, now)
			}
			return b
		},
		Change: applyScorePatches,
	}
}

// applyScorePatches applies patches to both indexes. Changes of one member are merged first: it may
// be removed and added again within the patches.
func applyScorePatches(s sortedState, patches []paged.Reader) (sortedState, error) {
	type change struct {
		was, is  bool
		old, now int64
	}
	net := map[string]change{}
	err := readPatches(patches, func(r *paged.Reader, name string, was, is bool) (err error) {
		c := change{was: was, is: is}
		if was {
			c.old, err = r.Number()
		}
		if err == nil && is {
			c.now, err = r.Number()
		}
		if before, ok := net[name]; ok {
			if before.is != was || was && before.now != c.old {
				return errPatchOrder
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
	return sortedState{s.scores.Change(sortedChanges(scoresForm.Order, scores)...),
		s.ranks.Change(sortedChanges(ranksForm.Order, ranks)...)}, nil
}
