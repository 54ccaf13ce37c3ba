package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// The calls of clients that a test scripts. Each goes to the first machine of a node's gateway. If the gateway crashes,
// the response is empty.

const forever = int64(1) << 60

func put(k []byte) msg.Op          { return msg.Op{Kind: msg.OpPut, Key: k, Value: []byte("v")} }
func get(k []byte) msg.Op          { return msg.Op{Kind: msg.OpGet, Key: k} }
func getForUpdate(k []byte) msg.Op { return msg.Op{Kind: msg.OpGet, Key: k, ForUpdate: true} }

// newID returns an id with the present time.
func (w *sim) newID() kv.TxnID {
	w.sum.Txns++
	return kv.TxnID{Time: world.WallBase + w.Now(), Rand: uint64(w.sum.Txns)}
}

// request makes a call of the first machine.
func (n *node) request(f func(g *txn.Gateway, now int64, tok txn.CallHandle), then func(d txn.Done)) {
	n.w.call(n, func(now int64, tok txn.CallHandle) { f(n.Machines[0], now, tok) }, func(d txn.Done, _ bool) { then(d) })
}

// execute runs a one-shot.
func (n *node) execute(how txn.TxnOptions, then func(d txn.Done), ops ...msg.Op) {
	n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) {
		g.Execute(now, tok, n.w.newID(), cloneOps(ops), forever, how)
	}, then)
}

// open begins the first attempt of an interactive transaction. It reports whether the gateway admits it.
func (n *node) open(readOnly bool, how txn.TxnOptions) (kv.TxnRef, *msg.Failure) {
	ref := kv.TxnRef{TxnID: n.w.newID(), Attempt: 1}
	return ref, n.Machines[0].Begin(n.Local(), ref, readOnly, how)
}

func (n *node) do(ref kv.TxnRef, then func(d txn.Done), ops ...msg.Op) {
	n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.Do(now, tok, ref, cloneOps(ops), 0) }, then)
}

func (n *node) commit(ref kv.TxnRef, then func(d txn.Done)) {
	n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.Commit(now, tok, ref, forever) }, then)
}

// view runs a view of calls, each of which gets the keys that keys draws, with a pause after each. It calls then after
// each call, with the time at which that began.
func (n *node) view(calls int, pause time.Duration, keys func() []msg.Op, then func(began int64, d txn.Done)) bool {
	ref, f := n.open(true, txn.TxnOptions{})
	if f != nil {
		return false
	}
	var next func()
	next = func() {
		began, left := n.w.Now(), calls
		calls--
		end := func(d txn.Done) {
			then(began, d)
			if !d.Closed {
				n.w.After(pause, next)
			}
		}
		if left == 0 {
			n.commit(ref, end)
			return
		}
		n.do(ref, end, keys()...)
	}
	next()
	return true
}
