package embed

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// disks are the stores of a node. With one replica of each shard there is one, whose log is the shards' log. With more,
// the rows are in a store without a log, and the log of the replicas is in one of its own (R6.1, R6.4):
//
//	directory   one replica             several
//	data        rows, with their log    rows, without a log
//	raft                                log of the replicas
type disks struct {
	rows *pebblestore.Store
	// log is nil with one replica.
	log *pebblestore.Store
	// tailBytes is the memory of each group for the newest entries of its log.
	tailBytes int
}

// The directories of a node's stores.
const (
	rowsDir = "data"
	logDir  = "raft"
)

// openDisks opens the stores of a node of a cluster. o is for a node with one replica of each shard; with more, its
// memory and its files are for all stores together.
func openDisks(rows, log string, o pebblestore.Options, p *kv.Placement) (d disks, err error) {
	if !p.IsReplicated() {
		d.rows, err = pebblestore.Open(rows, o)
		return d, err
	}
	ofRows, ofLog := divide(o)
	groups := len(p.Shards)*p.Replicas/p.Nodes + 1
	d.tailBytes = min(int(ofLog.CacheBytes)/groups, 1<<20)
	d.rows, err = pebblestore.Open(rows, ofRows)
	if err != nil {
		return d, raftlog.OpenError(err)
	}
	d.log, err = pebblestore.Open(log, ofLog)
	if err != nil {
		return disks{}, errors.Join(raftlog.OpenError(err), d.rows.Close())
	}
	return d, nil
}

// divide divides the memory and the files of a node's store between rows and log of its replicas. What is synced is the
// log. The newest entries, outside of the store, get as much memory as the log's store.
func divide(o pebblestore.Options) (rows, log pebblestore.Options) {
	log = pebblestore.ForLog()
	share := min(log.CacheBytes, o.CacheBytes/4)
	log.MemTableBytes = max(log.MemTableBytes*uint64(share)/uint64(log.CacheBytes), 64<<10)
	log.CacheBytes = share
	log.MaxOpenFiles = max(min(log.MaxOpenFiles, o.MaxOpenFiles/4), 1)
	log.NoSync, log.SyncDelay, log.Logs, log.Logf = o.NoSync, o.SyncDelay, o.Logs, o.Logf
	rows = o
	rows.CacheBytes -= 2 * share
	rows.MaxOpenFiles = max(o.MaxOpenFiles-log.MaxOpenFiles, 1)
	rows.Unlogged, rows.NoSync, rows.SyncDelay, rows.Logs = true, false, 0, nil
	return rows, log
}

// replication returns what a node with several replicas needs besides, nil with one. placeOf returns the place of
// the present disk of a member.
func (d *disks) replication(saved *membership.Saved, send transport.Replicas,
	placeOf func(kv.NodeID) (string, bool)) *node.Replication {
	if d.log == nil {
		return nil
	}
	return &node.Replication{Log: raftlog.New(d.log, raftlog.Options{TailBytes: d.tailBytes}), Send: send,
		NoLeases: saved.NoLeases, Founding: saved.Disk == 0, Place: kv.PlaceOf(saved.Node, saved.Disk), PlaceOf: placeOf}
}

// replicaHandler passes messages of replicas on to those of a node. It returns nil until that has started.
type replicaHandler func() *node.Node

func (running replicaHandler) groups() *groups.Set {
	if n := running(); n != nil {
		return n.Groups()
	}
	return nil
}

// ReceiveReplica implements transport.ReplicaHandler.
func (running replicaHandler) ReceiveReplica(from kv.NodeID, msgs []consensus.Message) {
	if s := running.groups(); s != nil {
		s.ReceiveReplica(from, msgs)
	}
}

// ReceiveSnapshot implements transport.ReplicaHandler.
func (running replicaHandler) ReceiveSnapshot(ctx context.Context, from kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	s := running.groups()
	if s == nil {
		return kv.Errorf(kv.KindUnavailable, "the node has no replicas, or is not ready for them")
	}
	return s.ReceiveSnapshot(ctx, from, m, next)
}

// synced is the store whose log is synced.
func (d *disks) synced() *pebblestore.Store {
	if d.log != nil {
		return d.log
	}
	return d.rows
}

// logStats are those of the log that is synced.
func (d *disks) logStats() engine.Stats { return d.synced().Stats() }

// bytes is the size of all files.
func (d *disks) bytes() uint64 {
	n := d.rows.Metrics().DiskBytes
	if d.log != nil {
		n += d.log.Metrics().DiskBytes
	}
	return n
}

// close closes what is open: the rows first, whose tables then have all that the log may have cut.
func (d *disks) close() error {
	var errs []error
	if d.rows != nil {
		errs = append(errs, d.rows.Close())
	}
	if d.log != nil {
		errs = append(errs, d.log.Close())
	}
	return errors.Join(errs...)
}
