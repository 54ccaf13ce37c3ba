package gateway

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxNodeCalls bounds the calls to other nodes in flight.
const maxNodeCalls = 256

// nodeCalls are the calls from a node to others, and those of other nodes that are being executed.
type nodeCalls struct {
	node kv.NodeID
	send func([]*msg.Envelope)

	mu sync.Mutex
	// serve executes a call; nil if none is accepted.
	serve func(request []byte) []byte
	// open are the calls without a response, by number; last is the highest number. Numbers start at a random
	// value: a response to a call of the previous incarnation may still arrive, and must not match a new call.
	// A clock would not do, since it may be set back.
	open map[uint64]chan []byte
	last uint64
	// serving counts the calls that are being executed, each by a goroutine of servers.
	serving int
	servers sync.WaitGroup
}

func newNodeCalls(opt *Options) *nodeCalls {
	return &nodeCalls{node: opt.Machine.Node, send: opt.Send, serve: opt.ServeCall, open: map[uint64]chan []byte{},
		last: rand.Uint64()}
}

// AskNode executes a call on another node (Options.ServeCall). It is sent once; if there is no response, the
// caller may retry.
func (g *Gateway) AskNode(ctx context.Context, node kv.NodeID, request []byte) ([]byte, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	if node == g.opt.Machine.Node {
		return g.opt.ServeCall(request), nil
	}
	number, response := g.calls.begin()
	if response == nil {
		return nil, &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: "too many requests to other nodes are in flight",
			Hint: "retry after a short delay"}
	}
	defer g.calls.end(number)
	env := msg.ToGateway(node)
	env.Body = &msg.Announcement{Call: &msg.NodeCall{Number: number, Requester: g.opt.Machine.Node, Body: request}}
	g.opt.Send([]*msg.Envelope{env})
	select {
	case a := <-response:
		return a, nil
	case <-ctx.Done():
		e := asError(ctxError(ctx))
		if e.Kind == kv.KindDeadlineExceeded {
			e.Text, e.Hint = "node "+node.String()+" did not respond in time", "check whether the node is up"
		}
		return nil, e
	case <-g.stop:
		return nil, errDraining
	}
}

// begin registers a call. The channel is nil if too many are open.
func (c *nodeCalls) begin() (number uint64, response chan []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxNodeCalls {
		return 0, nil
	}
	c.last++
	response = make(chan []byte, 1)
	c.open[c.last] = response
	return c.last, response
}

func (c *nodeCalls) end(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, number)
}

// onRequest executes the call of another node. It must not block the messages behind it, and calls are
// rare: each has a goroutine.
func (c *nodeCalls) onRequest(q *msg.NodeCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	serve := c.serve
	if serve == nil || c.serving >= maxNodeCalls {
		return
	}
	c.serving++
	request := bytes.Clone(q.Body)
	env := msg.ToGateway(q.Requester)
	reply := &msg.NodeCall{Number: q.Number}
	env.Body = &msg.Announcement{Call: reply}
	c.servers.Go(func() {
		reply.Body = serve(request)
		c.send([]*msg.Envelope{env})
		c.mu.Lock()
		c.serving--
		c.mu.Unlock()
	})
}

// onResponse delivers the response to a call, if the caller still waits.
func (c *nodeCalls) onResponse(r *msg.NodeCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.open[r.Number]; ch != nil {
		delete(c.open, r.Number)
		ch <- bytes.Clone(r.Body)
	}
}

// close waits for the calls that are being executed, and starts no more.
func (c *nodeCalls) close() {
	c.mu.Lock()
	c.serve = nil
	c.mu.Unlock()
	c.servers.Wait()
}
