package world

import (
	"errors"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/node/replication"
)

// Logs are truncated up to what the rows have made durable, at times beyond what all replicas have. A replica that
// needs what is truncated gets a Raft snapshot: the rows of the shard, in chunks, on a stream that may fail or be late.

// flush makes the rows of a disk durable, and truncates the logs of its replicas.
func (d *Disk) flush() {
	d.Store.SyncTo(d.Store.Last())
	for _, s := range d.Shards {
		if s.replica != nil {
			s.replica.truncate()
		}
	}
}

// truncate truncates the log. In a third of the cases the log counts as too large for replicas that are behind.
func (r *Replica) truncate() {
	r.flushed = r.applied
	size := int64(0)
	if r.w.OneIn(3) {
		size = 1 << 40
	}
	if r.rep == nil {
		return
	}
	to := uint64(r.rep.Group().Snapshots().TruncationLimit(r.flushed, size))
	if first, _ := r.log.FirstIndex(); to >= first {
		r.w.Counts.Truncations++
		if err := r.log.Compact(to); err != nil {
			r.w.Fail("%v on %v: truncating to %d: %v", r.shard.ID, r.node.ID, to, err)
		}
	}
}

// sendSnapshot sends a Raft snapshot to another replica.
func (r *Replica) sendSnapshot(to consensus.ReplicaID) {
	chunks, row, err := readShard(r.disk.Store, r.shard)
	var m consensus.Message
	if err == nil {
		chunks, err = sentRows(r.shard.ID, chunks, r.w.Mutants)
	}
	if err == nil {
		m, err = r.rep.Snapshot(r.node.Local(), to, row)
	}
	w, starts, home := r.w, r.starts, r.w.home(&m)
	failed := err != nil || home == nil || !w.Calm && (w.isCut(r.node, home.Node) || w.OneIn(8))
	w.After(w.latency(false)+w.UpTo(20*time.Millisecond), func() {
		if !failed {
			home.Node.WhenAwake(func() { home.receive(&m, chunks) })
			if w.OneIn(8) { // a late copy
				w.After(w.UpTo(4*w.Hold), func() { home.Node.WhenAwake(func() { home.receive(&m, chunks) }) })
			}
		}
		r.node.WhenAwake(func() {
			if r.starts == starts {
				r.act(func(g *consensus.Replica) { g.Snapshots().Ended(r.node.Local(), to, !failed) })
			}
		})
	})
}

// readShard reads all rows of a shard.
func readShard(store engine.Engine, s *Shard) (chunks [][]byte, row []byte, err error) {
	rd, err := store.ReadShard(s.ID)
	for err == nil {
		var chunk []byte
		chunk, err = rd.Next()
		if chunk == nil {
			return chunks, rd.Replica(), err
		}
		chunks = append(chunks, chunk)
	}
	return nil, nil, err
}

// swapRows replaces the rows by those of a Raft snapshot.
func (r *Replica) swapRows(chunks [][]byte) {
	sw, err := r.disk.Store.ReplaceShard(r.shard.ID)
	for _, c := range chunks {
		if err == nil {
			err = sw.Add(c)
		}
	}
	if err == nil {
		_, err = sw.Replace()
	}
	if err != nil {
		r.w.Fail("%v on %v: replacing its rows: %v", r.shard.ID, r.node.ID, err)
		return
	}
	r.disk.Store.SyncTo(r.disk.Store.Last())
}

// restore swaps the rows, and then has the log begin there (R6.10).
func (x *write) restore() {
	x.replica.swapRows(x.chunks)
	x.replica.w.Counts.Snapshots++
	_ = x.replica.log.ApplySnapshot(*x.write.Snapshot) // fails only for an older one
}

// row returns the row that says how far the rows are.
func (r *Replica) row() []byte {
	res := r.disk.Store.Read(r.shard.ID, entry.Read{Kind: entry.ReadRow, Table: entry.TableReplica})
	if len(res.Rows) == 0 {
		return nil
	}
	return res.Rows[0].Value
}

// open makes the replica from its disk. If a crash has come between the swap of the rows and that of the log, the log
// begins at the rows (R6.11).
func (r *Replica) open(c consensus.Config) (rep *replication.Replica, err error) {
	rep, err = replication.New(c, r.row(), r.node.Local())
	if !errors.Is(err, consensus.ErrLogBehind) {
		return rep, err
	}
	state, err := replication.State(r.row())
	if err != nil {
		return nil, err
	}
	hs, _, _ := r.log.InitialState() // it never fails
	r.log = raft.NewMemoryStorage()
	_ = r.log.ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: state.Conf,
		Index: uint64(state.Position), Term: uint64(state.Term)}})
	hs.Commit = max(hs.Commit, uint64(state.Position))
	_ = r.log.SetHardState(hs)
	c.Storage = r.log
	return replication.New(c, r.row(), r.node.Local())
}

// check computes the checksum of the rows as they are now, and reports it some time later (R6.14).
func (r *Replica) check(at consensus.Position) {
	w, starts := r.w, r.starts
	rd, err := r.disk.Store.ReadShard(r.shard.ID)
	var sum uint64
	if err == nil {
		sum, err = engine.Checksum(r.shard.ID, rd)
	}
	if err != nil {
		w.Fail("%v on %v: its rows cannot be checked: %v", r.shard.ID, r.node.ID, err)
		return
	}
	w.Counts.Checks++
	r.group.addSum(at, r.id, sum)
	w.After(w.UpTo(w.Hold), func() {
		r.node.WhenAwake(func() {
			if r.starts == starts {
				r.act(func(g *consensus.Replica) { g.Damage().Checked(r.node.Local(), at, sum) })
			}
		})
	})
}

// Alter adds a row that no client reads to the rows of the node's replica, as a fault of its disk would. It does
// nothing if another replica of the group is damaged, or this one leads: then clients would notice.
func (s *Shard) Alter() {
	g := s.w.groups[s.ID]
	if s.replica == nil || s.replica.rep == nil || s.M != nil || !g.areWhole() {
		return
	}
	s.w.Trace("%v alters the rows of replica %d of %v", s.Node.ID, s.replica.id, s.ID)
	g.lost[s.replica.id] = true
	s.w.Counts.Altered++
	s.AlterRows("")
}

// AlterRows adds a row with a name to the rows of the node's replica.
func (s *Shard) AlterRows(name string) {
	row := entry.Entry{Table: entry.TableLog, Key: []byte("altered" + name)} // shards have no such rows
	if _, err := s.Disk.Store.Append([]entry.Group{{Shard: s.ID, Entries: []entry.Entry{row}}}); err != nil {
		panic(err)
	}
}
