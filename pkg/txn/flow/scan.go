package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/page"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Scan reads a range page by page, at one snapshot of the whole store. It holds no update: the
// pages are read unregistered.
type Scan struct {
	Call
	page.Paging
	// opened: the snapshot is fixed, and the client has its response.
	opened bool
}

// The phases of a scan, and of its requests:
//
//	Scan                  Next             Next …            Close
//	  AwaitingSnapshot ─▶ Paging ────────▶ Paging ─────────▶ finished
//	  3 delays            2 delays         0 or 2 delays     none
//
// Each shard returns a page of its own; a page of the scan merges them. What it does not use stays
// buffered, so the next page may need requests to some shards only, or to none.

// NewScan makes a scan. The deadline is for opening it.
func NewScan(gw *Gateway, handle CallHandle, id kv.TxnID, span kv.Span, reverse bool, deadline int64,
	how TxnOptions) *Scan {
	s := &Scan{Paging: page.Paging{Span: span, Reverse: reverse, User: how.User}}
	s.Call = Call{Kind: ScanKind, Ref: kv.TxnRef{TxnID: id, Attempt: 1}, Handle: handle, ReadOnly: true, How: how}
	s.snapshot = newPastSnapshot(how)
	s.started = gw.Now
	s.setDeadline(gw, deadline)
	s.reqStart, s.reqDeadline = s.started, s.deadline
	return s
}

// Start looks the snapshot up, or waits for a round.
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
	s.SnapshotNumber = s.snapshot.retained.Number
	s.SetSnapshot(s.Ref, s.snapshot.clock, nil, gw.EveryShard())
	return s.onOpened(gw)
}

// OnQueryResponse receives the retained snapshot to read.
func (s *Scan) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(s, msg.As[msg.SnapshotResponse](m))
}

// OnSnapshot reads at the snapshot of a round.
//
// The scan is a user of the round's snapshot until it ends, so the shards retain it (package round).
func (s *Scan) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	gw.Rounds.Retain(p)
	s.SetSnapshot(p.Name, &p.At, p.Retained, gw.EveryShard())
	return s.onOpened(gw)
}

// OnNoSnapshot: there will be no snapshot.
func (s *Scan) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// onOpened responds to Scan: the snapshot is fixed. From now on only the time between two requests
// is bounded, not the age of the scan.
func (s *Scan) onOpened(gw *Gateway) Outcome {
	s.Phase, s.opened = Paging, true
	s.reqDeadline, s.deadline, s.maxAgeAt = 0, gw.Now+int64(kv.DefaultScanRetention), 0 // the age bounds the opening only
	gw.WakeAt(s.deadline)
	d := Done{Committed: true, Plan: env.PlanSnapshot, ReadCSNs: msg.CSNs(&s.At)}
	s.Stamp(&d)
	if d.Failure != nil {
		return Finished(d)
	}
	gw.Respond(&s.Call, d)
	return Continue
}

// Next requests the next page. ok is false if the previous page is outstanding or the scan is not
// open. At most left more pairs are needed; 0 is no bound.
//
// A client that does not request a page for a minute has gone away, or has lost the scan: it ends.
func (s *Scan) Next(gw *Gateway, handle CallHandle, left int) (o Outcome, ok bool) {
	if s.Phase != Paging || s.Handle != nil {
		return Continue, false
	}
	s.Handle = handle
	s.started, s.deadline = gw.Now, gw.Now+int64(kv.DefaultScanRetention)
	s.Paging.Start(gw.Env, left)
	s.requestDue(gw)
	return s.respondPage(gw), true
}

// requestDue requests pages from the shards of which no pairs are buffered. Each request has a
// number that the response repeats.
func (s *Scan) requestDue(gw *Gateway) {
	for _, sh := range s.DueShards() {
		gw.pageNumber++
		gw.Pages[gw.pageNumber] = s
		s.Send(gw.Env, sh, gw.pageNumber)
	}
}

// OnPage receives the page of one shard. Gone: the shard no longer has the snapshot.
func (s *Scan) OnPage(gw *Gateway, r *msg.ReadPageResponse) Outcome {
	if s.Phase != Paging {
		return Continue
	}
	expected, gone := s.Paging.OnPage(gw.Env, r)
	if !expected {
		return Continue
	}
	delete(gw.Pages, r.Number)
	if r.Failure != nil {
		return Failed(r.Failure)
	}
	if gone && s.SnapshotNumber != 0 {
		text := "the snapshot does not exist: it has expired or was dropped"
		return Failed(env.Failure(msg.ReasonRequest, kv.KindTooOld, text))
	}
	if gone {
		text := "a shard no longer keeps the state that the scan reads; start the scan again"
		return Failed(env.Failure(msg.ReasonIncarnation, kv.KindAborted, text))
	}
	// A page may be empty before the end of the range. Then the next one is requested.
	if len(r.Pairs) == 0 {
		s.requestDue(gw)
	}
	return s.respondPage(gw)
}

// respondPage responds to Next when each shard has pairs to merge, or has reached its end. Pairs
// are returned in key order, which is unknown while a shard's next key is.
func (s *Scan) respondPage(gw *Gateway) Outcome {
	if s.Handle == nil || len(s.PendingNumbers()) > 0 {
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

// PendingShards lists the shards that have not responded, and so does Shards.
func (s *Scan) PendingShards() []kv.ShardID {
	if s.Phase == Paging && s.Handle != nil {
		return s.Paging.PendingShards()
	}
	return nil
}

func (s *Scan) Shards() []kv.ShardID { return s.PendingShards() }

// Retry retries page requests.
func (s *Scan) Retry(gw *Gateway) Outcome {
	if s.Phase == Paging && s.Handle != nil {
		s.Tick(gw.Env)
	}
	return Continue
}

// Release ends page requests, and so does End. Of a retained snapshot the shards end the pages of
// this scan; the snapshot of a round ends with its last user.
func (s *Scan) Release(gw *Gateway) {
	for _, n := range s.PendingNumbers() {
		delete(gw.Pages, n)
	}
	if s.SnapshotNumber != 0 {
		s.Paging.Stop(gw.Env)
	}
}

func (s *Scan) End(gw *Gateway, _ *msg.Failure) { s.Release(gw) }

// ReadCSNs is the snapshot of the scan.
func (s *Scan) ReadCSNs() []msg.ShardCSN { return msg.CSNs(&s.At) }
