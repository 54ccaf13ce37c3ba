package scenario

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/golden"
)

// Cluster is a set of nodes n1, n2, ... with a gateway and a shard each.
type Cluster struct {
	*EventLog
	now      int64 // virtual nanoseconds
	broken   mutant.Set
	gateways []*gateway
	shards   []*shell
	// sent are the messages that have not been delivered, oldest first.
	sent  []message
	holds []route
	// delivering: run is active.
	delivering bool
	calls      []*call
}

// route describes messages of a kind from one place to another; "" stands for any.
type route struct{ from, to, kind string }

type message struct {
	route
	env *msg.Envelope
}

func (r route) matches(m message) bool {
	return (r.from == "" || r.from == m.from) && (r.to == "" || r.to == m.to) && (r.kind == "" || r.kind == m.kind)
}

func (r route) String() string {
	return cmp.Or(r.kind, "anything") + " from " + cmp.Or(r.from, "anywhere") + " to " + cmp.Or(r.to, "anywhere")
}

// New returns a cluster of n nodes whose machines break the given rules.
func New(t testing.TB, n int, broken mutant.Set) *Cluster {
	c := &Cluster{EventLog: newEventLog(t), now: int64(time.Second), broken: broken}
	for i := range n {
		c.gateways = append(c.gateways, newGateway(c, kv.NodeID(i+1), n))
		c.shards = append(c.shards, newShell(c, kv.ShardID(i), n))
	}
	for _, g := range c.gateways {
		for _, s := range c.shards {
			g.machine.Shards().Learn(s.id, s.machine.Incarnation())
		}
	}
	c.run()
	return c
}

// placement places a key by its name: "x@0" is on s0.
type placement int

func (p placement) Shard(key []byte) kv.ShardID {
	_, at, ok := strings.Cut(string(key), "@")
	n, err := strconv.Atoi(at)
	if !ok || err != nil || n >= int(p) {
		panic(fmt.Sprintf("key %q is on none of %d shards", key, int(p)))
	}
	return kv.ShardID(n)
}

func (p placement) Shards() int                 { return int(p) }
func (p placement) HotShard() kv.ShardID        { return kv.ShardID(p - 1) }
func (p placement) Hotter(a, b kv.ShardID) bool { return a > b }
func (p placement) Node(s kv.ShardID) kv.NodeID { return kv.NodeID(s + 1) }

// Hold stops messages of a kind from one place to another. Places are gateways and shards, "n1" and "s0"; "" stands for
// any. The messages stay in the order in which they were sent.
func (c *Cluster) Hold(from, to, kind string) {
	r := route{from, to, kind}
	c.holds = append(c.holds, r)
	c.logf("hold: %v", r)
}

// Release ends a Hold: the messages and everything that follows from them are delivered. It returns the instant.
func (c *Cluster) Release(from, to, kind string) int64 {
	r := route{from, to, kind}
	i := slices.Index(c.holds, r)
	if i < 0 {
		c.t.Helper()
		c.t.Fatalf("there is no hold of %v", r)
	}
	at := c.Now()
	c.logf("release: %v", r)
	c.holds = slices.Delete(c.holds, i, i+1)
	c.run()
	return at
}

// run delivers all messages that are not held.
func (c *Cluster) run() {
	if c.delivering {
		return
	}
	c.delivering = true
	defer func() { c.delivering = false }()
	for {
		i := slices.IndexFunc(c.sent, func(m message) bool {
			return !slices.ContainsFunc(c.holds, func(r route) bool { return r.matches(m) })
		})
		if i < 0 {
			return
		}
		m := c.sent[i]
		c.sent = slices.Delete(c.sent, i, i+1)
		c.logf("  %s > %s  %s", m.from, m.to, c.brief(m.env))
		if m.env.Gateway != 0 {
			c.gateways[m.env.Gateway-1].deliver(m.env)
		} else {
			c.shards[m.env.Shard].step(m.env)
		}
	}
}

func (c *Cluster) send(from string, envs []*msg.Envelope) {
	for _, env := range envs {
		to := env.Shard.String()
		if env.Gateway != 0 {
			to = env.Gateway.String()
		}
		m := message{route{from, to, env.Name()}, env}
		c.recordReader(env)
		if slices.ContainsFunc(c.holds, func(r route) bool { return r.matches(m) }) {
			c.logf("  %s > %s  is held: %s", m.from, m.to, c.brief(env))
		}
		c.sent = append(c.sent, m)
	}
}

// Pass advances the time: timers fire and requests are retried.
func (c *Cluster) Pass(d time.Duration) {
	until := c.now + int64(d)
	for {
		next := until
		for _, g := range c.gateways {
			next = min(next, g.due)
		}
		for _, s := range c.shards {
			next = min(next, s.next)
		}
		c.now = max(c.now, next)
		for _, g := range c.gateways {
			if g.due <= c.now {
				g.tick()
			}
		}
		for _, s := range c.shards {
			if s.next <= c.now {
				s.step()
			}
		}
		c.run()
		if c.now >= until {
			c.logf("%v pass", d)
			return
		}
	}
}

// Finish ends all Holds and all open transactions, and waits for all responses; then no shard may have any transaction
// left.
func (c *Cluster) Finish() {
	c.t.Helper()
	c.holds = nil
	c.run()
	for _, x := range c.calls {
		if x.open {
			x.End()
		}
	}
	c.Pass(kv.DefaultLease + time.Second) // a late Registered is remembered for the time of a lease
	for _, x := range c.txns {
		if x.Ended == Never {
			c.t.Fatalf("%s has not ended", x.Name)
		}
	}
	for _, s := range c.shards {
		if err := s.machine.CheckIdle(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// Held returns how many updates readers hold on a shard: prepared ones, and pieces that could be decided there.
func (c *Cluster) Held(s kv.ShardID) int { return c.shards[s].machine.Status(0).Held }

var ids = regexp.MustCompile(`[0-9a-f]{32}|reader [0-9]+`)

// brief prints a message as golden scripts do, with the names of transactions.
func (c *Cluster) brief(env *msg.Envelope) string {
	_, text, _ := strings.Cut(golden.Message(env), ": ")
	return ids.ReplaceAllStringFunc(text, func(s string) string {
		for _, x := range c.calls {
			if s == x.id.String() || slices.Contains(x.readers, s) {
				return x.Name
			}
		}
		return s
	})
}

// recordReader records the id under which a transaction reads, which has the same affinity. Golden scripts name it by
// its number.
func (c *Cluster) recordReader(env *msg.Envelope) {
	if !msg.Is[msg.Read](env) {
		return
	}
	for _, x := range c.calls {
		if txn.Affinity(x.id) == txn.Affinity(msg.As[msg.Read](env).Reader.TxnID) {
			x.readers = append(x.readers, golden.Reader(msg.As[msg.Read](env).Reader.TxnID))
		}
	}
}
