package client

import (
	"context"
	"iter"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Reader reads: a *[DB], of which each call is a transaction; a *[Tx] or a *[View], of which each call is
// a step; or a *[Snapshot], all of whose calls read one state. The methods of data types take it. The
// interface is sealed, and may get more methods.
type Reader interface {
	// Execute runs the operations in one round trip: all of them or none. If it returns nil, their
	// results are filled in. On a Tx it also sends the buffer, and without operations only that.
	Execute(ctx context.Context, ops ...Op) error
	// Get returns the value of a key; ok reports whether the key exists. A key of another type than
	// TypeValue is an error of KindWrongType.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Entry returns what a key of any type holds; ok reports whether the key exists.
	Entry(ctx context.Context, key string) (e Entry, ok bool, err error)
	// Scan returns an iterator over the keys of a range in order, all in one state. Nothing is sent
	// before the loop begins; leaving the loop ends the scan. An error is yielded once, with an
	// empty Entry, as the last pair.
	Scan(ctx context.Context, r Range, opts ...ScanOption) iter.Seq2[Entry, error]

	// run runs an operation of a method of the client.
	run(ctx context.Context, op Op) error
}

// Writer reads and writes: a *[DB] or a *[Tx]. A function that takes a Writer is a transaction, or a
// part of one. The interface is sealed, and may get more methods.
//
// A Tx buffers operations without a result, as Put, until the next operation with a result, the next
// Execute, or the commit. An error of such an operation, as of a condition that does not hold, is
// returned then. Keys and values are copied.
type Writer interface {
	Reader
	// Put writes a value. Without TTL the key does not expire, whether it did before or not.
	Put(ctx context.Context, key string, value []byte, opts ...PutOption) error
	// Delete deletes a key of any type, if it exists.
	Delete(ctx context.Context, key string, opts ...DeleteOption) error
	// DeleteRange deletes the keys of a range, 10,000 at most, and returns their number. It refuses
	// Range{}.
	DeleteRange(ctx context.Context, r Range) (int, error)
	// Expire has a key of any type expire after ttl, 1 ms to ten years, if the key exists. It takes
	// the write lock of the key.
	Expire(ctx context.Context, key string, ttl time.Duration) error
	// Persist removes the time to live of a key of any type.
	Persist(ctx context.Context, key string) error

	// send runs an operation whose result is not read.
	send(ctx context.Context, op Op) error
}

var (
	_ Writer = (*DB)(nil)
	_ Writer = (*Tx)(nil)
	_ Reader = (*View)(nil)
	_ Reader = (*Snapshot)(nil)
)

// View is a transaction that only reads, as [DB.View] passes it to its function. It is for one
// goroutine, and over when the function returns.
type View struct{ transaction }

// Tx is a transaction that reads and writes, as [DB.Update] passes it to its function. It is for one
// goroutine, and over when the function returns. An error of one of its methods ends it; see
// [Tx.Nested] for parts that may fail.
type Tx struct{ transaction }

// transaction is what a View and a Tx have in common.
type transaction struct{ t *interaction }

// ID returns the transaction's id. It may be another one in another attempt.
func (x transaction) ID() TxID { return txID(x.t.ref.TxnID) }

// Attempt returns the number of the attempt under this id, from 1.
func (x transaction) Attempt() int { return int(x.t.ref.Attempt) }

// Execute implements [Reader].
func (x transaction) Execute(ctx context.Context, ops ...Op) error {
	if len(ops) == 0 {
		return orNil(x.t.flush(ctx))
	}
	return orNil(x.t.do(ctx, ops))
}

func (x transaction) run(ctx context.Context, op Op) error {
	err := x.t.do(ctx, []Op{op})
	if err == nil {
		return nil
	}
	err.Op = -1
	return err
}

// Get implements [Reader].
func (x transaction) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return get(ctx, x, GetOp(key))
}

// Entry implements [Reader].
func (x transaction) Entry(ctx context.Context, key string) (e Entry, ok bool, err error) {
	return get(ctx, x, EntryOp(key))
}

// Scan implements [Reader]. The transaction's own writes are read, too.
func (x transaction) Scan(ctx context.Context, r Range, opts ...ScanOption) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := scanOptions(r, opts)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		x.scan(ctx, r, s, yield)
	}
}

// txPage is the default of PageSize in a transaction.
const txPage = 1000

func (x transaction) scan(ctx context.Context, r Range, s scan, yield func(Entry, error) bool) {
	for left := s.limit; ; {
		n := s.page(txPage)
		if s.limit > 0 {
			n = min(n, left)
		}
		op := ScanOp(r, n)
		op.op.Reverse = s.reverse
		if err := x.run(ctx, op); err != nil {
			yield(Entry{}, err)
			return
		}
		page := op.Value()
		for _, e := range page.Entries {
			if !yield(e, nil) {
				return
			}
		}
		left -= len(page.Entries)
		if !page.More || s.limit > 0 && left <= 0 {
			return
		}
		r = page.Rest
	}
}

// get runs an operation that returns a value if there is one.
func get[T any](ctx context.Context, r Reader, op *Result[T]) (T, bool, error) {
	err := r.run(ctx, op)
	return op.value, op.found, err
}

// result runs an operation and returns its result.
func result[T any](ctx context.Context, r Reader, op *Result[T]) (T, error) {
	err := r.run(ctx, op)
	return op.value, err
}

func (tx *Tx) send(ctx context.Context, op Op) error { return orNil(tx.t.keep(ctx, op)) }

// GetForUpdate returns the value of a key and takes the lock of a later write, so that no other
// transaction can write the key between the two.
func (tx *Tx) GetForUpdate(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return get(ctx, tx, GetForUpdateOp(key))
}

// Put implements [Writer].
func (tx *Tx) Put(ctx context.Context, key string, value []byte, opts ...PutOption) error {
	return tx.send(ctx, PutOp(key, value, opts...))
}

// Delete implements [Writer].
func (tx *Tx) Delete(ctx context.Context, key string, opts ...DeleteOption) error {
	return tx.send(ctx, DeleteOp(key, opts...))
}

// DeleteRange implements [Writer].
func (tx *Tx) DeleteRange(ctx context.Context, r Range) (int, error) {
	return result(ctx, tx, DeleteRangeOp(r))
}

// Expire implements [Writer].
func (tx *Tx) Expire(ctx context.Context, key string, ttl time.Duration) error {
	return tx.send(ctx, ExpireOp(key, ttl))
}

// Persist implements [Writer].
func (tx *Tx) Persist(ctx context.Context, key string) error {
	return tx.send(ctx, PersistOp(key))
}

// Require makes the transaction commit only if the condition holds then; else it fails with
// [KindConditionFailed]. It is buffered.
func (tx *Tx) Require(ctx context.Context, key string, c Condition) error {
	return tx.send(ctx, RequireOp(key, c))
}

// Savepoint sets a savepoint. From then on an operation that fails, as by a condition that does not
// hold, ends the transaction only if [Tx.RollbackTo] is not called next. A name has 1 to 64 bytes and
// may be used again: the newest counts. It is for tools; see [Tx.Nested].
func (tx *Tx) Savepoint(ctx context.Context, name string) error {
	step := &pb.TransactRequest{Step: &pb.TransactRequest_Savepoint{Savepoint: &pb.SavepointStep{Name: name}}}
	return orNil(tx.t.mark(ctx, step))
}

// RollbackTo undoes what the transaction has written since the newest savepoint of a name, and removes
// the savepoints since; that one stays. What was read since still counts: the transaction commits
// only if it holds.
//
// After an error that leaves the transaction open it can continue. Another error, as that it was
// aborted by an older transaction, is returned again.
func (tx *Tx) RollbackTo(ctx context.Context, name string) error {
	return orNil(tx.t.rollbackTo(ctx, name))
}

// Release removes the newest savepoint of a name, and those since. What was written stays.
func (tx *Tx) Release(ctx context.Context, name string) error {
	step := &pb.TransactRequest{Step: &pb.TransactRequest_Release{Release: &pb.SavepointStep{Name: name}}}
	return orNil(tx.t.mark(ctx, step))
}

// Nested runs fn as a part of the transaction that may fail: if fn returns an error, what it has
// written is undone, Nested returns that error, and the transaction can continue. If the transaction
// has failed as a whole, its error is returned. fn may call Nested.
func (tx *Tx) Nested(ctx context.Context, fn func(ctx context.Context) error) error {
	const name = "nested" // of nested ones, the newest counts
	if err := tx.Savepoint(ctx, name); err != nil {
		return err
	}
	own := fn(ctx)
	if own == nil && tx.t.failed != nil {
		own = tx.t.failed
	}
	if own != nil {
		if err := tx.RollbackTo(ctx, name); err != nil {
			return err
		}
	}
	if err := tx.Release(ctx, name); err != nil {
		return err
	}
	return own
}

// Get implements [Reader].
func (db *DB) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	op := GetOp(key)
	err = db.one(ctx, "Get", op)
	return op.value, op.found, err
}

// Entry implements [Reader].
func (db *DB) Entry(ctx context.Context, key string) (e Entry, ok bool, err error) {
	op := EntryOp(key)
	err = db.one(ctx, "Entry", op)
	return op.value, op.found, err
}

// Put implements [Writer].
func (db *DB) Put(ctx context.Context, key string, value []byte, opts ...PutOption) error {
	op := PutOp(key, value, opts...)
	op.returns = false
	return db.one(ctx, "Put", op)
}

// Delete implements [Writer].
func (db *DB) Delete(ctx context.Context, key string, opts ...DeleteOption) error {
	op := DeleteOp(key, opts...)
	op.returns = false
	return db.one(ctx, "Delete", op)
}

// DeleteRange implements [Writer].
func (db *DB) DeleteRange(ctx context.Context, r Range) (int, error) {
	op := DeleteRangeOp(r)
	err := db.one(ctx, "DeleteRange", op)
	return op.value, err
}

// Expire implements [Writer].
func (db *DB) Expire(ctx context.Context, key string, ttl time.Duration) error {
	op := ExpireOp(key, ttl)
	op.returns = false
	return db.one(ctx, "Expire", op)
}

// Persist implements [Writer].
func (db *DB) Persist(ctx context.Context, key string) error {
	op := PersistOp(key)
	op.returns = false
	return db.one(ctx, "Persist", op)
}
