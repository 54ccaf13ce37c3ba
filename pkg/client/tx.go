package client

import (
	"iter"

	"github.com/linchpindb/linchpin/pkg/kv"
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
			if from = rs[0].Resume; len(from) == 0 {
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
// kv.KindCondition.
func (tx *Tx) PutIfAbsent(key, value []byte) error { return tx.t.keep(PutIfAbsent(key, value)) }

// CompareAndSet replaces a value. If it is not old, the transaction fails with
// kv.KindCondition.
func (tx *Tx) CompareAndSet(key, old, value []byte) error {
	return tx.t.keep(CompareAndSet(key, old, value))
}

// CompareVersionAndSet replaces the value that the write named by version
// made. If it is another one, the transaction fails with kv.KindCondition.
func (tx *Tx) CompareVersionAndSet(key []byte, version kv.Version, value []byte) error {
	return tx.t.keep(CompareVersionAndSet(key, version, value))
}

// Require fails the transaction with kv.KindCondition unless the condition
// (RequireExists, RequireAbsent, RequireEquals, RequireVersion) holds when it
// commits.
func (tx *Tx) Require(condition Op) error { return tx.t.keep(condition) }

// Add adds delta to a counter.
func (tx *Tx) Add(key []byte, delta int64) error { return tx.t.keep(Add(key, delta)) }

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
