package gateway

import (
	"bytes"
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxNodeCalls bounds the calls to other nodes in flight.
const maxNodeCalls = 256

// AskNode executes a call on another node (Options.ServeCall). It is sent once; if there is no response, the
// caller may retry.
func (g *Gateway) AskNode(ctx context.Context, node kv.NodeID, request []byte) ([]byte, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	if node == g.opt.Machine.Node {
		return g.opt.ServeCall(request), nil
	}
	response := make(chan []byte, 1)
	g.callsMu.Lock()
	if len(g.calls) >= maxNodeCalls {
		g.callsMu.Unlock()
		return nil, &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: "too many requests to other nodes are in flight",
			Hint: "retry after a short delay"}
	}
	g.lastCall++
	number := g.lastCall
	g.calls[number] = response
	g.callsMu.Unlock()
	defer func() {
		g.callsMu.Lock()
		delete(g.calls, number)
		g.callsMu.Unlock()
	}()
	env := msg.ToGateway(node)
	env.Body = &msg.Announcement{Call: &msg.NodeCall{Number: number, Asker: g.opt.Machine.Node, Body: request}}
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

// onCallRequest executes the call of another node. It must not block the messages behind it, and calls are
// rare: each has a goroutine.
func (g *Gateway) onCallRequest(q *msg.NodeCall) {
	g.callsMu.Lock()
	defer g.callsMu.Unlock()
	if g.opt.ServeCall == nil || g.closed.Load() || g.serving >= maxNodeCalls {
		return
	}
	g.serving++
	request := bytes.Clone(q.Body)
	env := msg.ToGateway(q.Asker)
	reply := &msg.NodeCall{Number: q.Number}
	env.Body = &msg.Announcement{Call: reply}
	g.servers.Go(func() {
		reply.Body = g.opt.ServeCall(request)
		g.opt.Send([]*msg.Envelope{env})
		g.callsMu.Lock()
		g.serving--
		g.callsMu.Unlock()
	})
}

// stopServing waits for the calls that are being executed, and starts no more.
func (g *Gateway) stopServing() {
	g.callsMu.Lock()
	g.serving = maxNodeCalls // no more calls are accepted
	g.callsMu.Unlock()
	g.servers.Wait()
}

// onCallResponse delivers the response to a call, if the caller still waits.
func (g *Gateway) onCallResponse(r *msg.NodeCall) {
	g.callsMu.Lock()
	defer g.callsMu.Unlock()
	if ch := g.calls[r.Number]; ch != nil {
		delete(g.calls, r.Number)
		ch <- bytes.Clone(r.Body)
	}
}
