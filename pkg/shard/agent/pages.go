package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// OnLoaded handles the arrival of a key or of pages that a prepared attempt needs after a restart. A
// commit that waits for them is applied. A failed read is retried by Housekeep.
func (p *Participant) OnLoaded(w *store.Wake) {
	pr := w.Waiter.(*prepared)
	switch {
	case w.Page:
		p.onPagesRead(pr, w.Err)
	case w.Err != nil:
		p.readFailed = append(p.readFailed, pr)
	case p.isCurrent(pr) && p.canApply(pr) && pr.decided != nil:
		p.onDecision(pr.decided)
	}
}

// isCurrent reports whether a prepared attempt is still undecided here.
func (p *Participant) isCurrent(pr *prepared) bool {
	a := p.attempts.byRef[pr.row.Txn]
	return a != nil && a.prepared == pr
}

// canApply reports whether a prepared attempt can be applied without reading. Before a restart
// everything needed is in memory. After it, the keys are read, then the pages that its changes need.
// If the stored value contradicts the change, the store is damaged: the attempt can be neither
// applied nor aborted, stays prepared, and is tried again.
func (p *Participant) canApply(pr *prepared) bool {
	if !pr.areItemsLoaded() {
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
		if pages := adt.AbsentPages(err); pages != nil {
			p.Store.Pages(it, pages, pr)
		} else if err != nil {
			p.scheduleReread(pr)
		}
		able = able && err == nil
	}
	pr.recovered = !able
	return able
}

// scheduleReread lets Housekeep try a prepared attempt once more.
func (p *Participant) scheduleReread(pr *prepared) {
	p.Store.CountReadError()
	if !slices.Contains(p.readFailed, pr) {
		p.readFailed = append(p.readFailed, pr)
	}
}

// onPagesRead continues a prepared attempt whose pages have arrived.
func (p *Participant) onPagesRead(pr *prepared, err error) {
	switch {
	case !p.isCurrent(pr):
	case err != nil:
		p.scheduleReread(pr)
	case p.canApply(pr) && pr.decided != nil:
		d := pr.decided
		pr.decided = nil
		p.onDecision(d)
	}
}

// retryReads requests again the keys of prepared attempts that could not be read, unless they have
// been aborted meanwhile.
func (p *Participant) retryReads() {
	unread := p.readFailed
	p.readFailed = nil
	for _, pr := range unread {
		if !p.isCurrent(pr) {
			continue
		}
		for _, it := range pr.items {
			if !it.Loaded && !slices.Contains(it.Waiting, any(pr)) {
				p.Store.Await(it, pr)
			}
		}
		p.canApply(pr)
	}
}
