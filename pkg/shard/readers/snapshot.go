package readers

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// snapshot is a read-only transaction on this shard alone. It needs no record: executing it twice, in any
// incarnation, is harmless.
type snapshot struct {
	piece
	request *msg.CommitRequest
}

// OnSnapshot starts a snapshot, or reports what it waits for.
//
// It arrives as a commit request of a transaction that only reads, on one shard. The values are those of one step of
// the shard, so a registration is needed only while it waits for sealed updates or for rows of a range.
func (r *Readers) OnSnapshot(p *msg.CommitRequest) {
	x := r.snapshots[p.Txn]
	if x != nil {
		r.part.ReportWait(&x.task, r.receipt(&x.piece))
		return
	}
	x = r.pool.Get()
	r.snapshots[p.Txn] = x
	x.request = p
	t := &x.task
	t.Kind, t.Txn, t.Gateway, t.User, t.Owner = exec.Snapshot, p.Txn, p.CommitID.Gateway, p.User, x
	t.Ops, t.Seen = p.Piece.Ops, p.Piece.Seen()
	r.OnStep(t, r.exec.Begin(t))
}

// Cancel cancels a snapshot, and reports whether there was one.
//
// A gateway cancels near the deadline, as it does a commit: the read may wait for an update whose last agent is down.
func (r *Readers) Cancel(c *msg.CancelRequest) bool {
	x := r.snapshots[c.Txn]
	if x == nil {
		return false
	}
	r.failSnapshot(x, agent.CancelledFailure())
	return true
}

// enterSnapshot registers a snapshot whose keys are in memory. Without queues it runs immediately.
func (r *Readers) enterSnapshot(x *snapshot) {
	t := &x.task
	if t.Err != nil {
		r.failSnapshot(x, msg.FailureOf(t.Err))
		return
	}
	t.Register()
	// Without prepared updates and registered readers, the read is not blocked and needs no registration. A
	// range is read from the log later, so it registers.
	if r.queue.Len() == 0 && !t.Ranges() {
		r.runSnapshot(x)
		return
	}
	x.registration = snapshotqueue.Read{
		Reader: t.Txn, Needs: r.snapshotNeeds(t), UntilDone: t.Ranges(), Until: r.leaseUntil(int64(r.cfg.Lease)),
		Tag: t,
	}
	r.enter(t)
}

// runSnapshot executes a snapshot and responds.
//
// It needs no record of its outcome: if the response is lost, the retry reads again, at a later instant that is still
// between request and response.
func (r *Readers) runSnapshot(x *snapshot) {
	t := &x.task
	e, step := r.exec.Run(t)
	switch {
	case step == exec.Waiting: // for pages; it registers again
		r.deregisterPiece(&x.piece)
		return
	case step == exec.Refused:
		r.failSnapshot(x, t.Failure)
		return
	}
	f := e.Failure
	if f == nil {
		// The limit is the client's; the read itself has succeeded.
		f = msg.ResponseTooLarge(msg.ResponseBytes(e.Results), x.request.MaxResponseBytes)
	}
	if f != nil {
		r.failSnapshot(x, f)
		return
	}
	// For the history checker of the simulation: the instant of the read.
	if r.Trace.Committed != nil {
		r.Trace.Committed(t.Txn)
	}
	receipt := r.receipt(&x.piece)
	receipt.Open = false
	a := r.last.NewResponse(x.request)
	a.Committed, a.Results, a.Receipt, a.CSN = true, e.Results, receipt.OrNil(), r.store.CSN()
	r.last.Stats().Committed++
	r.endSnapshot(x)
	if !t.Shared() { // otherwise a read in flight may still refer to it
		r.pool.Put(x)
	}
}

// failSnapshot ends a snapshot with a failure.
//
// Nothing is remembered: a retry of the request reads again, and may succeed.
func (r *Readers) failSnapshot(x *snapshot, f *msg.Failure) {
	a := r.last.NewResponse(x.request)
	a.Failure, a.Receipt = f, r.receipt(&x.piece).OrNil()
	r.last.Stats().CountAbort(f)
	r.endSnapshot(x)
}

// endSnapshot removes a snapshot and its registration.
func (r *Readers) endSnapshot(x *snapshot) {
	delete(r.snapshots, x.task.Txn)
	r.dropPiece(&x.piece)
}
