package simulated

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// call is a transaction at its node.
type call struct {
	n      *node
	id     kv.TxnID
	ops    []msg.Op
	writes bool
	// do, if set, is what the gateway is to do, instead of executing ops;
	// kind is what that is charged as.
	do   func(g *txn.Gateway, now int64)
	kind string
	then func(ended)
	// failed, if set, is how it ended before it began.
	failed *txn.Done
}

// start has the gateway begin it.
func (ca *call) start(now int64) {
	if ca.do != nil {
		ca.do(ca.n.gw, now)
		return
	}
	ca.n.gw.Execute(now, ca, ca.id, ca.ops, now+int64(time.Minute), txn.TxnOptions{})
}

// kindOf is what beginning it is charged as.
func (ca *call) kindOf() string {
	switch {
	case ca.kind != "":
		return ca.kind
	case ca.writes:
		return kindUpdate
	}
	return kindRead
}

// ended is how a call ended, and when.
type ended struct {
	txn.Done
	at int64
}

// newID names a transaction.
func (c *cluster) newID() kv.TxnID {
	c.tally.ids++
	return kv.TxnID{Time: wallBase + c.Now(), Rand: c.tally.ids}
}

// client runs one transaction after the other.
type client struct {
	n    *node
	next func() workload.Txn
}

// startClient starts another client of a node.
func (c *cluster) startClient(n *node) {
	number := c.busy // client i is at home on node i modulo their number
	number = int(n.id) - 1 + (number%c.opt.Clients)*c.opt.Nodes
	cl := &client{n: n, next: c.source.Client(number)}
	c.busy++
	// Not all at once.
	c.At(c.Now()+int64(number)*int64(time.Microsecond), cl.begin)
}

func (cl *client) begin() {
	c := cl.n.c
	if c.ending {
		c.busy--
		return
	}
	t := cl.next()
	ca := &call{n: cl.n, id: c.newID(), ops: opsOf(t.Ops), writes: !t.Kind.Reads()}
	begun := c.Now()
	c.tally.begun++
	ca.then = func(e ended) {
		c.beside.refusedCold(c, &e.Done)
		c.tally.ended(t.Kind.Reads(), e.Failure, len(e.AbortReasons), e.at-begun)
		if c.opt.Ended != nil {
			c.opt.Ended(t, e.Done)
		}
		if e.Failure != nil {
			c.At(c.Now()+int64(time.Millisecond), cl.begin)
			return
		}
		cl.begin()
	}
	cl.n.queue(job{call: ca})
}

// opsOf are the operations as a client sends them.
func opsOf(ops []workload.Op) []msg.Op {
	out := make([]msg.Op, len(ops))
	for i, o := range ops {
		switch o.Kind {
		case workload.Read:
			out[i] = msg.Op{Kind: msg.OpGet, Key: o.Key}
		case workload.ReadForUpdate:
			out[i] = msg.Op{Kind: msg.OpGet, Key: o.Key, ForUpdate: true}
		case workload.Write:
			out[i] = msg.Op{Kind: msg.OpPut, Key: o.Key, Value: o.Value}
		case workload.Add:
			out[i] = msg.Op{Kind: msg.OpAdd, Key: o.Key, Delta: o.Delta}
		default:
			panic("a client does not scan")
		}
	}
	return out
}
