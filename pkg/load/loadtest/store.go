// Package loadtest has a Store that needs no server: a map behind a mutex, in
// which every transaction takes effect at one instant. Tests run workloads
// against it, and the generator's own ceiling is measured with it.
//
// It is strictly serializable because the mutex is held for a whole
// transaction, interactive ones too. What a store can do wrong is added from
// outside, by the function Before.
package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Store is the store. The zero value is empty and ready for use.
type Store struct {
	// Before, if set, is called before a transaction takes effect, without
	// the mutex, with its number from 1. An error is the transaction's, which
	// then has no effect; the reply comes with it or with the results.
	Before func(ctx context.Context, number uint64, ops []workload.Op) (workload.Reply, error)

	mu     sync.Mutex // guards what follows
	values map[string]value
	count  uint64
}

// value is a register, or a counter.
type value struct {
	isNumber bool
	number   int64
	bytes    []byte
}

// Execute runs ops as one transaction.
func (s *Store) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	s.mu.Lock()
	s.count++
	number := s.count
	s.mu.Unlock()
	reply := workload.Reply{Attempts: 1}
	if s.Before != nil {
		var err error
		reply, err = s.Before(ctx, number, ops)
		if err != nil {
			return reply, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ops); err != nil {
		return reply, err
	}
	for _, o := range ops {
		reply.Results = append(reply.Results, s.apply(o))
	}
	return reply, nil
}

// Transact pauses for as long as ops want altogether, and is then Execute: the
// mutex is held in any case.
func (s *Store) Transact(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	var pause time.Duration
	for _, o := range ops {
		pause += o.Pause
	}
	if !workload.Sleep(ctx, pause) {
		return workload.Reply{}, kv.Errorf(kv.KindDeadlineExceeded, "the deadline passed in a pause")
	}
	return s.Execute(ctx, ops)
}

// Scan passes the pairs of a range as they were at its beginning.
func (s *Store) Scan(ctx context.Context, r workload.Range, each func(workload.Pair) bool) error {
	s.mu.Lock()
	var pairs []workload.Pair
	for k, v := range s.values {
		if k >= string(r.Start) && k < string(r.End) {
			pairs = append(pairs, workload.Pair{Key: []byte(k), Seen: workload.Seen{Found: true, IsNumber: v.isNumber,
				Number: v.number, Value: v.bytes}})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(pairs, func(a, b workload.Pair) int { return bytes.Compare(a.Key, b.Key) })
	for _, p := range pairs {
		if ctx.Err() != nil {
			return kv.Errorf(kv.KindCancelled, "the scan was given up")
		}
		if !each(p) {
			return nil
		}
	}
	return nil
}

// Get gives the value or number of a key.
func (s *Store) Get(key []byte) workload.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply(workload.Op{Kind: workload.Read, Key: key})
}

// Len is the number of keys.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}

// check refuses ops on a key of the other type before any has an effect.
func (s *Store) check(ops []workload.Op) error {
	added := map[string]bool{}
	for i, o := range ops {
		if o.IsRead() {
			continue
		}
		v, found := s.values[string(o.Key)]
		isNumber, before := added[string(o.Key)]
		if !before {
			isNumber, before = v.isNumber, found
		}
		if before && isNumber != (o.Kind == workload.Add) {
			return &kv.Error{Kind: kv.KindWrongType, Op: i, Key: o.Key,
				Text: fmt.Sprintf("operation %d does not fit the key's type", i)}
		}
		added[string(o.Key)] = o.Kind == workload.Add
	}
	return nil
}

func (s *Store) apply(o workload.Op) workload.Seen {
	v, found := s.values[string(o.Key)]
	switch o.Kind {
	case workload.Write:
		v = value{bytes: bytes.Clone(o.Value)}
	case workload.Add:
		v = value{isNumber: true, number: v.number + o.Delta}
	default:
		return workload.Seen{Found: found, IsNumber: v.isNumber, Number: v.number, Value: v.bytes}
	}
	if s.values == nil {
		s.values = map[string]value{}
	}
	s.values[string(o.Key)] = v
	return workload.Seen{}
}
