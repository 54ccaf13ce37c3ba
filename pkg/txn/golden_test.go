package txn_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
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
	// heats counts the maps that were sent by hand.
	heats uint64
	out   []string
}

func (s *script) start(options map[string]string) error {
	c := config{gateway: txn.Config{Node: 1, Router: router{}, Reads: txn.LockingReads, OpenBudget: -1, RoundGap: -1}}
	for k, v := range options {
		if err := c.set(k, v); err != nil {
			return err
		}
	}
	*s = script{g: txn.NewGateway(c.gateway)}
	for id := range kv.ShardID(3) {
		lease := kv.DefaultLease
		if c.gateway.Reads == txn.LockingReads {
			lease = -1
		}
		sh, err := newShard(id, lease, c.pins, c.heat)
		if err != nil {
			return err
		}
		s.shards = append(s.shards, sh)
		s.g.Shards().Learn(id, 1)
	}
	return nil
}

// config is what the options of a script say.
type config struct {
	gateway txn.Config
	pins    shard.PinConfig
	heat    shard.HeatConfig
}

func (c *config) set(k, v string) (err error) {
	switch k {
	case "order":
		c.gateway.Order, err = txn.ParseOrder(v)
	case "reads":
		c.gateway.Reads, err = txn.ParseReads(v)
	case "plan":
		c.gateway.Plan, err = txn.ParsePlan(v)
	case "no-early-locks":
		c.gateway.NoEarlyLocks = true
	case "max-in-flight":
		c.gateway.MaxInFlight, err = strconv.Atoi(v)
	case "per-key":
		c.gateway.Admission.PerKey, err = strconv.Atoi(v)
	case "always":
		c.gateway.Admission.Always, err = strconv.Atoi(v)
	case "open":
		c.gateway.Admission.Open, err = strconv.Atoi(v)
	case "max-age":
		c.gateway.MaxAge, err = time.ParseDuration(v)
	case "gap":
		c.gateway.RoundGap, err = time.ParseDuration(v)
	case "open-budget":
		c.gateway.OpenBudget, err = time.ParseDuration(v)
	case "history":
		c.pins = shard.PinConfig{Every: time.Second, Hot: 2, Node: 1}
		c.pins.History, err = time.ParseDuration(v)
	case "heat":
		c.heat = shard.HeatConfig{Hot: 2, Nodes: 1, Node: 1}
		c.heat.Every, err = time.ParseDuration(v)
	default:
		return fmt.Errorf("no option %q", k)
	}
	return err
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
				ops, err = golden.Ops(tail)
				if err != nil {
					return "", err
				}
			}
			err = s.client(words, ops)
		}
	}
	s.flush()
	return strings.Join(s.out, "\n"), err
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
