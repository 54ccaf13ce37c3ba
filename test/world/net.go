package world

import (
	"bytes"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Links are the properties of the network.
type Links struct {
	// Far: messages within a node take as long as those between nodes.
	Far bool
	// Delay is the minimum delay of a message between nodes, Jitter the mean of the random part. Straggle is the share of
	// messages that take up to StraggleMax instead. Loss and Dup are the shares that are lost and duplicated.
	Delay, Jitter, StraggleMax time.Duration
	Straggle, Loss, Dup        float64
}

// Source is what sends a message: the gateway of a node, or a shard on the node.
type Source struct {
	*Node
	IsShard bool
}

// Send sends a message: it may be delayed, duplicated or lost.
func (w *World) Send(from Source, env *msg.Envelope) {
	late, ok := w.user.OnSend(from, env)
	id := env.Gateway
	if id == 0 {
		id = from.replicaFor(env)
	}
	to := w.Nodes[id-1]
	if !w.Calm && (w.isCut(from.Node, to) || w.Chance(w.Loss)) {
		w.traceEnv(from.ID, "LOSES", env)
		return
	}
	copies := 1
	if w.Chance(w.Dup) {
		copies = 2
	}
	for range copies {
		w.deliver(to, from.Node, env, late, ok)
	}
}

// deliver delivers one copy, unless it is stopped. Sender and receiver share a message, so it must not change; a sample
// is checked. Between nodes, half of the messages are encoded and decoded.
func (w *World) deliver(to, from *Node, env *msg.Envelope, lateBy time.Duration, ok bool) {
	var sent []byte
	if to != from && w.OneIn(2) {
		env = w.wire(env)
	} else if w.OneIn(8) {
		sent, _ = env.Marshal()
	}
	if !ok {
		return
	}
	w.After(w.latency(to == from)+w.UpTo(lateBy), func() {
		if sent != nil {
			if b, _ := env.Marshal(); !bytes.Equal(b, sent) {
				w.Fail("%v changed a message after sending it: %s", from.ID, brief(env))
			}
		}
		to.WhenAwake(func() {
			if env.Gateway != 0 {
				w.traceEnv(to.ID, "gateway takes", env)
				to.deliver(env)
				return
			}
			to.deliverToShard(env, false)
		})
	})
}

// isCut reports whether messages between two nodes are lost.
func (w *World) isCut(from, to *Node) bool {
	return to != from && (to.CutUntil > w.now || from.CutUntil > w.now ||
		w.CutLinks[[2]kv.NodeID{from.ID, to.ID}] > w.now)
}

// leader returns the node that leads a shard, as far as this node knows.
func (n *Node) leader(s kv.ShardID) kv.NodeID {
	if l, _ := n.leaders.Of(s); l != 0 {
		return l
	}
	return n.w.Router.Node(s)
}

// deliverToShard delivers a message to the shard's machine, if the node has it. Otherwise the node forwards the
// message, once (R4.4).
func (n *Node) deliverToShard(env *msg.Envelope, forwarded bool) {
	w := n.w
	if w.Replicas == 0 {
		w.Shards[env.Shard].deliver(env)
		return
	}
	r := n.replica(env.Shard)
	switch {
	case r != nil && r.shard.M != nil:
		r.shard.deliver(env)
	case r != nil && (r.rep == nil || r.isStopped) || forwarded:
	case r != nil && !r.isUnfit && isReadOfPast(env):
		r.serveRead(env, w.now+int64(maxClosedWait))
	default:
		n.forward(env)
	}
}

// forward sends a message to the leader that the node knows.
func (n *Node) forward(env *msg.Envelope) {
	w := n.w
	to := w.Nodes[n.leader(env.Shard)-1]
	if to == n || !w.Calm && (w.isCut(n, to) || w.Chance(w.Loss)) {
		return
	}
	w.Counts.Forwarded++
	w.After(w.latency(false), func() { to.WhenAwake(func() { to.deliverToShard(env, true) }) })
}

// wire encodes and decodes a message.
func (w *World) wire(env *msg.Envelope) *msg.Envelope {
	b, err := env.Marshal()
	out := &msg.Envelope{}
	if err == nil {
		err = out.Unmarshal(b)
	}
	if err != nil {
		w.Fail("%s changes when it is encoded and decoded: %v", brief(env), err)
	}
	return out
}

func (w *World) latency(local bool) time.Duration {
	if w.Chance(w.Straggle) {
		return w.UpTo(w.StraggleMax)
	}
	if local && !w.Far {
		return w.About(min(w.Jitter, 20*time.Microsecond))
	}
	return w.Delay + w.About(w.Jitter)
}

// traceEnv is Trace for a message. It formats the message only if there is a trace.
func (w *World) traceEnv(who fmt.Stringer, what string, env *msg.Envelope) {
	if w.Config.Trace != nil {
		w.Trace("%v %s %s", who, what, brief(env))
	}
}

// brief formats a message for a trace.
func brief(env *msg.Envelope) string {
	s := env.String()
	if len(s) > 400 {
		s = s[:400] + "..."
	}
	return s
}
