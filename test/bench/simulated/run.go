package simulated

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
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

// part runs for a time or, if MeasureTxns is set, until a number of transactions have ended, and returns how long that
// took. It fails if none ends for a minute.
func (c *cluster) part(span time.Duration, txns int) (time.Duration, error) {
	begin := c.Now()
	if c.opt.MeasureTxns == 0 {
		c.run(begin + int64(span))
		return span, nil
	}
	ended, since := c.tally.over, begin
	for until := ended + txns; c.tally.over < until; {
		if c.Next() == never || c.Now()-since > int64(time.Minute) {
			return 0, fmt.Errorf("no transaction has ended for %v; %d are still to", time.Duration(c.Now()-since),
				until-c.tally.over)
		}
		c.run(c.Next())
		if c.tally.over > ended {
			ended, since = c.tally.over, c.Now()
		}
	}
	return time.Duration(c.Now() - begin), nil
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
	c := &cluster{opt: o, kinds: kinds{bySize: o.App != nil}}
	c.AdvanceTo(base)
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
		for !done && c.Next() < never {
			c.run(c.Next())
		}
		if failed != nil || !done {
			return fmt.Errorf("loading stopped: %w", failed)
		}
	}
	c.run(c.Now() + int64(100*time.Millisecond)) // let the decisions sink in
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
		c.run(c.Now() + int64(time.Millisecond))
	}
	c.run(c.Now() + int64(10*time.Second))
	for _, s := range c.shards {
		if err := s.m.CheckIdle(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if f := n.gw.InFlight(); f > 0 {
			return fmt.Errorf("gateway %v has %d transactions in flight when all clients are done", n.id, f)
		}
	}
	if c.app != nil {
		return c.verify()
	}
	return nil
}

// Measure runs the workload with both kinds of readers, or an application with and without transactions, and returns
// the median of what each kind of call took. The median excludes calls during which another process had the core.
//
// Meanwhile the costs in o are charged. They only determine which calls are concurrent.
func Measure(o Options) (Costs, error) {
	out := o.Costs
	out.Calls, out.Lines = map[string]time.Duration{}, map[string]Line{}
	o.meter, o.Batches = &meter{took: map[string][]sample{}}, false
	for i := range 2 {
		o.Reads = txn.Reads(i)
		if o.App != nil {
			o.Reads, o.OneByOne = txn.SnapshotReads, i == 1
		}
		if _, err := Run(o); err != nil {
			return out, err
		}
	}
	for kind, all := range o.meter.took {
		if len(all) < minSamples {
			continue
		}
		if o.App != nil {
			out.Lines[kind] = lineOf(all)
			continue
		}
		out.Calls[kind] = medianOf(all)
	}
	return out, nil
}

// minSamples is how many times a kind must have been called for its median to
// be used. Somewhat arbitrary; what is rarer costs Other.
const minSamples = 100
