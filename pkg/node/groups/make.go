package groups

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
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
	cfg := consensus.Config{Group: r.shard, ID: number, Hold: o.Hold, MaxHold: o.Hold, Heartbeat: o.Hold / 8,
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

// makeFor makes the replica for a message, if it may (R7.17).
func (r *replica) makeFor(now int64, m *consensus.Message) bool {
	o := &r.set.opt
	greatest, exists := r.log.Replica()
	if exists || !consensus.MayCreate(m, o.Place, greatest, o.Mutants) {
		return false
	}
	record := raftlog.Record{Shard: r.shard, Replica: m.To, Write: &consensus.Write{}}
	if err := r.set.writeLogs(record); err != nil {
		o.OnFatal(err)
		return false
	}
	if err := r.open(m.To, now); err != nil {
		r.fail(err)
		return false
	}
	o.Log.Info("the node has a new replica", "shard", r.shard.String(), "replica", uint64(m.To))
	return true
}

// destroy ends a replica that was removed from its group. The log keeps its number.
func (r *replica) destroy() {
	o := &r.set.opt
	o.Log.Info("a replica was removed", "shard", r.shard.String(), "replica", uint64(r.id))
	r.end("its replica was removed")
	r.set.log.records.add(logRecord{Record: raftlog.Record{Shard: r.shard, Replica: r.id, Destroy: true}})
	r.rep, r.id, r.held, r.applied = nil, 0, nil, nil
}
