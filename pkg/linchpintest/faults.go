package linchpintest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

// faults are those that a cluster is to inject.
type faults struct {
	// aborts and losses are how many transactions are still to be aborted, and how many responses to
	// be lost.
	aborts, losses atomic.Int64
	wires          map[kv.NodeID]*wires
}

// take takes one of n, if there is one.
func take(n *atomic.Int64) bool {
	for {
		left := n.Load()
		if left <= 0 {
			return false
		}
		if n.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// edge comes between a node's gRPC server and its gateway.
type edge struct {
	server.Backend
	faults *faults
	node   kv.NodeID
}

// Submit runs a one-shot transaction.
func (e edge) Submit(req gateway.Request, done func(gateway.Response)) {
	if take(&e.faults.aborts) {
		done(aborted(req.ID))
		return
	}
	writes := false
	for i := range req.Ops {
		writes = writes || req.Ops[i].Writes()
	}
	e.Backend.Submit(req, func(r gateway.Response) {
		if writes {
			e.lose(&r)
		}
		done(r)
	})
}

// lose breaks the connections of the node if the response is to be lost.
func (e edge) lose(r *gateway.Response) {
	if r.Err == nil && take(&e.faults.losses) {
		e.faults.wires[e.node].cut()
	}
}

// aborted is the response to a transaction that the node has aborted.
func aborted(id kv.TxnID) gateway.Response {
	return gateway.Response{ID: id, Attempts: 1,
		Err: kv.Errorf(kv.KindAborted, "linchpintest has aborted the transaction")}
}

// Begin begins an interactive transaction.
func (e edge) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	tx, err := e.Backend.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return edgeTx{tx, e, o.ReadOnly}, nil
}

// edgeTx is an interactive transaction.
type edgeTx struct {
	server.Tx
	edge     edge
	readOnly bool
}

// Commit ends the transaction.
func (t edgeTx) Commit(ctx context.Context) gateway.Response {
	if take(&t.edge.faults.aborts) {
		t.Rollback()
		return aborted(t.ID())
	}
	r := t.Tx.Commit(ctx)
	if !t.readOnly {
		t.edge.lose(&r)
	}
	return r
}

// wires are the connections of a node's clients.
type wires struct {
	mu    sync.Mutex
	conns map[*wire]bool
}

// cut breaks all of them.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Conn.Close() // the server notices that it is closed
	}
	clear(w.conns)
}

// listener notes the connections that it accepts.
type listener struct {
	net.Listener
	wires *wires
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &wire{conn, l.wires}
	l.wires.mu.Lock()
	defer l.wires.mu.Unlock()
	if l.wires.conns == nil {
		l.wires.conns = make(map[*wire]bool)
	}
	l.wires.conns[c] = true
	return c, nil
}

// wire is one connection.
type wire struct {
	net.Conn
	wires *wires
}

// Close implements net.Conn.
func (c *wire) Close() error {
	c.wires.mu.Lock()
	delete(c.wires.conns, c)
	c.wires.mu.Unlock()
	return c.Conn.Close()
}
