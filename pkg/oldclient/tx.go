package client

import (
	"iter"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// ReadTx is a transaction that only reads, as View gives it to its function.
// It is for one goroutine, and over when the function returns.
type ReadTx struct{ t *interaction }

// ID names the transaction; it may change from run to run.
func (ro *ReadTx) ID() kv.TxnID { return ro.t.ref.TxnID }

// Attempt counts the runs that have had this ID, from 1.
func (ro *ReadTx) Attempt() int { return int(ro.t.ref.Attempt) }

// Get reads a key. A key that does not exist is no error: Found is false.
func (ro *ReadTx) Get(key []byte) (Value, error) { return ro.read(Get(key)) }

func (ro *ReadTx) read(op Op) (Value, error) {
	rs, err := ro.t.do(op)
	if err != nil {
		return Value{}, err
	}
	return rs[0].value(), nil
}

// Do runs operations in one round trip and gives a result for each.
func (ro *ReadTx) Do(ops ...Op) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	return ro.t.do(ops...)
}

// scanPage is how many pairs a scan inside a transaction asks for at a time.
const scanPage = 1000

// Scan reads the pairs with keys from start up to but without end, in order;
// an empty end means to the last key. The transaction's own writes are seen. A
// failure is yielded once, with an empty pair, and is the last.
func (ro *ReadTx) Scan(start, end []byte) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for from := start; ; {
			rs, err := ro.t.do(ScanRange(from, end, scanPage))
			if err != nil {
				yield(Pair{}, err)
				return
			}
			for _, p := range rs[0].Pairs {
				if !yield(p, nil) {
					return
				}
			}
			from = rs[0].Resume
			if len(from) == 0 {
				return
			}
		}
	}
}

// Tx is a transaction that reads and writes, as Update gives it to its
// function. It is for one goroutine, and over when the function returns.
//
// Put, Delete, Add and their kin only note what to do. Their errors, apart
// from those that can be told at once, come with a later operation or with the
// end of Update. Keys and values are copied.
type Tx struct{ ReadTx }

// GetForUpdate reads a key that is about to be written: it takes the lock for
// that at once, which spares a conflict between the read and the write.
func (tx *Tx) GetForUpdate(key []byte) (Value, error) { return tx.read(GetForUpdate(key)) }

// Put sets a key to a value.
func (tx *Tx) Put(key, value []byte) error { return tx.t.keep(Put(key, value)) }

// Delete removes a key, if it exists.
func (tx *Tx) Delete(key []byte) error { return tx.t.keep(Delete(key)) }

// PutIfAbsent sets a key. If it exists, the transaction fails with
// kv.KindConditionFailed.
func (tx *Tx) PutIfAbsent(key, value []byte) error { return tx.t.keep(PutIfAbsent(key, value)) }

// CompareAndSet replaces a value. If it is not old, the transaction fails with
// kv.KindConditionFailed.
func (tx *Tx) CompareAndSet(key, old, value []byte) error {
	return tx.t.keep(CompareAndSet(key, old, value))
}

// CompareVersionAndSet replaces the value that the write named by version
// made. If it is another one, the transaction fails with kv.KindConditionFailed.
func (tx *Tx) CompareVersionAndSet(key []byte, version kv.Version, value []byte) error {
	return tx.t.keep(CompareVersionAndSet(key, version, value))
}

// Expire has a key that exists expire after ttl.
func (tx *Tx) Expire(key []byte, ttl time.Duration) error { return tx.t.keep(Expire(key, ttl)) }

// Persist has a key not expire.
func (tx *Tx) Persist(key []byte) error { return tx.t.keep(Persist(key)) }

// Require fails the transaction with kv.KindConditionFailed unless the condition
// (RequireExists, RequireAbsent, RequireEquals, RequireVersion) holds when it
// commits.
func (tx *Tx) Require(condition Op) error {
	if condition.op.Kind != msg.OpRequire {
		condition = condition.misused("the operation is not a condition", "pass RequireExists, RequireAbsent, RequireEquals or RequireVersion")
	}
	return tx.t.keep(condition)
}

// Add adds delta to a counter.
func (tx *Tx) Add(key []byte, delta int64) error { return tx.t.keep(Add(key, delta)) }

// Savepoint marks a place in the transaction that RollbackTo returns to. From then
// on a failure of an operation, such as a condition that does not hold, ends the
// transaction only if RollbackTo is not called next. A name has 1 to 64 bytes, and
// may be given again: the newest counts.
func (tx *Tx) Savepoint(name string) error {
	step := &pb.TransactRequest{Step: &pb.TransactRequest_Savepoint{Savepoint: &pb.SavepointStep{Name: name}}}
	return tx.t.mark(step)
}

// RollbackTo forgets what the transaction has written since its newest savepoint
// of a name, and the savepoints since; that one stays. What was read since counts
// still: the transaction commits only if it is current.
//
// After an error that leaves the transaction open it can go on from there. One that
// does not, such as that the transaction had to give way to an older one, is
// returned again.
func (tx *Tx) RollbackTo(name string) error {
	return tx.t.rollbackTo(name)
}

// Release forgets the newest savepoint of a name, and those since. What was
// written stays.
func (tx *Tx) Release(name string) error {
	step := &pb.TransactRequest{Step: &pb.TransactRequest_Release{Release: &pb.SavepointStep{Name: name}}}
	return tx.t.mark(step)
}

// Nested runs fn as a part of the transaction that can fail on its own: if fn
// returns an error, what it wrote is taken back, and Nested returns that error; the
// transaction can go on. If the transaction has failed as a whole, its error is
// returned.
func (tx *Tx) Nested(fn func() error) error {
	const name = "nested" // within each other, the newest counts
	if err := tx.Savepoint(name); err != nil {
		return err
	}
	own := fn()
	if own != nil {
		if err := tx.RollbackTo(name); err != nil {
			return err
		}
	}
	if err := tx.Release(name); err != nil {
		return err
	}
	return own
}

// AddGet adds delta to a counter and returns the sum.
func (tx *Tx) AddGet(key []byte, delta int64) (int64, error) {
	rs, err := tx.t.do(AddGet(key, delta))
	if err != nil {
		return 0, err
	}
	return rs[0].Number, nil
}

// DeleteRange removes the keys from start up to but without end and returns
// how many there were.
func (tx *Tx) DeleteRange(start, end []byte) (int, error) {
	rs, err := tx.t.do(DeleteRange(start, end))
	if err != nil {
		return 0, err
	}
	return int(rs[0].Count), nil
}
