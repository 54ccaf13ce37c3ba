package past

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// OnScan reads a page of a range, at a CSN that is retained for the scan or at a snapshot.
//
// A scan at a fixed CSN is retained for some time after each page, or renewal; a scan at a snapshot lives as long as
// the snapshot. The gateway learns from Gone that the rest cannot be read, and fails the scan.
func (r *Reads) OnScan(s *msg.ReadPage) {
	retention := r.store.Retention()
	same := r.retains(s.Txn, s.CSN, s.Incarnation)
	switch {
	case s.Done:
		retention.Release(s.Txn)
		r.cancelPage(s.Txn)
		return
	// A renewal: the client has not requested the next page yet.
	case s.Number == 0:
		if same {
			retention.Retain(s.Txn, s.CSN, s.RetainNanos)
		}
		return
	case s.SnapshotNumber != 0:
		ok, gone := r.snapshots.Readable(s.SnapshotNumber, s.CSN)
		if !ok && gone != nil {
			r.replyPage(s, &msg.ReadPageResponse{Gone: true})
		}
		if !ok {
			return // if the snapshot may exist, the gateway retries
		}
	case !same:
		// The shard has restarted, or the scan has been silent for too long and its versions may be collected.
		r.replyPage(s, &msg.ReadPageResponse{Gone: true})
		return
	default:
		retention.Retain(s.Txn, s.CSN, s.RetainNanos)
	}
	r.startPage(s)
}

// retains reports whether the shard retains the state that an incarnation has fixed at a CSN, under the name of a round
// or of a scan. Of the states of earlier leaders only their CSNs are known; the gateway knows if they were retained.
func (r *Reads) retains(name kv.TxnRef, csn kv.CSN, inc kv.Incarnation) bool {
	retention := r.store.Retention()
	if inc != r.Inc {
		return inc < r.Inc && retention.HasEarlier(csn)
	}
	k := retention.Find(name)
	return k != nil && k.CSN == csn
}

// pageRead is a page in flight, with the number of its request.
type pageRead struct{ number, id uint64 }

// startPage reads a page. A retry is ignored while the page is in flight; another request of the same scan
// replaces it. A page that takes long may be shorter than requested, or empty.
//
//	page 3 is in flight, and its copy arrives     ignored
//	page 4 is requested                           the client has page 3: the read of page 3 is cancelled
//	page 3 is requested again later               read again, with the same rows
func (r *Reads) startPage(s *msg.ReadPage) {
	if r.pages[s.Txn].number == s.Number {
		return
	}
	r.cancelPage(s.Txn)
	id := r.store.ReadAt(pageOf(s), func(res *entry.ReadResult) {
		delete(r.pages, s.Txn)
		r.onPage(s, res)
	})
	r.pages[s.Txn] = pageRead{s.Number, id}
}

// cancelPage cancels the page in flight of a scan.
//
// Pages are large, so a page that is not needed any more must not keep the reading goroutine from other users' reads.
func (r *Reads) cancelPage(scan kv.TxnRef) {
	p, reads := r.pages[scan]
	if reads {
		r.store.Drop(p.id)
		delete(r.pages, scan)
	}
}

// onPage responds with the rows of a page.
func (r *Reads) onPage(s *msg.ReadPage, res *entry.ReadResult) {
	page := new(msg.ReadPageResponse)
	err := setPage(page, res)
	if err != nil {
		// The error may be temporary.
		r.store.CountReadError()
		return // the gateway retries until its deadline
	}
	r.replyPage(s, page)
}

// replyPage sends the response to a page request.
//
// It leaves when the log is durable, since the rows may have been written in this incarnation just now.
func (r *Reads) replyPage(s *msg.ReadPage, p *msg.ReadPageResponse) {
	p.Txn, p.Number, p.Shard = s.Txn, s.Number, r.ID
	if s.SnapshotNumber == 0 && s.Incarnation != r.Inc {
		p.Incarnation = r.Inc
	}
	m := msg.ToGateway(s.Gateway)
	m.Body = p
	r.Send(m)
}
