package simulated

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// node is one core with a queue, a gateway and shards.
type node struct {
	c      *cluster
	id     kv.NodeID
	gw     *txn.Gateway
	gwNext int64 // when its timer goes off
	disk   *disk

	// ends goes before begins, and does not starve it: what ends was begun.
	ends, begins lane
	busy         bool
	// jobs and sizes are room for those that are being done.
	jobs  []job
	sizes []sized
	// worked is for how long the core has worked, gateway the part of it that its
	// gateway was at work.
	worked, gateway int64
	// lastShare is that of a period that ended at shareSince.
	lastShare               float64
	shareSince, shareWorked int64
}

// job is something for the core to do: the first of these that is set.
type job struct {
	env  *msg.Envelope
	call *call
	// shard has a timer or what was read for it.
	shard *shell
	reads []entry.ReadResult
	// filler is how long to be busy with something else, in a lane.
	filler time.Duration
	lane   int
	// far: the message came from another node.
	far bool
}

func newNode(c *cluster, id kv.NodeID) *node {
	n := &node{c: c, id: id, gwNext: never}
	cfg := txn.Config{Node: id, Router: c.router, Reads: c.opt.Reads, Order: c.opt.Order,
		NoSharing: bool(c.opt.Sharing.Combining), MaxInFlight: c.opt.MaxInFlight}
	if n := c.opt.MaxInFlight; c.opt.OneBound {
		cfg.Admission = admission.Options{PerShard: n, PerKey: n, Always: n}
	}
	n.gw = txn.NewGateway(cfg)
	n.disk = newDisk(n)
	return n
}

// share is in which share of the time the core has worked, over the last 25 ms or
// more.
func (n *node) share() float64 {
	if d := n.c.Now() - n.shareSince; d >= int64(kv.DefaultHeatInterval/10) {
		n.lastShare = float64(n.worked-n.shareWorked) / float64(d)
		n.shareSince, n.shareWorked = n.c.Now(), n.worked
	}
	return n.lastShare
}

// queue gives the core something to do.
func (n *node) queue(j job) {
	if (j.env != nil && j.env.Ends() || j.filler > 0 && j.lane == laneEnds) && !n.c.opt.OneLane {
		n.ends.push(j)
	} else {
		n.begins.push(j)
	}
	if !n.busy {
		n.busy = true
		n.c.At(n.c.Now(), n.work)
	}
}

// work does the next job. The machine changes at its beginning and its output leaves at its end. That cannot be
// observed, since the core does nothing else meanwhile.
func (n *node) work() {
	j, ok := n.pop()
	if !ok {
		n.busy = false
		return
	}
	if j.filler > 0 {
		n.worked += int64(j.filler)
		n.c.At(n.c.Now()+int64(j.filler), n.work)
		return
	}
	jobs := append(n.jobs[:0], j)
	if n.c.opt.Batches {
		jobs = n.batch(jobs)
	}
	n.jobs = jobs
	took, out := n.do(jobs)
	cost := int64(0)
	if c := n.c; !c.free {
		n.sizes = c.kinds.sizes(n.sizes[:0], jobs, &out, &c.opt.Costs)
		for i, s := range n.sizes {
			if c.opt.meter != nil {
				c.opt.meter.note(&jobs[i], s, took)
			}
			cost += int64(c.opt.Costs.call(s.kind, s.units))
			if jobs[i].far {
				cost += int64(c.opt.Costs.Message)
			}
		}
		cost += int64(c.opt.Costs.Message) * int64(out.far(n))
		n.worked += cost
		if jobs[0].of(c) == nil {
			n.gateway += cost
		}
		c.beside.charge(n, &jobs[0], cost)
	}
	n.c.At(n.c.Now()+cost, func() {
		out.leave(n)
		n.work()
	})
}

// pop takes the next job out of the queue.
func (n *node) pop() (j job, ok bool) {
	j, ok = n.ends.pop()
	if ok {
		return j, true
	}
	return n.begins.pop()
}

// of is the shard that a job is for, nil for the gateway.
func (j *job) of(c *cluster) *shell {
	if j.env != nil && j.env.Gateway == 0 {
		return c.shards[j.env.Shard]
	}
	return j.shard
}

// batch adds all jobs that wait for the same machine, in the order of the lanes.
func (n *node) batch(jobs []job) []job {
	to := jobs[0].of(n.c)
	for _, l := range [2]*lane{&n.ends, &n.begins} {
		kept := l.jobs[:l.head]
		for _, j := range l.jobs[l.head:] {
			if j.filler == 0 && j.of(n.c) == to {
				jobs = append(jobs, j)
			} else {
				kept = append(kept, j)
			}
		}
		clear(l.jobs[len(kept):])
		l.jobs = kept
	}
	return jobs
}

// lane is jobs that wait, from head on.
type lane struct {
	jobs []job
	head int
}

func (l *lane) push(j job) { l.jobs = append(l.jobs, j) }

func (l *lane) pop() (j job, ok bool) {
	if l.head == len(l.jobs) {
		l.jobs, l.head = l.jobs[:0], 0
		return j, false
	}
	j = l.jobs[l.head]
	l.jobs[l.head] = job{}
	l.head++
	if l.head > 1024 && l.head > len(l.jobs)/2 {
		l.jobs = append(l.jobs[:0], l.jobs[l.head:]...)
		l.head = 0
	}
	return j, true
}

// output is what a job wants done.
type output struct {
	shard *shell
	// send leaves when the log is durable, urgent at once.
	send, urgent []*msg.Envelope
	// entries are in the log at a position.
	entries []entry.Entry
	at      engine.Position
	reads   []entry.Read
	done    []txn.Done
}

// far counts the messages to other nodes.
func (o *output) far(n *node) (count int) {
	for _, envs := range [2][]*msg.Envelope{o.send, o.urgent} {
		for _, env := range envs {
			if n.c.home(env) != n {
				count++
			}
		}
	}
	return count
}

func (o *output) leave(n *node) {
	for _, env := range o.urgent {
		n.c.send(n, env)
	}
	n.disk.release(o)
	for _, r := range o.reads {
		// From memory, and at once: nothing is cold here but what is loaded.
		n.queue(job{shard: o.shard, reads: []entry.ReadResult{n.disk.store.Read(o.shard.id, r)}})
	}
	for _, d := range o.done {
		call := d.Handle.(*call)
		call.then(ended{d, n.c.Now()})
	}
}

// do executes jobs of one machine, and returns how long that took in reality.
func (n *node) do(jobs []job) (took time.Duration, out output) {
	if s := jobs[0].of(n.c); s != nil {
		s.inbox = s.inbox[:0]
		var reads []entry.ReadResult
		for i := range jobs {
			if env := jobs[i].env; env != nil {
				s.inbox = append(s.inbox, env)
			}
			reads = append(reads, jobs[i].reads...)
		}
		if len(s.inbox) > 0 {
			n.c.tally.steps++
		}
		out, took = s.step(s.inbox, reads)
		return took, out
	}
	took = timed(func() {
		for i := range jobs {
			switch j := &jobs[i]; {
			case j.env != nil:
				n.gw.Deliver(n.c.Now(), j.env)
			case j.call != nil:
				j.call.start(n.c.Now())
			default:
				n.gw.Tick(n.c.Now())
			}
		}
		out = n.flush()
	})
	for i := range jobs {
		if ca := jobs[i].call; ca != nil && ca.failed != nil {
			out.done = append(out.done, *ca.failed)
		}
	}
	return took, out
}

func timed(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// flush takes what the gateway wants done.
func (n *node) flush() output {
	out := n.gw.Flush()
	if out.Next < n.gwNext {
		n.gwNext = out.Next
		n.c.At(out.Next, func() {
			if n.gwNext == out.Next {
				n.gwNext = never
				n.queue(job{})
			}
		})
	}
	return output{send: out.Send, done: out.Done}
}
