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

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/golden"
	"github.com/linchpindb/linchpin/test/world"
)

// Cluster is a set of nodes n1, n2, ... with a gateway and a shard each.
type Cluster struct {
	*EventLog
	world.Ignore
	w *world.World
	// stopped are the messages that are held, oldest first.
	stopped []message
	holds   []route
	calls   []*call
}

// route describes messages of a kind from one place to another; "" stands for any.
type route struct{ from, to, kind string }

type message struct {
	route
	source world.Source
	env    *msg.Envelope
}

func (r route) matches(m message) bool {
	return (r.from == "" || r.from == m.from) && (r.to == "" || r.to == m.to) && (r.kind == "" || r.kind == m.kind)
}

func (r route) String() string {
	return cmp.Or(r.kind, "anything") + " from " + cmp.Or(r.from, "anywhere") + " to " + cmp.Or(r.to, "anywhere")
}

// New returns a cluster of n nodes whose machines break the given rules.
func New(t testing.TB, n int, broken mutant.Set) *Cluster {
	c := &Cluster{EventLog: newEventLog(t)}
	c.w = world.New(world.Config{Nodes: n, Learned: true, NoSync: true, OneByOne: true, Mutants: broken,
		Unchecked: broken != mutant.Set{}}, placement(n), nil, c)
	c.w.Start()
	c.run()
	return c
}

// GatewayConfig implements world.User.
func (c *Cluster) GatewayConfig(*world.Node) txn.Config { return txn.Config{} }

// ShardConfig implements world.User.
func (c *Cluster) ShardConfig(s *world.Shard) shard.Config {
	return shard.Config{ID: s.ID, Mutants: c.w.Mutants, Home: c.w.Router.Shard, Trace: shard.Trace{
		Committed: func(ref kv.TxnRef) { c.onCommitted(s.ID, ref) },
		Visible: func(ref kv.TxnRef, e *entry.Effect, v entry.Value, at kv.CSN) {
			c.onVisible(s.ID, ref, e, v, at)
		}}}
}

// onCommitted is called at the instant F of an update; see shard.Trace.
func (c *Cluster) onCommitted(s kv.ShardID, ref kv.TxnRef) {
	if x := c.callOf(ref.TxnID); x.writes {
		c.logf("  %v decides %s", s, x.Name)
	}
}

func (c *Cluster) onVisible(s kv.ShardID, ref kv.TxnRef, e *entry.Effect, v entry.Value, at kv.CSN) {
	x := c.callOf(ref.TxnID)
	if e.Kind == entry.EffectMoveOut || e.Kind == entry.EffectMoveIn {
		c.logf("  %v makes visible that %s moves", s, e.Key)
		return
	}
	c.logf("  %v makes visible %s=%s", s, e.Key, x.Name)
	x.addVersion(string(e.Key), v.Version, int64(v.Version.Moves)<<40|int64(at))
}

// OnSend implements world.User: it holds messages.
func (c *Cluster) OnSend(from world.Source, env *msg.Envelope) (time.Duration, bool) {
	m := message{route{from.ID.String(), env.Shard.String(), env.Name()}, from, env}
	if from.IsShard {
		m.from = from.Shards[0].ID.String()
	}
	if env.Gateway != 0 {
		m.to = env.Gateway.String()
	}
	c.recordReader(env)
	if slices.ContainsFunc(c.holds, func(r route) bool { return r.matches(m) }) {
		c.logf("  %s > %s  is held: %s", m.from, m.to, c.brief(env))
		c.stopped = append(c.stopped, m)
		return 0, false
	}
	c.logf("  %s > %s  %s", m.from, m.to, c.brief(env))
	return 0, true
}

// OnDone implements world.User.
func (c *Cluster) OnDone(_ *world.Node, d txn.Done) { d.Handle.(func(txn.Done))(d) }

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
	c.resume(slices.Delete(c.holds, i, i+1))
	return at
}

// resume delivers the messages that only these holds do not stop.
func (c *Cluster) resume(holds []route) {
	c.holds = holds
	stopped := c.stopped
	c.stopped = nil
	for _, m := range stopped {
		if slices.ContainsFunc(holds, func(r route) bool { return r.matches(m) }) {
			c.stopped = append(c.stopped, m)
		} else {
			c.w.Send(m.source, m.env)
		}
	}
	c.run()
}

// run runs everything that does not need time.
func (c *Cluster) run() { c.runUntil(c.w.Now()) }

func (c *Cluster) runUntil(at int64) {
	c.w.Run(at, nil)
	c.w.AdvanceTo(at)
	if c.w.Err != nil {
		c.t.Fatal(c.w.Err)
	}
}

// Pass advances the time: timers fire and requests are retried.
func (c *Cluster) Pass(d time.Duration) {
	c.runUntil(c.w.Now() + int64(d))
	c.logf("%v pass", d)
}

// Finish ends all Holds and all open transactions, and waits for all responses; then no shard may have any transaction
// left.
func (c *Cluster) Finish() {
	c.t.Helper()
	c.resume(nil)
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
	if err := c.w.Idle(); err != nil {
		c.t.Fatal(err)
	}
}

// Held returns how many updates readers hold on a shard: prepared ones, and pieces that could be decided there.
func (c *Cluster) Held(s kv.ShardID) int { return c.w.Shards[s].M.Status(0).Held }

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
