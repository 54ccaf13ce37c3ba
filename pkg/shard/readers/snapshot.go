package readers

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// snapshot is a read-only transaction of this shard alone. It needs no record: to execute it twice does
// no harm, in whichever incarnation.
type snapshot struct {
	piece
	park *msg.CommitRequest
}

// OnSnapshot begins a snapshot, or reports what it waits for.
func (r *Readers) OnSnapshot(p *msg.CommitRequest) {
	x := r.snapshots[p.Txn]
	if x != nil {
		r.part.ReportWait(&x.task, r.receipt(&x.piece))
		return
	}
	x = r.pool.Get()
	r.snapshots[p.Txn] = x
	x.park = p
	t := &x.task
	t.Kind, t.Txn, t.Gateway, t.Ops, t.Seen, t.Owner = exec.Snapshot, p.Txn, p.CommitID.Gateway, p.Piece.Ops, p.Piece.Seen(), x
	t.User = p.User
	r.Went(t, r.exec.Begin(t))
}

// Cancel gives a snapshot up, and reports whether there is one of that name.
func (r *Readers) Cancel(c *msg.CancelRequest) bool {
	x := r.snapshots[c.Txn]
	if x == nil {
		return false
	}
	r.refuseSnapshot(x, agent.Cancelled())
	return true
}

// enterSnapshot has a snapshot whose keys are in memory enter the snapshot-queues.
func (r *Readers) enterSnapshot(x *snapshot) {
	t := &x.task
	if t.Err != nil {
		r.refuseSnapshot(x, msg.FailureOf(t.Err))
		return
	}
	t.Register()
	if r.queue.Len() == 0 && !t.Ranges() {
		r.runSnapshot(x)
		return
	}
	x.entered = snapshotqueue.Read{Reader: t.Txn, Needs: r.needs(t), Stays: t.Ranges(), Until: r.Now + int64(r.cfg.Lease), Tag: t}
	r.enter(t)
}

// runSnapshot executes a snapshot and answers.
func (r *Readers) runSnapshot(x *snapshot) {
	t := &x.task
	e, step := r.exec.Run(t)
	switch {
	case step == exec.Waiting: // for pages; it registers again
		r.leaveQueues(&x.piece)
		return
	case step == exec.Refused:
		r.refuseSnapshot(x, t.Failure)
		return
	}
	f := e.Failure
	if f == nil {
		f = msg.ResponseTooLarge(msg.ResponseBytes(e.Results), x.park.MaxResponseBytes)
	}
	if f != nil {
		r.refuseSnapshot(x, f)
		return
	}
	if r.Trace.Committed != nil {
		r.Trace.Committed(t.Txn)
	}
	receipt := r.receipt(&x.piece)
	receipt.Open = false
	a := r.last.AnswerPark(x.park)
	a.Committed, a.Results, a.Receipt, a.Index = true, e.Results, receipt.Told(), r.store.Index()
	r.last.Stats().Committed++
	r.endSnapshot(x)
	if !t.Shared() { // else a read of the log may still refer to it
		r.pool.Put(x)
	}
}

func (r *Readers) refuseSnapshot(x *snapshot, f *msg.Failure) {
	a := r.last.AnswerPark(x.park)
	a.Failure, a.Receipt = f, r.receipt(&x.piece).Told()
	r.last.Stats().Abort(f)
	r.endSnapshot(x)
}

func (r *Readers) endSnapshot(x *snapshot) {
	delete(r.snapshots, x.task.Txn)
	r.drop(&x.piece)
}
