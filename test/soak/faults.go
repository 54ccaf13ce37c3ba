package soak

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

// slowSync and slowSend are the maximum delays of an fsync of a slow disk and of a message of a slow
// network.
const (
	slowSync = 60 * time.Millisecond
	slowSend = 25 * time.Millisecond
)

// idleConnections is the number of connections of an Idle fault, below the limit of open files.
const idleConnections = 300

// greetingTimeout bounds the time until a node greets an idle connection.
const greetingTimeout = 500 * time.Millisecond

// step is an action at a time since the beginning of the faults.
type step struct {
	at time.Duration
	do func()
}

// injector injects the faults of a round.
type injector struct {
	*cluster
	t     testing.TB
	ctx   context.Context
	large *largeRange
	// down are the nodes that are expected not to run, started those that were restarted.
	down, started [nodes]bool
	work          sync.WaitGroup
}

// runAll injects all faults and returns when the last one has ended.
func (d *injector) runAll(faults []Fault) error {
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
		d.requireRunning(d.t, &d.down)
		s.do()
	}
	return nil
}

// steps returns the steps of a fault: its beginning and its end.
func (d *injector) steps(f Fault) []step {
	r := rand.New(rand.NewPCG(f.Seed, 5))
	var end func()
	beginAndEnd := func(begin func(Fault, *rand.Rand) func()) []step {
		return []step{{f.From, func() { end = begin(f, r) }}, {f.Till, func() { end() }}}
	}
	switch f.Kind {
	case Kill:
		return beginAndEnd(d.kill)
	case Freeze:
		return beginAndEnd(d.freeze)
	case Drain:
		return beginAndEnd(d.drain)
	case SlowDisk:
		return beginAndEnd(func(f Fault, r *rand.Rand) func() { return d.slow(f, "--delay-fsync", upTo(r, slowSync)) })
	case SlowNet:
		return beginAndEnd(func(f Fault, r *rand.Rand) func() { return d.slow(f, "--delay-net", upTo(r, slowSend)) })
	case NearlyFull:
		return beginAndEnd(d.nearlyFull)
	case Full:
		return beginAndEnd(d.full)
	case Empty:
		return beginAndEnd(d.empty)
	case OneWay:
		return beginAndEnd(d.oneWay)
	case Flap:
		return d.flap(f, r)
	case Idle:
		return beginAndEnd(func(f Fault, _ *rand.Rand) func() { return d.connect(f, idleConnections) })
	case NoFiles:
		return beginAndEnd(func(f Fault, _ *rand.Rand) func() { return d.connect(f, maxFiles) })
	case SlowReaders:
		return beginAndEnd(d.slowReaders)
	}
	panic("unknown fault: " + f.Kind.String())
}

// upTo returns a random duration from a quarter of d to d.
func upTo(r *rand.Rand, d time.Duration) time.Duration {
	return (d/4 + time.Duration(r.Int64N(int64(d-d/4)))).Round(time.Millisecond)
}

func (d *injector) start(node int, more ...string) {
	d.t.Helper()
	d.down[node], d.started[node] = false, true
	d.launch(d.t, node, more...)
}

func (d *injector) kill(f Fault, _ *rand.Rand) func() {
	d.down[f.Node] = true
	d.Node(f.Node).Kill()
	return func() { d.start(f.Node) }
}

func (d *injector) freeze(f Fault, _ *rand.Rand) func() {
	d.requireNoError(d.Node(f.Node).Freeze())
	return func() { d.requireNoError(d.Node(f.Node).Thaw()) }
}

// signalExitCode is the exit code of a process that was killed by a signal.
const signalExitCode = -1

func (d *injector) drain(f Fault, _ *rand.Rand) func() {
	n := d.Node(f.Node)
	// A process that has just started does not handle the signal yet, and is killed by it.
	starting := d.started[f.Node] && !n.HasWritten(" serves at ")
	d.down[f.Node] = true
	n.Terminate(d.t)
	return func() {
		if code := n.Wait(d.t); code != 0 && (!starting || code != signalExitCode) {
			d.t.Errorf("node %d exited with code %d after SIGTERM", f.Node, code)
		}
		d.start(f.Node)
	}
}

// slow restarts a node with a delay, and without it at the end of the fault.
func (d *injector) slow(f Fault, flag string, by time.Duration) func() {
	n := d.Node(f.Node)
	n.Kill()
	d.start(f.Node, flag, by.String())
	return func() {
		n.Kill()
		d.start(f.Node)
	}
}

func (d *injector) nearlyFull(f Fault, _ *rand.Rand) func() {
	return sandbox.Ballast(d.t, d.Node(f.Node).Dir, reserve*mib*3/4)
}

// full fills the disk of a node. The node exits, unless its log needs no space during the fault. In half of
// the cases the node is restarted on the full disk.
func (d *injector) full(f Fault, r *rand.Rand) func() {
	n := d.Node(f.Node)
	n.ExpectExit()
	remove := sandbox.Ballast(d.t, n.Dir, 0)
	if r.IntN(2) == 0 {
		n.Kill()
		d.start(f.Node)
		n.ExpectExit()
	}
	d.down[f.Node] = true
	return func() {
		remove()
		d.down[f.Node] = false
		if n.Running() {
			d.t.Logf("%v: the node has not exited", f)
			return
		}
		if code := n.Wait(d.t); code != pebblestore.ExitFatal {
			d.t.Errorf("node %d exited with code %d on a full disk, not %d", f.Node, code, pebblestore.ExitFatal)
		}
		d.start(f.Node)
	}
}

// empty loses the disk of a node. The other replicas fill the new one.
func (d *injector) empty(f Fault, _ *rand.Rand) func() {
	d.down[f.Node] = true
	n := d.Node(f.Node)
	n.Kill()
	files, err := os.ReadDir(n.Dir)
	d.requireNoError(err)
	for _, f := range files {
		d.requireNoError(os.RemoveAll(filepath.Join(n.Dir, f.Name())))
	}
	return func() { d.start(f.Node) }
}

func (d *injector) oneWay(f Fault, r *rand.Rand) func() {
	if d.network != nil {
		d.network.Drop(d.t, f.Node, f.To)
		return func() { d.network.Set(d.t, f.Node, f.To, false) }
	}
	p := d.Proxy(f.Node)
	breakLink(p, r)
	return p.Heal
}

// breakLink ends, cuts or swallows a link.
func breakLink(p *proxy.Proxy, r *rand.Rand) {
	[]func(){p.Break, p.Cut, p.Swallow}[r.IntN(3)]()
}

// flap changes directions of links at intervals of 50 to 550 ms, and heals all of them at the end.
func (d *injector) flap(f Fault, r *rand.Rand) (steps []step) {
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

// heal heals all links.
func (d *injector) heal() {
	if d.network != nil {
		d.network.Heal(d.t)
		return
	}
	for i := range nodes {
		d.Proxy(i).Heal()
	}
}

// connect opens up to limit connections to a node, until it accepts no more or does not respond. They stay
// open until the fault ends.
func (d *injector) connect(f Fault, limit int) func() {
	ctx, cancel := context.WithCancel(d.ctx)
	d.work.Go(func() {
		var conns []net.Conn
		for len(conns) < limit && ctx.Err() == nil {
			c, err := proc.DialIdle(d.Node(f.Node).Addr, greetingTimeout)
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

// slowReaders scan, and read some entries per second.
func (d *injector) slowReaders(f Fault, _ *rand.Rand) func() {
	ctx, cancel := context.WithTimeout(d.ctx, f.Till-f.From+proc.WaitTimeout)
	var ended sync.WaitGroup
	for range 4 {
		ended.Go(func() { d.large.read(ctx, d.t, d.Node(f.Node).Addr, 50*time.Millisecond) })
	}
	d.work.Go(ended.Wait)
	return cancel
}

func (d *injector) requireNoError(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
