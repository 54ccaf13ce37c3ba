package txn_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata: one gateway, on node 1, and three
// shards over engines in memory. Keys that begin with w are on s0, those with
// x on s1, and those with h on s2, which is the hot shard; shard sN is on node
// N+1. Clients say:
//
//	A execute: get w; put x 1      a one-shot transaction
//	A begin [readonly]             an interactive one, and then
//	A do: ...                      a call
//	A commit, A rollback [validate]
//	A outcome                      what became of A?
//	A scan [a,), A next 2, A close
//	A move w s0 s2                 w goes from s0 to s2
//	A hot, A pin w, A ban w..., A free w, A mode off
//	                               what is known of hot keys, and the rules
//
// "within=5ms" gives a call a deadline; else it has a minute. Nothing reaches
// anybody before
//
//	deliver                        what is in flight arrives: one message delay
//	run                            deliver, until nothing is in flight
//	drop [s1]                      what is in flight is lost [if it is for s1]
//
// and besides there are
//
//	at 5ms                         time goes on
//	mark A by B, push A            straight to the gateway
//	down n2, up n2, leaving s1 1 (incarnation 1 is), back s1 2
//	restart s1                     the shard's memory is lost
//	busy s1 0.9                    in which share of the time it works
//	quiet                          nothing is under way, no place taken, and no state kept for a reader
//	moved 3 w x                    the hot shard tells, for the third time, which keys it has
//
// What the gateway and the shards send is printed when they do.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

// router places keys by their first letter.
type router struct{}

func (router) Shard(key []byte) kv.ShardID {
	if len(key) > 0 {
		switch key[0] {
		case 'x':
			return 1
		case 'h':
			return 2
		}
	}
	return 0
}

func (router) Shards() int                 { return 3 }
func (router) HotShard() kv.ShardID        { return 2 }
func (router) Hotter(a, b kv.ShardID) bool { return a > b }
func (router) Node(s kv.ShardID) kv.NodeID { return kv.NodeID(s + 1) }

type script struct {
	g      *txn.Gateway
	shards []*shardScript
	now    int64
	flying []*msg.Envelope
	delays int
	out    []string
}

func (s *script) start(options map[string]string) error {
	cfg := txn.Config{Node: 1, Router: router{}, Reads: txn.LockingReads, OpenBudget: -1}
	var pins shard.PinConfig
	var heat shard.HeatConfig
	for k, v := range options {
		switch k {
		case "order":
			order, err := txn.ParseOrder(v)
			if err != nil {
				return err
			}
			cfg.Order = order
		case "reads":
			reads, err := txn.ParseReads(v)
			if err != nil {
				return err
			}
			cfg.Reads = reads
		case "plan":
			plan, err := txn.ParsePlan(v)
			if err != nil {
				return err
			}
			cfg.Plan = plan
		case "max-in-flight":
			n, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			cfg.MaxInFlight = n
		case "per-key", "always", "open":
			n, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			*map[string]*int{"per-key": &cfg.Admission.PerKey, "always": &cfg.Admission.Always, "open": &cfg.Admission.Open}[k] = n
		case "open-budget", "history", "heat":
			d, err := time.ParseDuration(v)
			if err != nil {
				return err
			}
			switch k {
			case "history":
				pins = shard.PinConfig{Every: time.Second, History: d, Hot: 2, Node: 1}
			case "heat":
				heat = shard.HeatConfig{Every: d, Hot: 2, Nodes: 1, Node: 1}
			default:
				cfg.OpenBudget = d
			}
		default:
			return fmt.Errorf("no option %q", k)
		}
	}
	*s = script{g: txn.NewGateway(cfg)}
	for id := range kv.ShardID(3) {
		lease := kv.DefaultLease
		if cfg.Reads == txn.LockingReads {
			lease = -1
		}
		sh, err := newShard(id, lease, pins, heat)
		if err != nil {
			return err
		}
		s.shards = append(s.shards, sh)
		s.g.Learn(id, 1)
	}
	return nil
}

func (s *script) say(format string, args ...any) {
	s.out = append(s.out, fmt.Sprintf(format, args...))
}

// flush takes what the gateway wants done.
func (s *script) flush() {
	out := s.g.Flush()
	for _, env := range out.Send {
		s.say("  %s", golden.Message(env))
		s.flying = append(s.flying, env)
	}
	for i := range out.Done {
		s.say("  %s", done(&out.Done[i]))
	}
}

// deliver has everything that is in flight arrive.
func (s *script) deliver() error {
	flying := s.flying
	s.flying = nil
	for i, sh := range s.shards {
		var mine []*msg.Envelope
		for _, env := range flying {
			if env.Gateway == 0 && int(env.Shard) == i {
				mine = append(mine, env)
			}
		}
		if len(mine) > 0 {
			if err := s.stepShard(sh, mine); err != nil {
				return err
			}
		}
	}
	for _, env := range flying {
		if env.Gateway != 0 {
			s.g.Deliver(s.now, env)
			s.flush()
		}
	}
	return nil
}

func (s *script) stepShard(sh *shardScript, in []*msg.Envelope) error {
	out, err := sh.step(s.now, in)
	for _, env := range out {
		s.say("  s%d %s", sh.id, golden.Message(env))
		s.flying = append(s.flying, env)
	}
	return err
}

func (s *script) do(line string) (string, error) {
	s.out = []string{line}
	head, tail, hasOps := strings.Cut(line, ":")
	words := strings.Fields(head)
	var err error
	switch words[0] {
	case "deliver":
		err = s.deliver()
	case "run":
		for s.delays = 0; len(s.flying) > 0 && err == nil; s.delays++ {
			if s.delays > 20 {
				return "", fmt.Errorf("no end")
			}
			s.say("  -- delay %d", s.delays+1)
			err = s.deliver()
		}
	default:
		err = s.world(words)
		if err == errNoWorld {
			var ops []msg.Op
			if hasOps {
				if ops, err = golden.Ops(tail); err != nil {
					return "", err
				}
			}
			err = s.client(words, ops)
		}
	}
	s.flush()
	return strings.Join(s.out, "\n"), err
}

var errNoWorld = fmt.Errorf("not a verb of the world")

// world are the verbs that no client says.
func (s *script) world(words []string) error {
	switch words[0] {
	case "drop":
		var kept []*msg.Envelope
		for _, env := range s.flying {
			if len(words) > 1 && (env.Gateway != 0 || env.Shard.String() != words[1]) {
				kept = append(kept, env)
				continue
			}
			s.say("  lost: %s", golden.Message(env))
		}
		s.flying = kept
	case "at":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		s.now = int64(d)
		s.g.Tick(s.now)
		s.flush()
		for _, sh := range s.shards {
			if err := s.stepShard(sh, nil); err != nil {
				return err
			}
		}
	case "mark", "push":
		ref, err := golden.Txn(words[1])
		if err != nil {
			return err
		}
		env := msg.ToGateway(1)
		if words[0] == "mark" {
			by, err := golden.Txn(words[3])
			if err != nil {
				return err
			}
			env.Mark = &msg.Mark{Txn: ref, By: by}
		} else {
			env.Push = &msg.Push{Txn: ref, Shard: 1}
		}
		s.g.Deliver(s.now, env)
	case "leaving", "back":
		var id, inc int
		if _, err := fmt.Sscanf(strings.Join(words[1:], " "), "s%d %d", &id, &inc); err != nil {
			return err
		}
		if words[0] == "leaving" {
			s.g.SetLeaving(kv.ShardID(id), kv.Incarnation(inc))
		} else {
			s.g.Learn(kv.ShardID(id), kv.Incarnation(inc))
		}
	case "down", "up":
		n, err := strconv.Atoi(words[1][1:])
		s.g.SetDown(kv.NodeID(n), words[0] == "down")
		return err
	case "heat":
		m, err := heatMap(words[1:])
		env := msg.ToGateway(1)
		env.HeatMap = m
		s.g.Deliver(s.now, env)
		return err
	case "moved":
		env := msg.ToGateway(1)
		epoch, err := strconv.ParseUint(words[1], 10, 64)
		env.HeatMap = &msg.HeatMap{Epoch: epoch}
		for _, w := range words[2:] {
			env.HeatMap.Moved = append(env.HeatMap.Moved, []byte(w))
		}
		s.g.Deliver(s.now, env)
		return err
	case "busy":
		id, err := golden.Shard(words[1])
		if err != nil {
			return err
		}
		share, err := strconv.ParseFloat(words[2], 64)
		s.shards[id].busy = share
		return err
	case "quiet":
		for _, sh := range s.shards {
			if n := sh.m.Snapshot(0).Keeps; n > 0 {
				return fmt.Errorf("s%d keeps %d states for readers", sh.id, n)
			}
		}
		return s.g.Quiet()
	case "restart":
		id, err := golden.Shard(words[1])
		if err != nil {
			return err
		}
		return s.shards[id].restart(s.now)
	default:
		return errNoWorld
	}
	return nil
}

// heatMap reads a map of heat, such as w=3 x=0.5.
func heatMap(words []string) (*msg.HeatMap, error) {
	m := &msg.HeatMap{}
	for _, w := range words {
		key, heat, _ := strings.Cut(w, "=")
		h, err := strconv.ParseFloat(heat, 64)
		if err != nil {
			return nil, err
		}
		m.Keys = append(m.Keys, msg.KeyHeat{Key: []byte(key), Shard: router{}.Shard([]byte(key)), Heat: h})
	}
	return m, nil
}

// client are the verbs of clients.
func (s *script) client(words []string, ops []msg.Op) error {
	ref, err := golden.Txn(words[0])
	if err != nil {
		return err
	}
	deadline := s.now + int64(time.Minute)
	var flag string
	how, ttl, rest, err := howOf(words[2:])
	if err != nil {
		return err
	}
	for _, w := range rest {
		if d, ok := strings.CutPrefix(w, "within="); ok {
			within, err := time.ParseDuration(d)
			if err != nil {
				return err
			}
			deadline = s.now + int64(within)
		} else {
			flag = w
		}
	}
	token := words[0] + " " + words[1]
	switch words[1] {
	case "execute":
		s.g.ExecuteAs(s.now, token, ref.TxnID, ops, deadline, how)
	case "begin":
		if f := s.g.BeginAs(s.now, ref, flag == "readonly", how); f != nil {
			s.say("  refused: %s", golden.Failure(f))
		}
	case "do":
		if deadline == s.now+int64(time.Minute) {
			deadline = 0
		}
		s.g.DoBy(s.now, token, ref, ops, deadline)
	case "commit":
		s.g.Commit(s.now, token, ref, deadline)
	case "rollback":
		s.g.Rollback(s.now, token, ref, flag == "validate")
	case "savepoint":
		s.g.Savepoint(s.now, token, ref, flag)
	case "rollback-to":
		s.g.RollbackTo(s.now, token, ref, flag)
	case "release":
		s.g.Release(s.now, token, ref, flag)
	case "outcome":
		s.g.Outcome(s.now, token, ref.TxnID, deadline)
	case "scan":
		span, err := golden.Span(flag)
		if err != nil {
			return err
		}
		s.g.ScanAs(s.now, token, ref.TxnID, span, deadline, how)
	case "next":
		n, err := strconv.Atoi(flag)
		s.g.Next(s.now, token, ref, n)
		return err
	case "close":
		s.g.Close(s.now, ref)
	case "move":
		from, err := golden.Shard(words[3])
		to, bad := golden.Shard(words[4])
		if err != nil || bad != nil {
			return fmt.Errorf("a move is from a shard to a shard")
		}
		s.g.Move(s.now, token, ref.TxnID, []byte(words[2]), from, to, deadline)
	case "snapshot":
		s.g.KeepSnapshot(s.now, token, ref.TxnID, flag, int64(ttl), deadline)
	case "snapshots":
		s.g.Snapshots(s.now, token, ref.TxnID, deadline)
	case "drop":
		s.g.DropSnapshot(s.now, token, ref.TxnID, txn.At{Name: flag}, deadline)
	case "hot":
		s.g.Hot(s.now, token, ref.TxnID, deadline)
	case "pin", "ban", "free":
		order := map[string]hotshard.Order{"pin": hotshard.Pin, "ban": hotshard.Ban, "free": hotshard.Free}[words[1]]
		key, prefix := strings.CutSuffix(flag, "...")
		s.g.SetHot(s.now, token, ref.TxnID, &msg.HotRule{Key: []byte(key), Prefix: prefix, Order: uint32(order)}, 0, deadline)
	case "mode":
		mode, err := hotshard.ParseMode(flag)
		if err != nil {
			return err
		}
		s.g.SetHot(s.now, token, ref.TxnID, nil, uint32(mode)+1, deadline)
	default:
		return fmt.Errorf("no verb %q", words[1])
	}
	return nil
}

// howOf takes the words that say how to read, and returns the others.
func howOf(words []string) (how txn.How, ttl time.Duration, rest []string, err error) {
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		var d time.Duration
		switch k {
		case "at":
			how.At.Name = v
		case "pin":
			how.At.Number, err = strconv.ParseUint(v, 10, 64)
		case "asof":
			d, err = time.ParseDuration(v)
			how.At.AsOf = int64(d)
		case "ttl":
			ttl, err = time.ParseDuration(v)
		case "plan":
			how.Plan, err = txn.ParsePlan(v)
		case "after":
			how.After = &vclock.Clock{}
			for _, e := range strings.Split(v, ",") {
				var s, i uint64
				if _, err = fmt.Sscanf(e, "s%d/%d", &s, &i); err == nil {
					how.After.Raise(kv.ShardID(s), kv.Index(i))
				}
			}
		default:
			rest = append(rest, w)
		}
		if err != nil {
			return how, ttl, rest, err
		}
	}
	return how, ttl, rest, nil
}

// done prints the end of a call.
func done(d *txn.Done) string {
	out := fmt.Sprintf("DONE %s (as %s):", d.Token, golden.Name(d.Txn))
	switch {
	case d.Failure != nil:
		out += " " + golden.Failure(d.Failure)
	case d.Committed:
		out += " ok"
	default:
		out += " done"
	}
	if len(d.Results) > 0 {
		out += " [" + golden.Results(d.Results) + "]"
	}
	if len(d.Pairs) > 0 {
		out += " [" + strings.TrimPrefix(golden.Result(&msg.Result{Pairs: d.Pairs}), "0: ") + "]"
	}
	for flag, is := range map[string]bool{", more": d.More, ", results lost": d.ResultsLost} {
		if is {
			out += flag
		}
	}
	for i := range d.Pins {
		out += ", " + golden.Pin(&d.Pins[i])
	}
	if d.Hot != nil {
		out += ", " + golden.Hot(d.Hot)
	}
	if c := d.Clock(); len(c.Entries()) > 0 {
		out += ", token " + c.String()
	}
	if d.Plan != txn.PlanAny {
		out += ", by plan " + d.Plan.String()
	}
	for _, r := range d.Aborts {
		out += ", after " + strings.TrimPrefix(r.String(), "Reason")
	}
	if d.Receipt.WaitedNanos > 0 {
		out += ", " + golden.Waited(&d.Receipt)
	}
	if e := d.Ended; e.Count > 0 {
		out += fmt.Sprintf(", %d ended by others: %s%s", e.Count, e.Reason.Word(), golden.Conflict(e.By))
	}
	if d.Closed {
		out += "; closed"
	}
	return out
}

func (s *script) after() (string, error) {
	next := "never"
	if out := s.g.Flush(); out.Next != math.MaxInt64 {
		next = golden.Time(out.Next)
	}
	held := ""
	for _, sh := range s.shards {
		if n := sh.m.Snapshot(0); n.Holders+n.Waiting+n.Prepared+n.Records > 0 {
			held += fmt.Sprintf("; s%d: %d hold, %d wait, %d prepared, %d records", sh.id, n.Holders, n.Waiting, n.Prepared, n.Records)
		}
	}
	return fmt.Sprintf("  (%d under way, %d messages in flight, next tick %s%s)", s.g.InFlight(), len(s.flying), next, held), nil
}
