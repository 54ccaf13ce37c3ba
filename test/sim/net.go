package sim

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// send sends a message: it may be delayed, duplicated or lost.
func (w *world) send(from *node, env *msg.Envelope) {
	if mk := msg.As[msg.MoveKey](env); mk != nil && !w.movers[mk.Txn.TxnID] {
		w.movers[mk.Txn.TxnID] = true
		w.sum.Planned++
	}
	id := env.Gateway
	if id == 0 {
		id = w.router.Node(env.Shard)
	}
	to := w.nodes[id-1]
	cut := to != from && (to.cut > w.now || from.cut > w.now)
	if !w.calm && (cut || w.chance(w.opt.Loss)) {
		w.traceEnv(from.id, "LOSES", env)
		return
	}
	copies := 1
	if w.chance(w.opt.Dup) {
		copies = 2
	}
	for range copies {
		w.deliver(to, from, env)
	}
}

// deliver delivers one copy. Sender and receiver share a message, so it must not change; a sample is checked. Between
// nodes, half of the messages are encoded and decoded.
func (w *world) deliver(to, from *node, env *msg.Envelope) {
	var sent []byte
	if to != from && w.rng.IntN(2) == 0 {
		env = w.wire(env)
	} else if w.rng.IntN(8) == 0 {
		sent, _ = env.Marshal()
	}
	if msg.Is[msg.MoveKey](env) && w.isAnchor(msg.As[msg.MoveKey](env).Key) {
		return
	}
	late := w.latency(to == from)
	if msg.Is[msg.DecisionAck](env) && w.opt.AckLate > 0 {
		late += w.upTo(w.opt.AckLate)
	}
	w.after(late, func() {
		if sent != nil {
			if b, _ := env.Marshal(); !bytes.Equal(b, sent) {
				w.fail("%v changed a message after sending it: %s", from.id, brief(env))
			}
		}
		to.whenAwake(func() {
			if env.Gateway != 0 {
				w.traceEnv(to.id, "gateway takes", env)
				to.deliver(env)
				return
			}
			w.shards[w.shardAt(env.Shard)].deliver(env)
		})
	})
}

func (w *world) shardAt(id kv.ShardID) int {
	for i, s := range w.shards {
		if s.id == id {
			return i
		}
	}
	panic(fmt.Sprintf("no shard %v", id))
}

// wire encodes and decodes a message.
func (w *world) wire(env *msg.Envelope) *msg.Envelope {
	b, err := env.Marshal()
	out := &msg.Envelope{}
	if err == nil {
		err = out.Unmarshal(b)
	}
	if err != nil {
		w.fail("%s changes when it is encoded and decoded: %v", brief(env), err)
	}
	return out
}

func (w *world) latency(local bool) time.Duration {
	o := &w.opt
	if w.chance(o.Straggle) {
		return w.upTo(o.StraggleMax)
	}
	if local && !o.Far {
		return w.about(min(o.Jitter, 20*time.Microsecond))
	}
	return o.Delay + w.about(o.Jitter)
}

// traceEnv is trace for a message. It formats the message only if there is a trace.
func (w *world) traceEnv(who fmt.Stringer, what string, env *msg.Envelope) {
	if w.opt.Trace != nil {
		w.trace("%v %s %s", who, what, brief(env))
	}
}

// name returns a transaction's short name in traces.
func name(r kv.TxnRef) string { return fmt.Sprintf("t%d/%d", r.Rand, r.Attempt) }

var ids = regexp.MustCompile(`[0-9a-f]{16}([0-9a-f]{16})/([0-9]+)`)

// brief formats a message for a trace.
func brief(env *msg.Envelope) string {
	s := env.String()
	if len(s) > 400 {
		s = s[:400] + "..."
	}
	return s
}

// shortNames replaces ids in a text by the transactions' short names.
func shortNames(s string) string {
	return ids.ReplaceAllStringFunc(s, func(s string) string {
		var n, a uint64
		fmt.Sscanf(s[16:32], "%x", &n)
		fmt.Sscanf(s[33:], "%d", &a)
		return fmt.Sprintf("t%d/%d", n, a)
	})
}
