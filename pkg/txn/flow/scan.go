package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/page"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Scan reads a range page by page, at a state of the whole store.
type Scan struct {
	Call
	page.Paging
	// opened: the state is fixed, and its client knows.
	opened bool
}

// NewScan makes a scan. The deadline is for its opening.
func NewScan(h *Host, token Token, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how How) *Scan {
	s := &Scan{Paging: page.Paging{Span: span, Reverse: reverse, User: how.User}}
	s.Call = Call{Kind: ScanKind, Ref: kv.TxnRef{TxnID: id, Attempt: 1}, Token: token, ReadOnly: true, How: how}
	s.past = pastOf(how)
	s.started = h.Now
	s.bound(h, deadline)
	s.from, s.by = s.started, s.deadline
	return s
}

// Start fixes the state that is read.
func (s *Scan) Start(h *Host) Outcome {
	if s.unresolved() {
		return h.resolve(s)
	}
	f := h.Door.AdmitScan(s)
	if f != nil {
		return Failed(f)
	}
	if s.past == nil {
		s.seat.Need = round.All
		return s.waits()
	}
	s.Pin = s.past.pin.Number
	s.Fix(s.Ref, s.past.at, nil, h.EveryShard())
	return s.open(h)
}

// Replied takes the snapshot that it is to read at.
func (s *Scan) Replied(h *Host, _, m *msg.Envelope) Outcome {
	return h.resolved(s, msg.As[msg.SnapshotResponse](m))
}

// Pinned reads at a state that a round has fixed.
func (s *Scan) Pinned(h *Host, p *round.Round) Outcome {
	h.Rounds.Use(p)
	s.Fix(p.Name, &p.At, p.Incs, h.EveryShard())
	return s.open(h)
}

// Unpinned: there is no such state.
func (s *Scan) Unpinned(_ *Host, f *msg.Failure) Outcome { return Aborted(f) }

// open answers the client: the state is fixed.
func (s *Scan) open(h *Host) Outcome {
	s.Phase, s.opened = Paging, true
	s.by, s.deadline, s.oldest = 0, h.Now+int64(kv.DefaultScanKeep), 0 // the age bounds the opening only
	h.Timed(s.deadline)
	d := Done{Committed: true, Plan: env.PlanSnapshot, At: msg.Indexes(&s.At)}
	s.Stamp(&d)
	if d.Failure != nil {
		return Over(d)
	}
	h.Answer(&s.Call, d)
	return GoesOn
}

// Next asks for the next page, if the last page is there; ok is false if it is not. The client wants
// left pairs at most from here on; 0 is no bound.
func (s *Scan) Next(h *Host, token Token, left int) (o Outcome, ok bool) {
	if s.Phase != Paging || s.Token != nil {
		return GoesOn, false
	}
	s.Token = token
	s.started, s.deadline = h.Now, h.Now+int64(kv.DefaultScanKeep)
	s.Paging.Start(h.Env, left)
	s.askDue(h)
	return s.page(h), true
}

// askDue asks the shards of which nothing is here.
func (s *Scan) askDue(h *Host) {
	for _, sh := range s.Due() {
		h.page++
		h.Pages[h.page] = s
		s.Ask(h.Env, sh, h.page)
	}
}

// Page takes a shard's page.
func (s *Scan) Page(h *Host, r *msg.ReadPageResponse) Outcome {
	if s.Phase != Paging || !s.Took(r) {
		return GoesOn
	}
	delete(h.Pages, r.Number)
	if r.Gone && s.Pin != 0 {
		text := "the snapshot does not exist: it has expired or was dropped"
		return Failed(env.Failure(msg.ReasonRequest, kv.KindTooOld, text))
	}
	if r.Gone {
		text := "a shard no longer keeps the state that the scan reads; start the scan again"
		return Failed(env.Failure(msg.ReasonIncarnation, kv.KindAborted, text))
	}
	if len(r.Pairs) == 0 {
		s.askDue(h)
	}
	return s.page(h)
}

// page answers Next when every shard has something to merge, or is done.
func (s *Scan) page(h *Host) Outcome {
	if s.Token == nil || len(s.Asked()) > 0 {
		return GoesOn
	}
	pairs, more := s.Merge()
	d := Done{Pairs: pairs, More: more, Committed: true}
	if !more {
		return Over(d)
	}
	h.Answer(&s.Call, d)
	return GoesOn
}

// Awaits lists the shards that have not answered, and so does Shards.
func (s *Scan) Awaits() []kv.ShardID {
	if s.Phase == Paging && s.Token != nil {
		return s.Paging.Awaits()
	}
	return nil
}

func (s *Scan) Shards() []kv.ShardID { return s.Awaits() }

// Repeat asks again for pages.
func (s *Scan) Repeat(h *Host) Outcome {
	if s.Phase == Paging && s.Token != nil {
		s.Tick(h.Env)
	}
	return GoesOn
}

// Release gives up what is asked for, and so does End.
func (s *Scan) Release(h *Host) {
	for _, n := range s.Asked() {
		delete(h.Pages, n)
	}
	if s.Pin != 0 { // else the shards are told with the state that they keep for it
		s.Paging.Stop(h.Env)
	}
}

func (s *Scan) End(h *Host, _ *msg.Failure) { s.Release(h) }

// Seen is the state that is scanned.
func (s *Scan) Seen() []msg.ShardCSN { return msg.Indexes(&s.At) }
