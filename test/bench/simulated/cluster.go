package simulated

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/sim/events"
)

// cluster is one run.
type cluster struct {
	opt    Options
	router *hotshard.Router
	source *workload.Source
	nodes  []*node
	shards []*shell

	events events.Heap
	now    int64
	seq    uint64
	// free: nothing is charged, and messages take no time, as long as keys
	// are loaded.
	free bool
	// ending: clients begin no more transactions; busy counts the others.
	ending bool
	busy   int
	tally  tally
	beside besideTally
	kinds  kinds
	// app is the application, if that is what clients run.
	app  app.App
	apps []*appClient
}

// base is what all clocks show when a run begins, wallBase the time of day.
const (
	base     = int64(time.Hour)
	wallBase = int64(1_700_000_000_000_000_000)
)

// Run makes a cluster, loads the keys, and runs the workload.
func Run(o Options) (Result, error) {
	c, err := newCluster(o.withDefaults())
	if err != nil {
		return Result{}, err
	}
	defer c.stopApp()
	if err := c.start(); err != nil {
		return Result{}, err
	}
	c.startBeside()
	if _, err := c.part(c.opt.Warm, c.opt.WarmTxns); err != nil {
		return Result{}, err
	}
	c.tally.begin(c)
	took, err := c.part(c.opt.Measure, c.opt.MeasureTxns)
	if err != nil {
		return Result{}, err
	}
	r := c.tally.end(c, took)
	r.Beside = c.beside.end(c, took)
	if c.opt.Drain {
		err = c.drain()
	}
	return r, err
}

// part runs for a time or, if it is transactions that count, until so many have
// ended, and tells how long that was. In a minute one should end, or none will.
func (c *cluster) part(span time.Duration, txns int) (time.Duration, error) {
	begin := c.now
	if c.opt.MeasureTxns == 0 {
		c.run(begin + int64(span))
		return span, nil
	}
	ended, since := c.tally.over, begin
	for until := ended + txns; c.tally.over < until; {
		if len(c.events) == 0 || c.now-since > int64(time.Minute) {
			return 0, fmt.Errorf("no transaction has ended for %v; %d are still to", time.Duration(c.now-since),
				until-c.tally.over)
		}
		c.run(c.events[0].At)
		if c.tally.over > ended {
			ended, since = c.tally.over, c.now
		}
	}
	return time.Duration(c.now - begin), nil
}

// start loads the data and starts the clients.
func (c *cluster) start() error {
	if c.opt.App != nil {
		return c.startApp()
	}
	if err := c.load(); err != nil {
		return err
	}
	for _, n := range c.nodes {
		for range c.opt.Clients {
			c.startClient(n)
		}
	}
	return nil
}

func newCluster(o Options) (*cluster, error) {
	c := &cluster{opt: o, now: base, kinds: kinds{map[reflect.Type]string{}, o.App != nil}}
	var err error
	c.router, err = hotshard.NewRouter(o.Shards, o.Nodes, append(hotKeys(o.Workload.WithDefaults().Prefix, o.HotKeys),
		o.Beside.keys()...))
	if err != nil {
		return nil, err
	}
	c.opt.Workload.Homes = homes{c.router}
	c.source, err = workload.NewSource(c.opt.Workload, "sim")
	if err != nil {
		return nil, err
	}
	for i := range o.Nodes {
		c.nodes = append(c.nodes, newNode(c, kv.NodeID(i+1)))
	}
	for s := range c.router.Shards() {
		id := kv.ShardID(s)
		c.shards = append(c.shards, newShell(c.nodes[c.router.Node(id)-1], id))
	}
	for _, n := range c.nodes {
		for _, s := range c.shards {
			n.gw.Shards().Learn(s.id, s.m.Incarnation())
		}
	}
	return c, nil
}

// homes puts client i on node i modulo their number, as startClient does.
type homes struct{ *hotshard.Router }

func (h homes) Client(i int) (workload.Store, kv.NodeID) { return nil, kv.NodeID(i%h.Nodes() + 1) }
func (h homes) Key(key []byte) kv.NodeID                 { return h.Node(h.Shard(key)) }

// at has something happen at an instant, which is not before now.
func (c *cluster) at(when int64, f func()) {
	c.seq++
	c.events.Push(events.Event{At: max(when, c.now), Seq: c.seq, Run: f})
}

// run lets happen what happens up to an instant.
func (c *cluster) run(until int64) {
	for len(c.events) > 0 && c.events[0].At <= until {
		e := c.events.Pop()
		c.now = e.At
		e.Run()
	}
	c.now = max(c.now, until)
}

// home is the node that a message is for.
func (c *cluster) home(env *msg.Envelope) *node {
	id := env.Gateway
	if id == 0 {
		id = c.router.Node(env.Shard)
	}
	return c.nodes[id-1]
}

// send has a message arrive.
func (c *cluster) send(from *node, env *msg.Envelope) {
	to := c.home(env)
	if to == from || c.free {
		to.queue(job{env: env})
		return
	}
	c.tally.messages++
	c.at(c.now+int64(c.opt.Delay), func() { to.queue(job{env: env, far: true}) })
}

// load puts every key, without any cost.
func (c *cluster) load() error {
	const batch = 100
	o := c.source.Options()
	c.free = true
	for at := uint64(0); at < o.Keys; at += batch {
		var ops []msg.Op
		for k := at; k < min(at+batch, o.Keys); k++ {
			ops = append(ops, msg.Op{Kind: msg.OpPut, Key: workload.RegisterKey(o.Prefix, k), Value: make([]byte, o.ValueBytes)})
		}
		n := c.nodes[int(at/batch)%len(c.nodes)]
		var failed error
		done := false
		call := &call{n: n, ops: ops, id: c.newID(), then: func(e ended) {
			done = true
			if e.Failure != nil {
				failed = fmt.Errorf("loading: %v", e.Failure)
			}
		}}
		n.queue(job{call: call})
		for !done && len(c.events) > 0 {
			c.run(c.events[0].At)
		}
		if failed != nil || !done {
			return fmt.Errorf("loading stopped: %w", failed)
		}
	}
	c.run(c.now + int64(100*time.Millisecond)) // let the decisions sink in
	c.free = false
	return nil
}

// drain has the clients stop, and fails if something is left over.
func (c *cluster) drain() error {
	c.ending = true
	for i := 0; c.busy > 0; i++ {
		if i > 10_000 {
			return fmt.Errorf("%d transactions have not ended after %v", c.busy, 10*time.Second)
		}
		c.run(c.now + int64(time.Millisecond))
	}
	c.run(c.now + int64(10*time.Second))
	for _, s := range c.shards {
		if err := s.m.CheckIdle(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if f := n.gw.InFlight(); f > 0 {
			return fmt.Errorf("gateway %v has %d transactions under way when all clients are done", n.id, f)
		}
	}
	if c.app != nil {
		return c.verify()
	}
	return nil
}

const never = int64(math.MaxInt64)
