package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// OnLoaded handles the arrival of a key or of pages that a prepared attempt needs after a restart. A
// commit that waits for them is applied. A failed read is retried by Housekeep.
func (p *Participant) OnLoaded(w *store.Wake) {
	pr := w.Waiter.(*attempt.Prepared)
	switch {
	case w.Page:
		p.onPagesRead(pr, w.Err)
	case w.Err != nil:
		p.readFailed = append(p.readFailed, pr)
	case p.isCurrent(pr) && p.canApply(pr) && pr.Decided != nil:
		p.onDecision(pr.Decided)
	}
}

// isCurrent reports whether a prepared attempt is still undecided here.
func (p *Participant) isCurrent(pr *attempt.Prepared) bool {
	a := p.Attempts.Get(pr.Row.Txn)
	return a != nil && a.Prepared == pr
}

// canApply reports whether a prepared attempt can be applied without reading. Before a restart
// everything needed is in memory. After it, the keys are read, then the pages that its changes need.
// If the stored value contradicts the change, the store is damaged: the attempt can be neither
// applied nor aborted, stays prepared, and is tried again.
func (p *Participant) canApply(pr *attempt.Prepared) bool {
	if !pr.AreItemsLoaded() {
		return false
	}
	if !pr.Recovered {
		return true
	}
	able := true
	for i, it := range pr.Items {
		e := &pr.Row.Effects[i]
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
	pr.Recovered = !able
	return able
}

// scheduleReread lets Housekeep try a prepared attempt once more.
func (p *Participant) scheduleReread(pr *attempt.Prepared) {
	p.Store.CountReadError()
	if !slices.Contains(p.readFailed, pr) {
		p.readFailed = append(p.readFailed, pr)
	}
}

// onPagesRead continues a prepared attempt whose pages have arrived.
func (p *Participant) onPagesRead(pr *attempt.Prepared, err error) {
	switch {
	case !p.isCurrent(pr):
	case err != nil:
		p.scheduleReread(pr)
	case p.canApply(pr) && pr.Decided != nil:
		d := pr.Decided
		pr.Decided = nil
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
		for _, it := range pr.Items {
			if !it.Loaded && !slices.Contains(it.Waiting, any(pr)) {
				p.Store.Await(it, pr)
			}
		}
		p.canApply(pr)
	}
}
