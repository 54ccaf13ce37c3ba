package soak

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

// slow is how much slower a slow disk's fsyncs and a slow network's messages
// are, at most.
const (
	slowSync = 60 * time.Millisecond
	slowSend = 25 * time.Millisecond
)

// idle is how many connections Idle opens, fewer than a node has files for.
const idle = 300

// answersWithin is how long a node may take to greet an idle connection.
const answersWithin = 500 * time.Millisecond

// step is something that is done at a time since the faults began.
type step struct {
	at time.Duration
	do func()
}

// doer does the faults of a round.
type doer struct {
	*cluster
	t    testing.TB
	ctx  context.Context
	wide *wide
	// down are the nodes that are meant not to run, and begun those that were
	// started.
	down, begun [nodes]bool
	work        sync.WaitGroup
}

// all does all faults, and returns when the last one has ended.
func (d *doer) all(faults []Fault) error {
	var steps []step
	for _, f := range faults {
		steps = append(steps, d.steps(f)...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var stop context.CancelFunc
	d.ctx, stop = context.WithCancel(d.ctx)
	defer d.work.Wait()
	defer stop()
	begin := time.Now()
	for _, s := range steps {
		workload.Sleep(d.ctx, s.at-time.Since(begin))
		if d.ctx.Err() != nil {
			return errStopped
		}
		d.alive(d.t, &d.down)
		s.do()
	}
	return nil
}

// steps are those of a fault. What one begins, a later one ends.
func (d *doer) steps(f Fault) []step {
	r := rand.New(rand.NewPCG(f.Seed, 5))
	var end func()
	twice := func(begin func(Fault, *rand.Rand) func()) []step {
		return []step{{f.From, func() { end = begin(f, r) }}, {f.Till, func() { end() }}}
	}
	switch f.Kind {
	case Kill:
		return twice(d.kill)
	case Freeze:
		return twice(d.freeze)
	case Drain:
		return twice(d.drain)
	case SlowDisk:
		return twice(func(f Fault, r *rand.Rand) func() { return d.slow(f, "--delay-fsync", upTo(r, slowSync)) })
	case SlowNet:
		return twice(func(f Fault, r *rand.Rand) func() { return d.slow(f, "--delay-net", upTo(r, slowSend)) })
	case NearlyFull:
		return twice(d.nearlyFull)
	case Full:
		return twice(d.full)
	case OneWay:
		return twice(d.oneWay)
	case Flap:
		return d.flap(f, r)
	case Idle:
		return twice(func(f Fault, _ *rand.Rand) func() { return d.connect(f, idle) })
	case NoFiles:
		return twice(func(f Fault, _ *rand.Rand) func() { return d.connect(f, maxFiles) })
	case SlowReaders:
		return twice(d.slowReaders)
	}
	panic("no such fault: " + f.Kind.String())
}

// upTo draws from a quarter of d to d.
func upTo(r *rand.Rand, d time.Duration) time.Duration {
	return (d/4 + time.Duration(r.Int64N(int64(d-d/4)))).Round(time.Millisecond)
}

func (d *doer) start(node int, more ...string) {
	d.t.Helper()
	d.down[node], d.begun[node] = false, true
	d.launch(d.t, node, more...)
}

func (d *doer) kill(f Fault, _ *rand.Rand) func() {
	d.down[f.Node] = true
	d.Node(f.Node).Kill()
	return func() { d.start(f.Node) }
}

func (d *doer) freeze(f Fault, _ *rand.Rand) func() {
	d.must(d.Node(f.Node).Freeze())
	return func() { d.must(d.Node(f.Node).Thaw()) }
}

// diedOfSignal is the exit code of a process that did not end by itself.
const diedOfSignal = -1

func (d *doer) drain(f Fault, _ *rand.Rand) func() {
	n := d.Node(f.Node)
	// A process that has hardly begun does not know the signal yet, and dies of it.
	young := d.begun[f.Node] && !n.HasWritten(" serves at ")
	d.down[f.Node] = true
	n.Terminate(d.t)
	return func() {
		if code := n.Wait(d.t); code != 0 && (!young || code != diedOfSignal) {
			d.t.Errorf("node %d, which was asked to end, ended with exit code %d", f.Node, code)
		}
		d.start(f.Node)
	}
}

// slow has a node be slower, which it is told when it starts.
func (d *doer) slow(f Fault, flag string, by time.Duration) func() {
	n := d.Node(f.Node)
	n.Kill()
	d.start(f.Node, flag, by.String())
	return func() {
		n.Kill()
		d.start(f.Node)
	}
}

func (d *doer) nearlyFull(f Fault, _ *rand.Rand) func() {
	return sandbox.Ballast(d.t, d.Node(f.Node).Dir, reserve*mib*3/4)
}

// full ends the node, unless its log needs no room while that lasts. Every other
// time it has to start while there is none.
func (d *doer) full(f Fault, r *rand.Rand) func() {
	n := d.Node(f.Node)
	n.ExpectExit()
	giveBack := sandbox.Ballast(d.t, n.Dir, 0)
	if r.IntN(2) == 0 {
		n.Kill()
		d.start(f.Node)
		n.ExpectExit()
	}
	d.down[f.Node] = true
	return func() {
		giveBack()
		d.down[f.Node] = false
		if n.Running() {
			d.t.Logf("%v: the node has not ended", f)
			return
		}
		if code := n.Wait(d.t); code != pebblestore.ExitFatal {
			d.t.Errorf("node %d, whose disk was full, ended with exit code %d, not %d", f.Node, code, pebblestore.ExitFatal)
		}
		d.start(f.Node)
	}
}

func (d *doer) oneWay(f Fault, r *rand.Rand) func() {
	if d.network != nil {
		d.network.Drop(d.t, f.Node, f.To)
		return func() { d.network.Set(d.t, f.Node, f.To, false) }
	}
	p := d.Proxy(f.Node)
	breakLink(p, r)
	return p.Heal
}

// breakLink has a link end, refuse or swallow what comes.
func breakLink(p *proxy.Proxy, r *rand.Rand) {
	[]func(){p.Break, p.Cut, p.Swallow}[r.IntN(3)]()
}

// flap changes one way of a link after the other, each after some hundred
// milliseconds, and heals all of them in the end.
func (d *doer) flap(f Fault, r *rand.Rand) (steps []step) {
	for at := f.From; at < f.Till; at += time.Duration(50+r.IntN(500)) * ms {
		from, drop := r.IntN(nodes), r.IntN(3) > 0
		to := (from + 1 + r.IntN(nodes-1)) % nodes
		steps = append(steps, step{at, func() {
			switch {
			case d.network != nil:
				d.network.Set(d.t, from, to, drop)
			case drop:
				breakLink(d.Proxy(from), r)
			default:
				d.Proxy(from).Heal()
			}
		}})
	}
	return append(steps, step{f.Till, d.heal})
}

// heal has every link work.
func (d *doer) heal() {
	if d.network != nil {
		d.network.Heal(d.t)
		return
	}
	for i := range nodes {
		d.Proxy(i).Heal()
	}
}

// connect opens connections to a node until it has no room for more, or does
// not answer; and at most so many. They stay until the fault ends.
func (d *doer) connect(f Fault, most int) func() {
	ctx, cancel := context.WithCancel(d.ctx)
	d.work.Go(func() {
		var conns []net.Conn
		for len(conns) < most && ctx.Err() == nil {
			c, err := proc.DialIdle(d.Node(f.Node).Addr, answersWithin)
			if err != nil {
				break
			}
			conns = append(conns, c)
		}
		d.t.Logf("%v: %d connections", f, len(conns))
		<-ctx.Done()
		proc.CloseAll(conns)
	})
	return cancel
}

// slowReaders scan, and take some pairs a second.
func (d *doer) slowReaders(f Fault, _ *rand.Rand) func() {
	ctx, cancel := context.WithTimeout(d.ctx, f.Till-f.From+proc.WaitTimeout)
	var ended sync.WaitGroup
	for range 4 {
		ended.Go(func() { d.wide.read(ctx, d.t, d.Node(f.Node).Addr, 50*time.Millisecond) })
	}
	d.work.Go(ended.Wait)
	return cancel
}

func (d *doer) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
