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
func NewScan(gw *Gateway, token Token, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how How) *Scan {
	s := &Scan{Paging: page.Paging{Span: span, Reverse: reverse, User: how.User}}
	s.Call = Call{Kind: ScanKind, Ref: kv.TxnRef{TxnID: id, Attempt: 1}, Token: token, ReadOnly: true, How: how}
	s.snapshot = newPastSnapshot(how)
	s.started = gw.Now
	s.setDeadline(gw, deadline)
	s.reqStart, s.reqDeadline = s.started, s.deadline
	return s
}

// Start fixes the state that is read.
func (s *Scan) Start(gw *Gateway) Outcome {
	if s.needsLookUp() {
		return gw.lookUpSnapshot(s)
	}
	f := gw.Admitter.AdmitScan(s)
	if f != nil {
		return Failed(f)
	}
	if s.snapshot == nil {
		s.roundWait.Need = round.All
		return s.awaitSnapshot()
	}
	s.Pin = s.snapshot.retained.Number
	s.Fix(s.Ref, s.snapshot.clock, nil, gw.EveryShard())
	return s.onOpened(gw)
}

// Replied takes the snapshot that it is to read at.
func (s *Scan) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(s, msg.As[msg.SnapshotResponse](m))
}

// Pinned reads at a state that a round has fixed.
func (s *Scan) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	gw.Rounds.Use(p)
	s.Fix(p.Name, &p.At, p.Incs, gw.EveryShard())
	return s.onOpened(gw)
}

// Unpinned: there is no such state.
func (s *Scan) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// open answers the client: the state is fixed.
func (s *Scan) onOpened(gw *Gateway) Outcome {
	s.Phase, s.opened = Paging, true
	s.reqDeadline, s.deadline, s.maxAgeAt = 0, gw.Now+int64(kv.DefaultScanKeep), 0 // the age bounds the opening only
	gw.Timed(s.deadline)
	d := Done{Committed: true, Plan: env.PlanSnapshot, At: msg.Indexes(&s.At)}
	s.Stamp(&d)
	if d.Failure != nil {
		return Finished(d)
	}
	gw.Respond(&s.Call, d)
	return Continue
}

// Next asks for the next page, if the last page is there; ok is false if it is not. The client wants
// left pairs at most from here on; 0 is no bound.
func (s *Scan) Next(gw *Gateway, token Token, left int) (o Outcome, ok bool) {
	if s.Phase != Paging || s.Token != nil {
		return Continue, false
	}
	s.Token = token
	s.started, s.deadline = gw.Now, gw.Now+int64(kv.DefaultScanKeep)
	s.Paging.Start(gw.Env, left)
	s.requestDue(gw)
	return s.respondPage(gw), true
}

// askDue asks the shards of which nothing is here.
func (s *Scan) requestDue(gw *Gateway) {
	for _, sh := range s.Due() {
		gw.pageNumber++
		gw.Pages[gw.pageNumber] = s
		s.Ask(gw.Env, sh, gw.pageNumber)
	}
}

// Page takes a shard's page.
func (s *Scan) OnPage(gw *Gateway, r *msg.ReadPageResponse) Outcome {
	if s.Phase != Paging || !s.Took(r) {
		return Continue
	}
	delete(gw.Pages, r.Number)
	if r.Gone && s.Pin != 0 {
		text := "the snapshot does not exist: it has expired or was dropped"
		return Failed(env.Failure(msg.ReasonRequest, kv.KindTooOld, text))
	}
	if r.Gone {
		text := "a shard no longer keeps the state that the scan reads; start the scan again"
		return Failed(env.Failure(msg.ReasonIncarnation, kv.KindAborted, text))
	}
	if len(r.Pairs) == 0 {
		s.requestDue(gw)
	}
	return s.respondPage(gw)
}

// page answers Next when every shard has something to merge, or is done.
func (s *Scan) respondPage(gw *Gateway) Outcome {
	if s.Token == nil || len(s.Asked()) > 0 {
		return Continue
	}
	pairs, more := s.Merge()
	d := Done{Pairs: pairs, More: more, Committed: true}
	if !more {
		return Finished(d)
	}
	gw.Respond(&s.Call, d)
	return Continue
}

// Awaits lists the shards that have not answered, and so does Shards.
func (s *Scan) PendingShards() []kv.ShardID {
	if s.Phase == Paging && s.Token != nil {
		return s.Paging.Awaits()
	}
	return nil
}

func (s *Scan) Shards() []kv.ShardID { return s.PendingShards() }

// Repeat asks again for pages.
func (s *Scan) Retry(gw *Gateway) Outcome {
	if s.Phase == Paging && s.Token != nil {
		s.Tick(gw.Env)
	}
	return Continue
}

// Release gives up what is asked for, and so does End.
func (s *Scan) Release(gw *Gateway) {
	for _, n := range s.Asked() {
		delete(gw.Pages, n)
	}
	if s.Pin != 0 { // else the shards are told with the state that they keep for it
		s.Paging.Stop(gw.Env)
	}
}

func (s *Scan) End(gw *Gateway, _ *msg.Failure) { s.Release(gw) }

// Seen is the state that is scanned.
func (s *Scan) ReadCSNs() []msg.ShardCSN { return msg.Indexes(&s.At) }
