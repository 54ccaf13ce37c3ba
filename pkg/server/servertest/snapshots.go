package servertest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// snapshot is a copy of the whole store. Of history there is none.
type snapshot struct {
	row  msg.Snapshot
	data map[string]entry.Value
}

// CreateSnapshot copies the store.
func (s *Store) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error) {
	if _, err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { s.turn <- struct{}{} }()
	if _, err := s.snapshotAt(txn.SnapshotRef{Name: name}); err == nil {
		return nil, kv.Errorf(kv.KindConditionFailed, "snapshot %q already exists", name)
	}
	s.snapshotCount++
	now := time.Now()
	p := msg.Snapshot{Number: s.snapshotCount, Name: name, Time: now.UnixNano(), Expires: now.Add(ttl).UnixNano(),
		Clock: []msg.ShardCSN{{CSN: s.csn()}}}
	s.snapshots = append(s.snapshots, &snapshot{row: p, data: maps.Clone(s.data)})
	return &p, nil
}

func (s *Store) csn() kv.CSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	return kv.CSN(s.shard.Csn)
}

// Snapshots lists them.
func (s *Store) Snapshots(ctx context.Context) ([]msg.Snapshot, error) {
	if _, err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { s.turn <- struct{}{} }()
	var out []msg.Snapshot
	for _, k := range s.snapshots {
		out = append(out, k.row)
	}
	return out, nil
}

// DropSnapshot forgets one.
func (s *Store) DropSnapshot(ctx context.Context, at txn.SnapshotRef) (*msg.Snapshot, error) {
	if _, err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { s.turn <- struct{}{} }()
	k, err := s.snapshotAt(at)
	if err != nil {
		return nil, err
	}
	s.snapshots = slices.DeleteFunc(s.snapshots, func(x *snapshot) bool { return x == k })
	return &k.row, nil
}

// snapshotAt finds one; the caller has the turn.
func (s *Store) snapshotAt(at txn.SnapshotRef) (*snapshot, *kv.Error) {
	for _, k := range s.snapshots {
		if k.row.Number == at.Number || at.Number == 0 && k.row.Name == at.Name {
			return k, nil
		}
	}
	return nil, kv.Errorf(kv.KindNotFound, "the snapshot does not exist")
}

// look makes a transaction read at the state that was requested.
func (t *tx) look(how txn.TxnOptions) *kv.Error {
	t.data = t.store.data
	if how.At.IsZero() {
		return nil
	}
	k, err := t.store.snapshotAt(how.At)
	if err != nil {
		return err
	}
	t.data, t.snapshot, t.o.ReadOnly = k.data, &k.row, true
	return nil
}
