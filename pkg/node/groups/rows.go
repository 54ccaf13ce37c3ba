package groups

import (
	"context"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// write has a write of the replica on the disk. If it has a Raft snapshot, the rows are swapped first (R6.10), and
// later writes wait for that:
//
//	batches of rows before it ─▶ Replace ─▶ the rows are on the disk ─▶ the log begins there ─▶ Written
func (r *replica) write(w *consensus.Write) {
	switch {
	case r.installing:
		r.held = append(r.held, w)
	case w.Snapshot != nil:
		r.install(w)
	default:
		r.record(w)
	}
}

// record has a write in the log.
func (r *replica) record(w *consensus.Write) {
	rep := r.rep
	r.set.log.records.add(logRecord{
		Record:  raftlog.Record{Shard: r.shard, Replica: r.id, Write: w},
		replica: r,
		done: func(now int64) {
			if r.rep == rep {
				rep.Group().Written(now, w)
			}
		}})
}

// install swaps the rows of a Raft snapshot in.
func (r *replica) install(w *consensus.Write) {
	at := consensus.Position(w.Snapshot.Metadata.Index)
	rows := r.staged[at]
	delete(r.staged, at)
	if rows == nil { // no message with a Raft snapshot is passed to the replica without its rows
		r.fail(kv.Errorf(kv.KindInternal, "the rows of the Raft snapshot at %d are missing", at))
		return
	}
	r.installing = true
	rep, row := r.rep, rows.Replica()
	r.set.rows.jobs.add(rowJob{rows: rows, done: func(p engine.Position) {
		r.set.wg.Go(func() {
			if err := r.set.opt.Engine.WaitDurable(p); err != nil {
				r.set.opt.OnFatal(err)
				return
			}
			r.endLater(func(int64) { r.onInstalled(rep, w, row, at) })
		})
	}})
	r.set.opt.Log.Info("a Raft snapshot replaces the rows of a replica", "shard", r.shard.String(), "position", uint64(at))
}

// onInstalled has the log begin at a Raft snapshot whose rows are on the disk.
func (r *replica) onInstalled(rep *replication.Replica, w *consensus.Write, row []byte, at consensus.Position) {
	if r.rep != rep {
		return
	}
	if err := rep.Restored(row); err != nil {
		r.fail(err)
		return
	}
	r.installing, r.applied, r.flushed, r.appliedTo = false, nil, at, at
	held := r.held
	r.held = nil
	r.record(w)
	for _, w := range held {
		r.write(w)
	}
}

// dropStaged drops the rows of Raft snapshots that the replica does not need (R6.9).
func (r *replica) dropStaged() {
	state := r.rep.Group().State()
	for at, rows := range r.staged {
		if at <= state.Position {
			discard(rows)
			delete(r.staged, at)
		}
	}
}

// chunkTimeout bounds the time that a chunk of a Raft snapshot takes; a shard may have any number of them.
const chunkTimeout = time.Minute

var errChunkTimeout = kv.Errorf(kv.KindUnavailable, "no rows were taken for %v", chunkTimeout)

// timed returns next, and a context that ends if next is not called for chunkTimeout.
func timed(ctx context.Context, next func() ([]byte, error)) (context.Context, func() ([]byte, error), func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(chunkTimeout, func() { cancel(errChunkTimeout) })
	return ctx, func() ([]byte, error) {
			timer.Reset(chunkTimeout)
			return next()
		}, func() {
			timer.Stop()
			cancel(nil)
		}
}

// sendSnapshot sends the rows of the shard, as they are now, to a replica. The stream has a goroutine of its own.
func (r *replica) sendSnapshot(to consensus.ReplicaID) {
	rep, home := r.rep, r.home(to)
	r.set.wg.Go(func() {
		damaged, err := r.streamRows(to, home)
		if err != nil {
			r.set.opt.Log.Warn("a Raft snapshot was not delivered; it is sent again", "shard", r.shard.String(), "to", home,
				"error", err)
		}
		r.endLater(func(now int64) {
			if r.rep == rep {
				r.fills.end(now, to, err == nil)
				rep.Group().Snapshots().Ended(now, to, err == nil)
				if damaged && rep.SetUnfit(now) { // R6.15
					r.perform(now)
				}
			}
		})
	})
}

// streamRows sends the rows. damaged: they cannot be read here.
func (r *replica) streamRows(to consensus.ReplicaID, home kv.NodeID) (damaged bool, err error) {
	if home == 0 {
		return false, kv.Errorf(kv.KindUnavailable, "the node of replica %d is not known", to)
	}
	select {
	case r.set.streams <- struct{}{}:
		defer func() { <-r.set.streams }()
	case <-r.set.ctx.Done():
		return false, r.set.ctx.Err()
	}
	rows, err := r.set.opt.Engine.ReadShard(r.shard)
	if err != nil {
		return kv.KindOf(err) == kv.KindCorrupt, err
	}
	defer rows.Close()
	m, err := r.snapshotMessage(to, rows.Replica())
	if err != nil {
		return false, err
	}
	ctx, next, end := timed(r.set.ctx, func() ([]byte, error) {
		chunk, err := rows.Next()
		damaged = kv.KindOf(err) == kv.KindCorrupt
		return chunk, err
	})
	defer end()
	err = r.set.opt.Send.SendSnapshot(ctx, home, m, next)
	if err == nil {
		r.set.counters.snapshotsSent.Add(1)
	}
	return damaged, err
}

func (r *replica) snapshotMessage(to consensus.ReplicaID, row []byte) (*consensus.Message, error) {
	r.Lock()
	defer r.Unlock()
	if r.rep == nil {
		return nil, consensus.ErrNotLeader
	}
	now := r.set.opt.Clock.Now()
	m, err := r.rep.Snapshot(now, to, row)
	if err == nil {
		r.fills[to] = fill{at: consensus.Position(m.Raft.Snapshot.Metadata.Index), until: math.MaxInt64}
	}
	return &m, err
}

// truncate truncates the log up to what the store has in its tables (R6.5). If the log could be much shorter otherwise,
// it has the store write its tables.
func (r *replica) truncate(now int64) {
	if now < r.truncateAt || r.rep == nil || r.installing {
		return
	}
	r.truncateAt = now + int64(r.set.opt.TruncateEvery)
	r.cut(now)
	if len(r.applied) == 0 {
		return
	}
	last := r.applied[len(r.applied)-1]
	if r.truncation(now, last.last) != 0 {
		r.set.flush(r, last)
	}
}

// truncation returns the position up to which the log is to be cut if the store has its tables up to another one. On a
// disk that is nearly full it is not kept for fills.
func (r *replica) truncation(now int64, flushed consensus.Position) consensus.Position {
	limits := r.rep.Group().Snapshots()
	if !r.set.isDiskLow() {
		flushed = r.fills.limit(now, flushed, r.rep.Group().Followers())
	}
	return r.log.Truncation(limits.TruncationLimit(flushed, math.MaxInt64), limits.TruncationLimit(flushed, 0))
}

// cut cuts the log up to what is flushed.
func (r *replica) cut(now int64) {
	if to := r.truncation(now, r.flushed); to != 0 {
		r.set.log.records.add(logRecord{Record: raftlog.Record{Shard: r.shard, Replica: r.id, Truncate: to}})
	}
}

// onFlushed records that the store has its tables up to a position.
func (r *replica) onFlushed(now int64, at appliedAt) {
	for len(r.applied) > 0 && r.applied[0].at <= at.at {
		r.flushed = max(r.flushed, r.applied[0].last)
		r.applied = r.applied[1:]
	}
	if r.rep != nil {
		r.cut(now)
	}
}
