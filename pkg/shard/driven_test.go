package shard_test

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// driven is a machine under load: each step receives a batch of transactions, and the decisions of those that
// voted some steps ago. All keys are written first.
type driven struct {
	m *shard.Machine
	// whole: transactions are decided here; otherwise the machine is a participant.
	whole bool
	// piece draws the operations of a transaction.
	piece func() []msg.Op
	// inStep is how many transactions each step receives.
	inStep  int
	now, id int64
	// votes are those of the last steps, oldest first.
	votes   [][]kv.TxnRef
	waiting int
	reads   []entry.Read
	room    shard.Output
}

const (
	inStep = 8
	// decidedAfter is the number of steps from a vote to its decision.
	decidedAfter = 4
	mostWaiting  = 256
)

// drive returns a machine that has executed fill, each operation as a transaction.
func drive(cfg shard.Config, whole bool, fill []msg.Op, piece func() []msg.Op) *driven {
	d := &driven{whole: true, id: 1}
	cfg.Lease, cfg.CacheBytes = -1, 1<<30
	d.m, d.room = shard.New(cfg, shard.Recovered{}, d.now, 0)
	d.piece = func() (ops []msg.Op) {
		ops, fill = fill[:1], fill[1:]
		return ops
	}
	for n := len(fill); n > 0; n = len(fill) {
		d.inStep = min(n, inStep)
		d.step(nil)
	}
	d.whole, d.piece, d.inStep = whole, piece, inStep
	for range 2 * decidedAfter {
		d.step(nil)
	}
	return d
}

// step executes a step; measure may wrap it.
func (d *driven) step(measure func(step func())) {
	d.now += int64(100 * time.Microsecond)
	in := shard.Input{Now: d.now, Wall: d.now, Buffers: d.room, Messages: d.messages(), Reads: d.answers()}
	if step := func() { d.room = d.m.Step(in) }; measure == nil {
		step()
	} else {
		measure(step)
	}
	d.take(&d.room)
}

func (d *driven) messages() (out []*msg.Envelope) {
	if len(d.votes) > decidedAfter {
		for _, t := range d.votes[0] {
			d.waiting--
			env := msg.ToShard(0)
			env.Body = &msg.Decision{Txn: t, CommitID: kv.CommitID{Gateway: 1}, Last: 9, Commit: true}
			out = append(out, env)
		}
		d.votes = d.votes[1:]
	}
	for range d.inStep {
		if d.waiting >= mostWaiting {
			break
		}
		env := d.request()
		if !d.whole {
			p := msg.As[msg.CommitRequest](env)
			env.Body, env.Body = nil, &msg.Prepare{Txn: p.Txn, CommitID: kv.CommitID{Gateway: 1}, Last: 9, LastIncarnation: 1,
				Piece: p.Piece}
			d.waiting++
		}
		out = append(out, env)
	}
	return out
}

// request is a one-shot transaction.
func (d *driven) request() *msg.Envelope {
	env := msg.ToShard(0)
	env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: d.id}, Attempt: 1},
		CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Ops: d.piece(), Incarnation: d.m.Incarnation()}}
	d.id++
	return env
}

// answers returns empty results for all reads of the log.
func (d *driven) answers() (out []entry.ReadResult) {
	for _, r := range d.reads {
		out = append(out, entry.ReadResult{ID: r.ID, Kind: r.Kind})
	}
	return out
}

func (d *driven) take(out *shard.Output) {
	d.reads = append(d.reads[:0], out.Reads...)
	var votes []kv.TxnRef
	for _, env := range out.Send {
		if v := msg.As[msg.Vote](env); v != nil && v.Yes && !v.Repeated {
			votes = append(votes, v.Txn)
		}
	}
	d.votes = append(d.votes, votes)
}

// manyKeys returns the names of n keys.
func manyKeys(n int) (names [][]byte) {
	for k := range n {
		names = append(names, fmt.Appendf(nil, "key-%06d", k))
	}
	return names
}
