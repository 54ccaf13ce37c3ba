package main

import (
	"fmt"
	"sync"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// recorder writes the transactions of a run to a history.
type recorder struct {
	rec *history.Recorder

	mu      sync.RWMutex // guards clients
	clients map[int]*history.Client
}

func newRecorder(rec *history.Recorder) *recorder {
	return &recorder{rec: rec, clients: map[int]*history.Client{}}
}

// client gives the source for a client's transactions, made when it first has
// one.
func (r *recorder) client(number int) *history.Client {
	r.mu.RLock()
	c := r.clients[number]
	r.mu.RUnlock()
	if c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[number] == nil {
		r.clients[number] = r.rec.Client(number)
	}
	return r.clients[number]
}

// Begin notes that txn is about to be sent.
func (r *recorder) Begin(txn workload.Txn) func(workload.Reply, workload.Outcome) {
	// The name is also in the values that the transaction writes.
	name := fmt.Sprintf("%d.%d", txn.Client, txn.Number)
	p := r.client(txn.Client).Begin([]byte(name))
	return func(reply workload.Reply, o workload.Outcome) {
		if !reply.ID.IsZero() {
			p.SetID([]byte(name + " " + reply.ID.String()))
		}
		for i, op := range txn.Ops {
			if op.Kind == workload.ScanRange {
				noteScan(p, op, reply, o)
				continue
			}
			note(p, op, seen(reply, o, i))
		}
		switch o {
		case workload.Committed:
			p.Commit()
		case workload.Failed:
			p.Fail()
		default:
			p.Unknown()
		}
	}
}

// seen is what operation i of a committed transaction saw, nil if that is not
// known: its results were lost, all of them, and the report counts it. What
// others saw is provisional and proves nothing.
func seen(reply workload.Reply, o workload.Outcome, i int) *workload.Seen {
	if o != workload.Committed || len(reply.Results) == 0 {
		return nil
	}
	return &reply.Results[i]
}

// note records one operation. A read without a result is left out.
func note(p *history.Pending, op workload.Op, saw *workload.Seen) {
	switch {
	case op.Kind == workload.Write:
		p.Write(op.Key, op.Value)
	case op.Kind == workload.Add:
		p.Add(op.Key, op.Delta)
	case saw == nil:
	case !saw.Found:
		p.ReadAbsent(op.Key)
	case saw.IsNumber:
		p.ReadNumber(op.Key, saw.Number)
	default:
		p.Read(op.Key, saw.Value)
	}
}

// noteScan records what a scan saw, or the first part of it. One that saw no
// pair and is incomplete is left out.
func noteScan(p *history.Pending, op workload.Op, reply workload.Reply, o workload.Outcome) {
	if o != workload.Committed || reply.More && len(reply.Pairs) == 0 {
		return
	}
	pairs := make([]history.Pair, len(reply.Pairs))
	for i, saw := range reply.Pairs {
		pairs[i] = history.Pair{Key: string(saw.Key), Saw: history.SawValue, Value: string(saw.Value)}
		if saw.IsNumber {
			pairs[i] = history.Pair{Key: string(saw.Key), Saw: history.SawNumber, Number: saw.Number}
		}
	}
	limit := 0
	if reply.More {
		limit = len(pairs)
	}
	p.Scan(op.Key, op.End, limit, pairs)
}
