package sim

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// send passes a message on: late, twice, or never.
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
		w.carry(to, from, env)
	}
}

// carry delivers one copy. Messages are shared between sender and receiver
// and must not change; now and then that is checked. Between nodes, half of
// them travel as bytes.
func (w *world) carry(to, from *node, env *msg.Envelope) {
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

// wire takes a message to bytes and back.
func (w *world) wire(env *msg.Envelope) *msg.Envelope {
	b, err := env.Marshal()
	out := &msg.Envelope{}
	if err == nil {
		err = out.Unmarshal(b)
	}
	if err != nil {
		w.fail("%s does not survive its encoding: %v", brief(env), err)
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

// traceEnv is trace for a message, which is printed only if somebody reads it.
func (w *world) traceEnv(who fmt.Stringer, what string, env *msg.Envelope) {
	if w.opt.Trace != nil {
		w.trace("%v %s %s", who, what, brief(env))
	}
}

// name is a transaction's short name in traces.
func name(r kv.TxnRef) string { return fmt.Sprintf("t%d/%d", r.Rand, r.Attempt) }

var ids = regexp.MustCompile(`[0-9a-f]{16}([0-9a-f]{16})/([0-9]+)`)

// brief is a message in a trace.
func brief(env *msg.Envelope) string {
	s := env.String()
	if len(s) > 400 {
		s = s[:400] + "..."
	}
	return s
}

// shortNames puts transactions' short names into a text.
func shortNames(s string) string {
	return ids.ReplaceAllStringFunc(s, func(s string) string {
		var n, a uint64
		fmt.Sscanf(s[16:32], "%x", &n)
		fmt.Sscanf(s[33:], "%d", &a)
		return fmt.Sprintf("t%d/%d", n, a)
	})
}
