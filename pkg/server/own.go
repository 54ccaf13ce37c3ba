package server

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// opened has the interactive transactions of the clients of this node, by their connections: so a client
// learns that it waits for a transaction of its own. Those that have ended stay for a while, because the
// response to a transaction that has waited for one comes after its end.
type opened struct {
	mu  sync.Mutex
	all map[kv.TxnID]opener
	// ended are the last that have ended; next is where the next one is noted.
	ended [maxEnded]ending
	next  uint64
}

// maxEnded bounds the transactions that have ended. Somewhat arbitrary: a response follows within
// milliseconds.
const maxEnded = 4096

// opener is the connection of a transaction. number is that of its end, 0 if it is open.
type opener struct {
	conn   *net.TCPAddr
	number uint64
}

// ending is the end of a transaction: a later attempt may have been begun since.
type ending struct {
	id     kv.TxnID
	number uint64
}

// connection identifies the connection of a call; nil if it did not come over the network.
func connection(ctx context.Context) *net.TCPAddr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	addr, _ := p.Addr.(*net.TCPAddr)
	return addr
}

// begin notes a transaction that a call has begun.
func (o *opened) begin(ctx context.Context, id kv.TxnID) {
	conn := connection(ctx)
	if conn == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[kv.TxnID]opener{}
	}
	o.all[id] = opener{conn: conn}
}

// end notes that a transaction has ended.
func (o *opened) end(id kv.TxnID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, ok := o.all[id]
	if !ok || t.number != 0 {
		return
	}
	o.next++
	t.number = o.next
	o.all[id] = t
	last := &o.ended[o.next%maxEnded]
	if last.number != 0 && o.all[last.id].number == last.number {
		delete(o.all, last.id)
	}
	*last = ending{id, o.next}
}

// has reports whether a transaction was begun on the connection of a call.
func (o *opened) has(ctx context.Context, id kv.TxnID) bool {
	o.mu.Lock()
	t, ok := o.all[id]
	o.mu.Unlock()
	return ok && connection(ctx) == t.conn
}
