package txn_test

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// shardScript is a shard whose log is in memory, and durable at once.
type shardScript struct {
	id    kv.ShardID
	m     *shard.Machine
	store *memstore.Store
	lease time.Duration
	pins  shard.SnapshotConfig
	heat  shard.HeatConfig
	busy  float64
}

// newShard makes a shard. If lease is negative, readers do not register.
func newShard(id kv.ShardID, lease time.Duration, pins shard.SnapshotConfig, heat shard.HeatConfig) (*shardScript,
	error) {
	s := &shardScript{id: id, store: memstore.NewAutoSync(), lease: lease, pins: pins, heat: heat}
	return s, s.restart(0)
}

// restart makes the state machine from the log. Its first messages are lost.
func (s *shardScript) restart(now int64) error {
	var rec shard.Recovered
	if err := s.store.Recover(s.id, rec.Add); err != nil {
		return err
	}
	rec.State.Newest, rec.State.Ahead = -1, nil // the ids of scripts are not in the order of time
	cfg := shard.Config{ID: s.id, Lease: s.lease, Snapshots: s.pins, Heat: s.heat, Home: router{}.Shard}
	m, out := shard.New(cfg, rec, now, now)
	s.m = m
	_, err := s.apply(now, out)
	return err
}

func (s *shardScript) step(now int64, in []*msg.Envelope) ([]*msg.Envelope, error) {
	return s.apply(now, s.m.Step(shard.Input{Now: now, Wall: now, Messages: in, Busy: s.busy}))
}

// apply appends to the log, executes reads of the store at once, and returns the messages.
func (s *shardScript) apply(now int64, out shard.Output) (sent []*msg.Envelope, err error) {
	for {
		sent = append(append(sent, out.Urgent...), out.Send...)
		if _, err := s.store.Append([]entry.Group{{Shard: s.id, Entries: out.Entries}}); err != nil {
			return nil, err
		}
		if err := s.m.Check(); err != nil {
			return nil, err
		}
		if len(out.Reads) == 0 {
			return sent, nil
		}
		in := shard.Input{Now: now, Wall: now}
		for _, r := range out.Reads {
			in.Reads = append(in.Reads, s.store.Read(s.id, r))
		}
		out = s.m.Step(in)
	}
}
