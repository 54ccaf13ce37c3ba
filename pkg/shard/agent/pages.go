package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Woken takes a key, or pages, that a promise has waited for: it may be kept now. What cannot be
// read is asked for again later.
func (p *Participant) Woken(w *store.Wake) {
	pr := w.Waiter.(*prepared)
	switch {
	case w.Page:
		p.pagedForPromise(pr, w.Err)
	case w.Err != nil:
		p.unread = append(p.unread, pr)
	case p.stands(pr) && p.ready(pr) && pr.decided != nil:
		p.onDecide(pr.decided)
	}
}

// stands reports whether a promise has not been settled meanwhile.
func (p *Participant) stands(pr *prepared) bool {
	a := p.attempts.of[pr.row.Txn]
	return a != nil && a.prepared == pr
}

// ready reports whether a promise, which stands, can be kept at once. After a restart its keys
// are read, and then the pages that its changes need are. If what is stored
// contradicts itself, the promise can be neither kept nor broken: it waits, and is
// looked at again later.
func (p *Participant) ready(pr *prepared) bool {
	if !pr.loaded() {
		return false
	}
	if !pr.recovered {
		return true
	}
	able := true
	for i, it := range pr.items {
		e := &pr.row.Effects[i]
		if e.Kind != entry.EffectChange {
			continue
		}
		_, err := adt.Apply(entry.Type(e.Type), &it.Value, e.Calls)
		if pages := adt.Lacks(err); pages != nil {
			p.Store.Pages(it, pages, pr)
		} else if err != nil {
			p.unreadable(pr)
		}
		able = able && err == nil
	}
	pr.recovered = !able
	return able
}

// unreadable has a promise be looked at again later.
func (p *Participant) unreadable(pr *prepared) {
	p.Store.Failed()
	if !slices.Contains(p.unread, pr) {
		p.unread = append(p.unread, pr)
	}
}

// pagedForPromise: a promise may be kept now. What cannot be read is asked for
// again later.
func (p *Participant) pagedForPromise(pr *prepared, err error) {
	switch {
	case !p.stands(pr):
	case err != nil:
		p.unreadable(pr)
	case p.ready(pr) && pr.decided != nil:
		d := pr.decided
		pr.decided = nil
		p.onDecide(d)
	}
}

// readAgain asks once more for the keys of promises that could not be read,
// unless they have been given up meanwhile.
func (p *Participant) readAgain() {
	unread := p.unread
	p.unread = nil
	for _, pr := range unread {
		if !p.stands(pr) {
			continue
		}
		for _, it := range pr.items {
			if !it.Loaded && !slices.Contains(it.Waiting, any(pr)) {
				p.Store.Await(it, pr)
			}
		}
		p.ready(pr)
	}
}
