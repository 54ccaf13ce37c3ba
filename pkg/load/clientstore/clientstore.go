// Package clientstore makes a linchpin cluster the Store of a workload, through the Go client as any
// program would use it: the client's retries and queries of outcomes are part of what is measured.
package clientstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Store runs transactions on one or more clients in turn. A client has one connection to one node, so
// several spread the load over the nodes.
type Store struct {
	connections []*connection
	turn        atomic.Uint64
}

// Open opens connections clients, at least one; 0 means one for each address. Each prefers another of
// the addresses, and fails over to the rest.
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
		s.connections = append(s.connections, &connection{db: db})
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
	for _, c := range s.connections {
		all = errors.Join(all, c.db.Close())
	}
	return all
}

// next returns the connection whose turn it is.
func (s *Store) next() *connection {
	return s.connections[s.turn.Add(1)%uint64(len(s.connections))]
}

// Execute runs ops as a one-shot transaction.
func (s *Store) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	h := s.next().handle()
	defer h.release()
	for _, o := range ops {
		h.ops = append(h.ops, opOf(o))
	}
	reply, lost, err := h.execute(ctx)
	if err != nil || lost {
		return reply, err
	}
	reply.Results = make([]workload.Seen, len(ops))
	for i, op := range h.ops {
		reply.Results[i] = seen(op)
	}
	return reply, nil
}

func opOf(o workload.Op) client.Op {
	switch key := text(o.Key); o.Kind {
	case workload.ReadForUpdate:
		return client.GetForUpdateOp(key)
	case workload.Write:
		return client.PutOp(key, o.Value)
	case workload.Add:
		return client.NewCounter(key).AddOp(o.Delta)
	default:
		return client.EntryOp(key)
	}
}

// text returns bytes as a string, without a copy. The client copies what it sends, so that only errors
// refer to the string when a call has returned: see owned.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// owned copies the bytes of a caller in an error.
func owned(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		e.Key = strings.Clone(e.Key)
	}
	return err
}

// seen returns what a read has read; it is zero of another operation.
func seen(op client.Op) workload.Seen {
	switch r := op.(type) {
	case *client.Result[client.Entry]:
		return seenIn(r.Value(), r.Found())
	case *client.Result[[]byte]:
		return workload.Seen{Found: r.Found(), Value: r.Value()}
	}
	return workload.Seen{}
}

func seenIn(e client.Entry, found bool) workload.Seen {
	return workload.Seen{Found: found, IsNumber: e.Type == client.TypeCounter, Number: e.Number, Value: e.Value}
}

// Transact runs ops one after the other in View or, if one of them writes, in Update.
func (s *Store) Transact(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	var t attempts
	err := s.interact(ctx, workload.ReadOnlyOps(ops), func(ctx context.Context, tx transaction) error {
		return t.run(ctx, tx, ops)
	})
	if err != nil {
		t.reply.Results = nil
	}
	return t.reply, err
}

// transaction is what a View and a Tx have in common.
type transaction interface {
	client.Reader
	ID() client.TxID
}

func (s *Store) interact(ctx context.Context, readOnly bool, fn func(context.Context, transaction) error) error {
	db := s.next().db
	if readOnly {
		return owned(db.View(ctx, func(ctx context.Context, v *client.View) error { return fn(ctx, v) }))
	}
	return owned(db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return fn(ctx, tx) }))
}

// Scan streams a range. The client retries what fails before the first pair.
func (s *Store) Scan(ctx context.Context, r workload.Range, each func(workload.Pair) bool) error {
	keys := client.Range{Start: string(r.Start), End: string(r.End)}
	for e, err := range s.next().db.Scan(ctx, keys, client.PageSize(r.Page)) {
		if err != nil {
			return err
		}
		if !each(workload.Pair{Key: []byte(e.Key), Seen: seenIn(e, true)}) {
			return nil
		}
	}
	return nil
}

// step runs one operation of an interactive transaction. The client buffers those that only write.
func step(ctx context.Context, tx transaction, o workload.Op) (workload.Seen, error) {
	w, _ := tx.(*client.Tx) // nil in a View, where all operations read
	switch key := text(o.Key); o.Kind {
	case workload.Read:
		e, found, err := tx.Entry(ctx, key)
		return seenIn(e, found), err
	case workload.ReadForUpdate:
		if w == nil {
			e, found, err := tx.Entry(ctx, key)
			return seenIn(e, found), err
		}
		value, found, err := w.GetForUpdate(ctx, key)
		return workload.Seen{Found: found, Value: value}, err
	case workload.Write:
		return workload.Seen{}, w.Put(ctx, key, o.Value)
	case workload.Add:
		return workload.Seen{}, client.NewCounter(key).Add(ctx, w, o.Delta)
	}
	return workload.Seen{}, fmt.Errorf("clientstore: operation of unknown kind %d", o.Kind)
}

// attempts follows an interactive transaction over its attempts.
type attempts struct {
	reply workload.Reply
	// last is the error that ended the previous attempt, nil if it reached the commit.
	last error
}

// begin begins an attempt.
func (t *attempts) begin(id client.TxID) {
	if t.reply.Attempts > 0 {
		t.reply.Aborts = append(t.reply.Aborts, t.reason())
	}
	t.reply.Attempts++
	t.reply.ID, t.last = stored(id), nil
}

// run runs ops in order. It forgets what an earlier attempt has read.
func (t *attempts) run(ctx context.Context, tx transaction, ops []workload.Op) error {
	t.begin(tx.ID())
	t.reply.Results = make([]workload.Seen, 0, len(ops))
	for _, o := range ops {
		if !workload.Sleep(ctx, o.Pause) {
			t.last = kv.Errorf(kv.KindDeadlineExceeded, "the deadline passed in a pause")
			return t.last
		}
		var s workload.Seen
		s, t.last = step(ctx, tx, o)
		if t.last != nil {
			return t.last
		}
		t.reply.Results = append(t.reply.Results, s)
	}
	return nil
}

// reason says where and how the previous attempt ended.
func (t *attempts) reason() string {
	switch {
	case t.last == nil:
		return workload.AtCommit
	case errors.Is(t.last, client.ErrAborted):
		return workload.AtOperation
	}
	return kv.KindOf(t.last).String() + " at an operation"
}

// stored converts an id: both parts are big-endian.
func stored(id client.TxID) kv.TxnID {
	return kv.TxnID{Time: int64(binary.BigEndian.Uint64(id[:8])), Rand: binary.BigEndian.Uint64(id[8:])}
}
