package groups

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/balance"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Set is the replicas of a node.
type Set struct {
	opt Options
	// replicas are the places of replicas, by shard; a place may have none.
	replicas []*replica
	leaders  Leaders
	log      *logWriter
	rows     *rowWriter
	turns    *turns
	// flushing: the store is writing its tables for a truncation. The replicas in flushed wait for it.
	flushing atomic.Bool
	mu       sync.Mutex
	flushed  []flushRequest
	counters counters
	balancer balance.Balancer
	// declines: see Decline.
	declines atomic.Bool
	clocks   *clocks
	// beginAt is when a group may begin to replace a replica.
	beginAt atomic.Int64
	// streams bounds the Raft snapshots that are sent at a time.
	streams chan struct{}

	ctx    context.Context
	cancel context.CancelFunc
	// beats is the goroutine of heartbeats, wg those that wait for the store or the network.
	beats, wg sync.WaitGroup
}

type flushRequest struct {
	r  *replica
	at appliedAt
}

// Open opens the node's replicas, and forms those of a founding disk. Errors are of the log or of the store, and name
// the shard.
func Open(o Options) (*Set, error) {
	if o.Hold == 0 {
		o.Hold = defaultHold
	}
	o.CheckEvery, o.TruncateEvery = cmp.Or(o.CheckEvery, time.Hour), cmp.Or(o.TruncateEvery, 5*time.Second)
	if o.Disk == nil {
		o.Disk = func() (shard.Disk, string) { return shard.DiskEnough, "" }
	}
	s := &Set{opt: o, leaders: make(Leaders, len(o.Placement.Shards)), balancer: balance.Balancer{Config: o.Balance}}
	s.turns = newTurns((*replica).turn, s.send)
	s.log, s.rows = newLogWriter(&s.opt, &s.counters, s.turns), newRowWriter(&s.opt, s.turns)
	s.clocks = newClocks(&s.opt)
	s.streams = make(chan struct{}, transport.MaxSnapshots)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for id := range kv.ShardID(len(o.Placement.Shards)) {
		r := &replica{set: s, shard: id, Shard: o.Shard(id), homes: map[consensus.ReplicaID]kv.NodeID{},
			wakeAt: math.MaxInt64, staged: map[consensus.Position]engine.ShardWriter{}, fills: fills{}}
		s.replicas = append(s.replicas, r)
		r.timer = time.AfterFunc(time.Hour, r.wake)
		r.timer.Stop()
		r.OnWake(r.wake)
		var err error
		r.log, err = o.Replication.Log.Open(id)
		if err != nil {
			return nil, err
		}
	}
	if err := s.form(); err != nil {
		return nil, err
	}
	for _, r := range s.replicas {
		number, exists := r.log.Replica()
		if !exists {
			continue
		}
		if err := r.open(number, o.Clock.Now()); err != nil {
			return nil, fmt.Errorf("the replica of %v: %w", r.shard, raftlog.OpenError(err))
		}
	}
	return s, nil
}

// form makes the first replicas of a founding disk: their rows are durable before their logs, since a log says
// that the replica exists (R7.5).
func (s *Set) form() error {
	var groups []entry.Group
	var logs []raftlog.Record
	for _, r := range s.replicas {
		var voters []consensus.ReplicaID
		var own consensus.ReplicaID
		for i, home := range s.opt.Placement.NodesOf(r.shard) {
			voters = append(voters, consensus.ReplicaID(i+1))
			r.homes[consensus.ReplicaID(i+1)] = home
			if home == s.opt.ID {
				own = consensus.ReplicaID(i + 1)
			}
		}
		if number, _ := r.log.Replica(); own == 0 || number != 0 {
			continue
		}
		rows, state := replication.Bootstrap(voters)
		groups = append(groups, entry.Group{Shard: r.shard, Entries: rows})
		logs = append(logs, raftlog.Record{Shard: r.shard, Replica: own, Write: beginLog(&state, raftpb.HardState{})})
	}
	if len(groups) == 0 || !s.opt.Founding {
		return nil
	}
	at, err := s.opt.Engine.Append(groups)
	if err == nil {
		err = s.opt.Engine.WaitDurable(at)
	}
	if err != nil {
		return err
	}
	return s.writeLogs(logs...)
}

func (s *Set) writeLogs(records ...raftlog.Record) error {
	at, err := s.opt.Replication.Log.Write(records)
	if err != nil {
		return err
	}
	return s.opt.Replication.Log.WaitDurable(at)
}

// beginLog has a log begin at a state of the rows. Term and vote stay.
func beginLog(s *consensus.State, hs raftpb.HardState) *consensus.Write {
	hs.Term, hs.Commit = max(hs.Term, uint64(s.Term)), max(hs.Commit, uint64(s.Position))
	return &consensus.Write{HardState: hs, State: *s, Snapshot: &raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{
		ConfState: s.Conf, Index: uint64(s.Position), Term: uint64(s.Term)}}}
}

// Start starts the replicas.
func (s *Set) Start() {
	s.log.start()
	s.rows.start()
	s.turns.start()
	s.turns.add(s.replicas...)
	s.beats.Go(s.beat)
}

// Stop ends the replicas. It returns when all that they have written is on the disk. Messages that wait are dropped.
func (s *Set) Stop() {
	s.cancel()
	s.beats.Wait()
	s.turns.close()
	for _, r := range s.replicas {
		r.stop()
	}
	s.log.close()
	s.rows.close()
	s.wg.Wait()
}

// flush has the store write its tables, and then the replicas truncate their logs.
func (s *Set) flush(r *replica, at appliedAt) {
	s.mu.Lock()
	s.flushed = append(s.flushed, flushRequest{r, at})
	s.mu.Unlock()
	if !s.flushing.CompareAndSwap(false, true) {
		return
	}
	s.wg.Go(func() {
		defer s.flushing.Store(false)
		s.mu.Lock()
		requests := s.flushed
		s.flushed = nil
		s.mu.Unlock()
		var last engine.Position
		for _, q := range requests {
			last = max(last, q.at.at)
		}
		if err := s.opt.Engine.WaitDurable(last); err != nil {
			s.opt.Log.Warn("the store cannot write its tables, so the logs of the replicas are not truncated", "error", err)
			return
		}
		for _, q := range requests {
			q.r.endLater(func(now int64) { q.r.onFlushed(now, q.at) })
		}
	})
}
