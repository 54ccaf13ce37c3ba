package shard_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// call returns the operation that calls a method.
func call(key, method string, args ...msg.Datum) msg.Op {
	name := map[byte]string{'s': "set", 'd': "map", 'z': "sorted-set"}[key[0]]
	return adt.ByName(name).MethodByName(method).Op([]byte(key), args...)
}

func everythingOf(keys []string) (ops []msg.Op) {
	for i, k := range keys {
		var op msg.Op
		switch k[0] {
		case 'd':
			op = call(k, "all")
		case 's':
			op = call(k, "members")
		default:
			op = call(k, "range-by-rank", adt.Int(0), adt.Int(-1))
		}
		op.Seq = uint32(i)
		ops = append(ops, op)
	}
	return ops
}

// drawOps draws the changes of one transaction.
func (w *chainWorld) drawOps() (ops []msg.Op) {
	for range 1 + w.pick(3, "operations") {
		k := chainKeys[w.pick(len(chainKeys), "key")]
		what := w.pick(40, "what")
		var op msg.Op
		switch {
		case what == 0:
			op = msg.Op{Kind: msg.OpDelete, Key: []byte(k)}
		case what == 1 && len(ops) == 0:
			return []msg.Op{{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("zz")}}
		case what < 12 && k[0] == 'd':
			op = call(k, "increment", adt.Bytes([]byte("n")), adt.Int(int64(what)))
		case what < 16 && k[0] == 'z':
			op = call(k, "increment", w.member(), adt.Float(float64(what)))
		default:
			method := []string{"more", "more", "more", "less"}[w.pick(4, "method")]
			op = w.drawCall(k, method, []int{1, 1, 2, 20}[w.pick(4, "members")])
		}
		op.Seq = uint32(len(ops))
		ops = append(ops, op)
	}
	return ops
}

func (w *chainWorld) drawCall(k, method string, n int) msg.Op {
	names := map[string]string{"smore": "add", "sless": "remove", "dmore": "set", "dless": "delete", "zmore": "add",
		"zless": "remove"}
	var args []msg.Datum
	for range n {
		if k[0] == 'z' && method == "more" {
			args = append(args, adt.Float(float64(w.pick(30, "score"))))
		}
		args = append(args, w.member())
		if k[0] == 'd' && method == "more" {
			args = append(args, adt.Bytes(fmt.Appendf(nil, "%d", w.ids)))
		}
	}
	return call(k, names[k[:1]+method], args...)
}

func (w *chainWorld) member() msg.Datum {
	return adt.Bytes(fmt.Appendf(nil, "%02d-a member of some length or a field", w.pick(51, "member")))
}

// drawQueries draws queries of some keys.
func (w *chainWorld) drawQueries() (ops []msg.Op) {
	for i := range 1 + w.pick(3, "questions") {
		k := chainKeys[w.pick(len(chainKeys), "key")]
		methods := map[byte][]string{'s': {"contains", "len"}, 'd': {"get", "has"},
			'z': {"score", "rank", "rev-rank", "len"}}[k[0]]
		method := methods[w.pick(len(methods), "question")]
		op := call(k, method, w.member())
		if method == "len" {
			op.Args = nil
		}
		op.Seq = uint32(i)
		ops = append(ops, op)
	}
	return ops
}

// transact delivers several transactions in one step.
func (w *chainWorld) transact() {
	var messages []*msg.Envelope
	for range 1 + w.pick(5, "transactions") {
		env, txn, ops := msg.ToShard(0), w.txn(), w.drawOps()
		w.pending[txn] = ops
		piece := msg.Piece{Ops: ops, Incarnation: w.m.Incarnation()}
		if w.pick(4, "two phases") == 0 {
			env.Body = &msg.Prepare{Txn: txn, CommitID: kv.CommitID{Gateway: 1}, Last: 9, LastIncarnation: 1, Piece: piece}
		} else {
			env.Body = &msg.CommitRequest{Txn: txn, CommitID: kv.CommitID{Gateway: 1}, Piece: piece}
		}
		w.requests, messages = append(w.requests, env), append(messages, env)
	}
	w.step(messages, nil)
}

// decide commits a prepared transaction. After a restart its keys may have to be read first.
func (w *chainWorld) decide() {
	if len(w.voted) == 0 {
		return
	}
	txn := w.voted[0]
	env := msg.ToShard(0)
	env.Body = &msg.Decision{Txn: txn, CommitID: kv.CommitID{Gateway: 1}, Last: 9, Commit: w.pick(5, "abort") > 0}
	for !msg.As[msg.Decision](env).Commit || len(w.reads) > 0 {
		if !msg.As[msg.Decision](env).Commit {
			delete(w.pending, txn)
			break
		}
		w.answer(len(w.reads))
	}
	w.voted = slices.Delete(w.voted, 0, 1)
	before := w.m.CSN()
	out := w.m.Step(shard.Input{Now: w.now, Wall: w.now, Messages: []*msg.Envelope{env}})
	if msg.As[msg.Decision](env).Commit { // applied in the model before the step releases its locks
		w.apply(txn, before+1)
	}
	w.act(out)
}

func (w *chainWorld) read(q *msg.Read) {
	q.Reader, q.Gateway, q.Number = w.txn(), 1, 1
	w.readers[q.Reader] = q.Ops
	env := msg.ToShard(0)
	env.Body = q
	w.step([]*msg.Envelope{env}, nil)
}

// fix has the shard fix its CSN for a snapshot, and deregisters.
func (w *chainWorld) fix() {
	for range 2 { // a round begins when the previous one has ended
		w.settle()
	}
	w.read(&msg.Read{RetainNanos: int64(kv.DefaultScanRetention)})
	env := msg.ToShard(0)
	env.Body = &msg.ReadPage{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: w.ids}, Attempt: 1}, Gateway: 1, Done: true}
	w.step([]*msg.Envelope{env}, nil)
}

// sendList delivers the snapshot list of the registry.
func (w *chainWorld) sendList() {
	w.listed++
	env := msg.ToShard(0)
	env.Body = &msg.SnapshotList{Incarnation: 1, Change: w.listed, SafePoint: w.safePoint, Next: w.numbers + 1,
		RequesterIncarnation: w.m.Incarnation()}
	for _, p := range w.snapshots {
		list := msg.As[msg.SnapshotList](env)
		list.Numbers, list.CSNs = append(list.Numbers, p.number), append(list.CSNs, uint64(p.csn))
	}
	w.step([]*msg.Envelope{env}, nil)
}

func (w *chainWorld) random() {
	ask := func() []msg.Op {
		if w.pick(2, "little") == 0 {
			return w.drawQueries()
		}
		return everythingOf(chainKeys)
	}
	switch what := w.pick(33, "verb"); {
	case what < 12:
		w.transact()
	case what < 15:
		w.decide()
	case what < 18:
		w.answer(w.pick(4, "answers"))
	case what < 20:
		w.settle()
	case what < 22:
		w.read(&msg.Read{Ops: ask()})
	case what < 24:
		w.fix()
	case what < 26 && len(w.snapshots) > 0:
		p := w.snapshots[w.pick(len(w.snapshots), "snapshot")]
		w.read(&msg.Read{SnapshotNumber: p.number, CSN: p.csn, Ops: ask()})
	case what < 28:
		w.sendList()
	case what == 28 && len(w.snapshots) > 0:
		i := w.pick(len(w.snapshots), "dropped")
		w.settle() // no read at it is left
		w.snapshots = slices.Delete(w.snapshots, i, i+1)
	case what == 29 && w.pick(3, "restart") == 0:
		w.restart()
	default:
		w.now += int64([]time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[w.pick(3, "time")])
		w.step(w.undecided(), nil)
	}
}

// undecided are the requests without a response, which their gateways repeat.
func (w *chainWorld) undecided() []*msg.Envelope {
	w.requests = slices.DeleteFunc(w.requests, func(env *msg.Envelope) bool {
		txn, _ := env.Attempt()
		return w.pending[txn] == nil
	})
	return w.requests
}
