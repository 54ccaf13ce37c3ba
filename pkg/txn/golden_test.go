package txn_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata against one gateway, on node 1, and three shards whose logs
// are in memory. Keys that begin with w are on s0, with x on s1, and with h on s2, the hot shard.
// Shard sN is on node N+1. The requests of clients are
//
//	A execute: get w; put x 1      a one-shot transaction
//	A begin [readonly]             an interactive transaction, and then
//	A do: ...                      a request of it
//	A commit, A rollback [validate]
//	A outcome                      an outcome query
//	A scan [a,), A next 2, A close
//	A move w s0 s2                 the move of key w from s0 to s2
//	A hot, A pin w, A ban w..., A free w, A mode off
//	                               status and placement rules of hot keys
//
// "within=5ms" sets the deadline of a request; the default is a minute. Messages are delivered by
//
//	deliver                        deliver all messages in flight: one message delay
//	run                            deliver, until no message is in flight
//	drop [s1]                      drop all messages in flight [that are for s1]
//
// and the environment changes by
//
//	at 5ms                         set the time
//	wound A by B, push A           send such a message to the gateway
//	down n2, up n2                 report a node down, or up
//	drain s1 1, back s1 2          s1 drains in incarnation 1; it has restarted as incarnation 2
//	restart s1                     restart a shard, which loses what is not in its log
//	busy s1 0.9                    set the load of a shard
//	moved 3 w x                    send the list of keys on the hot shard, of epoch 3
//	quiet                          require that no call, slot or snapshot of a reader is left over
//
// Messages of the gateway and of the shards are printed when they are sent.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

// router places keys by their first byte.
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
	g        *txn.Gateway
	shards   []*shardScript
	now      int64
	inFlight []*msg.Envelope
	delays   int
	// heats numbers the heat maps.
	heats uint64
	out   []string
}

func (s *script) start(options map[string]string) error {
	c := config{gateway: txn.Config{Node: 1, Router: router{}, Reads: txn.LockingReads, OpenBudget: -1, RoundGap: -1}}
	if err := golden.Set(options, c.define); err != nil {
		return err
	}
	*s = script{g: txn.NewGateway(c.gateway)}
	for id := range kv.ShardID(3) {
		lease := kv.DefaultLease
		if c.gateway.Reads == txn.LockingReads {
			lease = -1
		}
		sh, err := newShard(shard.Config{ID: id, Lease: lease, Snapshots: c.snapshots, Heat: c.heat})
		if err != nil {
			return err
		}
		s.shards = append(s.shards, sh)
		s.g.Shards().Learn(id, 1)
	}
	return nil
}

// config is set by the options of a script.
type config struct {
	gateway   txn.Config
	snapshots shard.SnapshotConfig
	heat      shard.HeatConfig
}

func (c *config) define(fs *flag.FlagSet) {
	g := &c.gateway
	fs.Func("order", "", func(v string) (err error) { g.Order, err = txn.ParseOrder(v); return err })
	fs.Func("reads", "", func(v string) (err error) { g.Reads, err = txn.ParseReads(v); return err })
	fs.Func("plan", "", func(v string) (err error) { g.Plan, err = txn.ParsePlan(v); return err })
	fs.BoolVar(&g.NoEarlyLocks, "no-early-locks", g.NoEarlyLocks, "")
	fs.IntVar(&g.MaxInFlight, "max-in-flight", g.MaxInFlight, "")
	fs.IntVar(&g.Admission.PerKey, "per-key", g.Admission.PerKey, "")
	fs.IntVar(&g.Admission.Always, "always", g.Admission.Always, "")
	fs.IntVar(&g.Admission.Open, "open", g.Admission.Open, "")
	fs.DurationVar(&g.MaxAge, "max-age", g.MaxAge, "")
	fs.DurationVar(&g.RoundGap, "gap", g.RoundGap, "")
	fs.DurationVar(&g.OpenBudget, "open-budget", g.OpenBudget, "")
	fs.Func("history", "", func(v string) (err error) {
		c.snapshots = shard.SnapshotConfig{Every: time.Second, Hot: 2, Node: 1}
		c.snapshots.History, err = time.ParseDuration(v)
		return err
	})
	fs.Func("heat", "", func(v string) (err error) {
		c.heat = shard.HeatConfig{Hot: 2, Nodes: 1, Node: 1}
		c.heat.Every, err = time.ParseDuration(v)
		return err
	})
}

func (s *script) printf(format string, args ...any) {
	s.out = append(s.out, fmt.Sprintf(format, args...))
}

// flush sends the messages of the gateway and prints its responses.
func (s *script) flush() {
	out := s.g.Flush()
	for _, env := range out.Send {
		s.printf("  %s", golden.Message(env))
		s.inFlight = append(s.inFlight, env)
	}
	for i := range out.Done {
		s.printf("  %s", doneText(&out.Done[i]))
	}
}

// deliver delivers all messages in flight, first to the shards.
func (s *script) deliver() error {
	messages := s.inFlight
	s.inFlight = nil
	for i, sh := range s.shards {
		var received []*msg.Envelope
		for _, env := range messages {
			if env.Gateway == 0 && int(env.Shard) == i {
				received = append(received, env)
			}
		}
		if len(received) > 0 {
			if err := s.stepShard(sh, received); err != nil {
				return err
			}
		}
	}
	for _, env := range messages {
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
		s.printf("  s%d %s", sh.Config.ID, golden.Message(env))
		s.inFlight = append(s.inFlight, env)
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
		for s.delays = 0; len(s.inFlight) > 0 && err == nil; s.delays++ {
			if s.delays > 20 {
				return "", fmt.Errorf("messages are still in flight after 20 delays")
			}
			s.printf("  -- delay %d", s.delays+1)
			err = s.deliver()
		}
	default:
		err = s.doCluster(words)
		if err == errNotCluster {
			var ops []msg.Op
			if hasOps {
				ops, err = golden.Ops(tail)
				if err != nil {
					return "", err
				}
			}
			err = s.doClient(words, ops)
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
		if n := sh.M.Status(0); n.Holders+n.Waiting+n.Prepared+n.Records > 0 {
			held += fmt.Sprintf("; s%d: %d hold, %d wait, %d prepared, %d records",
				sh.Config.ID, n.Holders, n.Waiting, n.Prepared, n.Records)
		}
	}
	return fmt.Sprintf("  (%d calls, %d messages in flight, next tick %s%s)",
		s.g.InFlight(), len(s.inFlight), next, held), nil
}
