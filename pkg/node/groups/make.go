package groups

import (
	"errors"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// open makes the replica from log and rows. If a crash has come between the swap of the rows and that of the log, the
// log begins at the rows (R6.11).
func (r *replica) open(number consensus.ReplicaID, now int64) error {
	o := &r.set.opt
	res := o.Engine.Read(r.shard, entry.Read{Kind: entry.ReadRow, Table: entry.TableReplica})
	if res.Err != nil {
		return res.Err
	}
	var row []byte
	if len(res.Rows) > 0 {
		row = res.Rows[0].Value
	}
	cfg := consensus.Config{Group: r.shard, ID: number, Hold: o.Hold, MaxHold: o.Hold, Heartbeat: o.Hold / heartbeatShare,
		NoLeases: o.NoLeases, CheckEvery: o.CheckEvery,
		Storage: r.log, Rand: draw, Mutants: o.Mutants}
	rep, err := replication.New(cfg, row, now)
	if errors.Is(err, consensus.ErrLogBehind) {
		state, failed := replication.State(row)
		if failed != nil {
			return failed
		}
		hs, _, _ := r.log.InitialState() // it never fails
		record := raftlog.Record{Shard: r.shard, Replica: number, Write: beginLog(&state, hs)}
		if err := r.set.writeLogs(record); err != nil {
			return err
		}
		rep, err = replication.New(cfg, row, now)
	}
	if err != nil {
		return err
	}
	r.id, r.rep = number, rep
	r.flushed = rep.Group().State().Position
	r.appliedTo = r.flushed
	return nil
}

// makeEvery is the time between attempts to make a replica if the store is damaged.
const makeEvery = int64(2 * time.Second)

// makeFor begins to make the replica for a message, if it may (R7.17). The message is lost; its sender repeats it.
//
//	rows of a replica before are deleted ─▶ they are gone from the disk ─▶ the log has the new number ─▶ it exists
//
// Without the first, a replica that replaces an unfit one takes over its rows. If its rows cannot be deleted without
// loss, the unfit replica goes on: it acknowledges entries and votes, so that the node may be missed last.
func (r *replica) makeFor(now int64, m *consensus.Message) {
	o := &r.set.opt
	greatest, exists := r.log.Replica()
	if exists && !r.unfit || r.making || now < r.makeAt || !consensus.MayCreate(m, o.Place, greatest, o.Mutants) {
		return
	}
	rows, err := emptyRows(o.Engine, r.shard)
	if err != nil {
		r.makeAt = now + makeEvery
		if r.failed == "" {
			o.Log.Error("no replica can be made on this node", "shard", r.shard.String(), "error", err)
		}
		r.failed = err.Error()
		return
	}
	if r.rep != nil {
		r.destroy()
	}
	r.making, r.failed = true, ""
	r.set.rows.jobs.add(rowJob{rows: rows, done: func(at engine.Position) {
		r.set.wg.Go(func() {
			if err := o.Engine.WaitDurable(at); err != nil {
				o.OnFatal(err)
				return
			}
			r.set.log.records.add(logRecord{
				Record:  raftlog.Record{Shard: r.shard, Replica: m.To, Write: &consensus.Write{}},
				replica: r, done: func(now int64) { r.onMade(now, m.To) }})
		})
	}})
}

func (r *replica) onMade(now int64, number consensus.ReplicaID) {
	r.making = false
	if err := r.open(number, now); err != nil {
		r.fail(err)
		return
	}
	r.set.opt.Log.Info("the node has a new replica", "shard", r.shard.String(), "replica", uint64(number))
}

// emptyRows returns a writer that deletes all rows of a shard.
func emptyRows(e engine.Engine, shard kv.ShardID) (engine.ShardWriter, error) {
	w, err := e.ReplaceShard(shard)
	if err != nil {
		return nil, err
	}
	var c engine.ChunkEncoder
	c.Add(&engine.ShardRow{Table: entry.TableReplica})
	for range 2 {
		if err == nil {
			err = w.Add(c.Chunk())
		}
	}
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// destroy ends a replica that was removed from its group. The log keeps its number.
func (r *replica) destroy() {
	o := &r.set.opt
	o.Log.Info("a replica was removed", "shard", r.shard.String(), "replica", uint64(r.id))
	r.end("its replica was removed")
	for at, rows := range r.staged {
		discard(rows)
		delete(r.staged, at)
	}
	r.set.log.records.add(logRecord{Record: raftlog.Record{Shard: r.shard, Replica: r.id, Destroy: true}})
	r.rep, r.id, r.held, r.applied, r.installing, r.unfit = nil, 0, nil, nil, false, false
}
