// Package clientstore makes a linchpin cluster the Store of a workload, through
// the Go client as any program would use it: its retries and enquiries are part
// of what is measured.
package clientstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// Store runs transactions on one or more clients in turn. A client has one
// stream to one node, so several spread the load over the nodes.
type Store struct {
	dbs  []*client.DB
	turn atomic.Uint64
}

// Open opens connections clients, at least one; 0 means one for each address.
// Each prefers another of the addresses and moves on to the rest when that one
// fails.
func Open(ctx context.Context, addrs []string, connections int, opts ...client.Option) (*Store, error) {
	if connections == 0 {
		connections = len(addrs)
	}
	s := &Store{}
	for i := range max(connections, 1) {
		db, err := client.Open(ctx, rotate(addrs, i), opts...)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.dbs = append(s.dbs, db)
	}
	return s, nil
}

// rotate puts the i-th address first and keeps the order otherwise.
func rotate(addrs []string, i int) []string {
	if len(addrs) == 0 {
		return nil
	}
	i %= len(addrs)
	return append(append([]string(nil), addrs[i:]...), addrs[:i]...)
}

// Close closes the clients.
func (s *Store) Close() error {
	var all error
	for _, db := range s.dbs {
		all = errors.Join(all, db.Close())
	}
	return all
}

func (s *Store) db() *client.DB { return s.dbs[s.turn.Add(1)%uint64(len(s.dbs))] }

// Execute runs ops as a one-shot transaction.
func (s *Store) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	all := make([]client.Op, len(ops))
	for i, o := range ops {
		all[i] = oneShot(o)
	}
	out, err := s.db().Execute(ctx, all...)
	if err != nil {
		return failure(err), err
	}
	reply := workload.Reply{ID: out.ID, Attempts: out.Attempts, Aborts: out.Aborts}
	if out.ResultsLost {
		return reply, nil
	}
	if len(out.Results) != len(ops) {
		return reply, kv.Errorf(kv.KindInternal, "%d results for %d operations", len(out.Results), len(ops))
	}
	reply.Results = make([]workload.Seen, len(ops))
	for i, r := range out.Results {
		if ops[i].IsRead() {
			reply.Results[i] = workload.Seen{Found: r.Found, IsNumber: r.Type == client.TypeCounter, Number: r.Number, Value: r.Value}
		}
	}
	return reply, nil
}

func oneShot(o workload.Op) client.Op {
	switch o.Kind {
	case workload.ReadForUpdate:
		return client.GetForUpdate(o.Key)
	case workload.Write:
		return client.Put(o.Key, o.Value)
	case workload.Add:
		return client.Add(o.Key, o.Delta)
	}
	return client.Get(o.Key)
}

// failure is what a client's error knows about the transaction.
func failure(err error) workload.Reply {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return workload.Reply{ID: e.ID, Attempts: e.Attempts}
	}
	return workload.Reply{}
}

// Transact runs ops one after the other in View or, if one of them writes, in
// Update.
func (s *Store) Transact(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	var t attempts
	var err error
	if workload.ReadOnlyOps(ops) {
		err = s.db().View(ctx, func(ro *client.ReadTx) error {
			return t.run(ctx, ro.ID(), ops, func(o workload.Op) (client.Value, error) { return ro.Get(o.Key) })
		})
	} else {
		err = s.db().Update(ctx, func(tx *client.Tx) error {
			return t.run(ctx, tx.ID(), ops, func(o workload.Op) (client.Value, error) { return step(tx, o) })
		})
	}
	if err != nil {
		t.reply.Results = nil
	}
	return t.reply, err
}

// Scan streams a range. The client tries again what fails before the first
// pair.
func (s *Store) Scan(ctx context.Context, r workload.Range, each func(workload.Pair) bool) error {
	for p, err := range s.db().Scan(ctx, r.Start, r.End, client.ScanOptions{PageSize: r.Page}) {
		if err != nil {
			return err
		}
		if !each(workload.Pair{Key: p.Key, Seen: workload.Seen{Found: true, IsNumber: p.Type == client.TypeCounter, Number: p.Number, Value: p.Value}}) {
			return nil
		}
	}
	return nil
}

func step(tx *client.Tx, o workload.Op) (client.Value, error) {
	switch o.Kind {
	case workload.Read:
		return tx.Get(o.Key)
	case workload.ReadForUpdate:
		return tx.GetForUpdate(o.Key)
	case workload.Write:
		return client.Value{}, tx.Put(o.Key, o.Value)
	case workload.Add:
		return client.Value{}, tx.Add(o.Key, o.Delta)
	}
	return client.Value{}, fmt.Errorf("clientstore: operation of unknown kind %d", o.Kind)
}

// attempts follows an interactive transaction over its runs.
type attempts struct {
	reply workload.Reply
	// last is what ended the run before, nil if it got as far as the commit.
	last error
}

// run does ops in order. What an earlier run saw is forgotten.
func (t *attempts) run(ctx context.Context, id kv.TxnID, ops []workload.Op, do func(workload.Op) (client.Value, error)) error {
	if t.reply.Attempts > 0 {
		t.reply.Aborts = append(t.reply.Aborts, t.reason())
	}
	t.reply.Attempts++
	t.reply.ID = id
	t.reply.Results = make([]workload.Seen, 0, len(ops))
	for _, o := range ops {
		if !workload.Sleep(ctx, o.Pause) {
			t.last = kv.Errorf(kv.KindDeadlineExceeded, "the deadline passed in a pause")
			return t.last
		}
		var v client.Value
		v, t.last = do(o)
		if t.last != nil {
			return t.last
		}
		t.reply.Results = append(t.reply.Results,
			workload.Seen{Found: v.Found, IsNumber: v.Type == client.TypeCounter, Number: v.Number, Value: v.Value})
	}
	return nil
}

// reason says where the run before ended and how.
func (t *attempts) reason() string {
	switch {
	case t.last == nil:
		return workload.AtCommit
	case kv.KindOf(t.last) == kv.KindAborted:
		return workload.AtOperation
	}
	return kv.KindOf(t.last).String() + " at an operation"
}
