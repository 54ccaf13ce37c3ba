package embed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

// drain is a clean stop up to where the store can be closed. It happens once, however
// many ask for it: a signal, or operators.
//
//	refusing       health checks fail; wait for DrainWait
//	transactions   refuse what is new, notify clients, wait for theirs to end;
//	               at the limit roll back the interactive ones that are still open
//	shards         have the other nodes begin nothing here, wait for what they have begun
//	stopping       the rest is Stop's
//
// The limit is for all of it but DrainWait; the shards get a second at least.
type drain struct {
	once sync.Once
	// started is closed when it has begun, over when it is done, asked when the
	// process should end because of it.
	started, over, asked chan struct{}
	askedOnce            sync.Once

	mu    sync.Mutex
	since time.Time
	now   pb.DrainProgress
}

func newDrain() *drain {
	return &drain{started: make(chan struct{}), over: make(chan struct{}), asked: make(chan struct{})}
}

func (d *drain) begun() bool {
	select {
	case <-d.started:
		return true
	default:
		return false
	}
}

// until is ctx, which also ends when it begins.
func (d *drain) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-d.started:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// set notes how far it is.
func (d *drain) set(f func(*pb.DrainProgress)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.now)
}

func (d *drain) progress() *pb.DrainProgress {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.now
	p.ElapsedMs = uint64(time.Since(d.since).Milliseconds())
	return &p
}

// ErrDrained is what Start returns when an operator has drained the node before it
// served: it was asked to end, and has.
var ErrDrained = errors.New("embed: the node was drained before it started serving")

// Wait returns when ctx ends, when the node has been drained at an operator's wish,
// or with the reason why it must end.
func (i *Instance) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-i.drain.asked:
		return nil
	case <-i.meeting.Failed():
		return i.meeting.Err()
	case err := <-i.served:
		i.served <- err
		return err
	}
}

// progressEvery is the interval of progress reports to operators, drainLogEvery that of the log.
const (
	progressEvery = 200 * time.Millisecond
	drainLogEvery = time.Second
)

// Drain implements server.Operator. The process ends when Wait's caller calls Stop.
func (i *Instance) Drain(ctx context.Context, timeout time.Duration, progress func(*pb.DrainProgress) error) error {
	go i.drainOnce(timeout)
	t := time.NewTicker(progressEvery)
	defer t.Stop()
	<-i.drain.started
	for {
		// The drain goes on without its caller.
		sent := progress(i.drain.progress()) == nil
		select {
		case <-i.drain.over:
			if sent {
				_ = progress(i.drain.progress())
			}
			i.drain.askedOnce.Do(func() { close(i.drain.asked) })
			return nil
		case <-t.C:
		}
		if !sent {
			<-i.drain.over
			i.drain.askedOnce.Do(func() { close(i.drain.asked) })
			return ctx.Err()
		}
	}
}

// drainOnce drains, or waits for the one who does.
func (i *Instance) drainOnce(timeout time.Duration) {
	i.drain.once.Do(func() {
		defer close(i.drain.over)
		i.drainNow(timeout)
	})
	<-i.drain.over
}

func (i *Instance) drainNow(timeout time.Duration) {
	d := i.drain
	if timeout <= 0 {
		timeout = i.opt.DrainTimeout
	}
	d.mu.Lock()
	d.since, d.now = time.Now(), pb.DrainProgress{Phase: server.DrainRefusing}
	d.mu.Unlock()
	i.updateDrain()
	close(d.started)
	log := i.opt.log(logs.Node)
	log.Info("drain started", "timeout", timeout.String(), "wait", i.opt.DrainWait.String())
	i.server.SetReady(false)
	n := i.running()
	if n == nil {
		i.server.Drain()
		d.set(func(p *pb.DrainProgress) { p.Phase = server.DrainStopping })
		return // it has never served
	}
	stop := i.reportDraining()
	defer stop()
	if i.opt.DrainWait > 0 {
		time.Sleep(i.opt.DrainWait) // load balancers notice it by their next health check
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	d.set(func(p *pb.DrainProgress) { p.Phase = server.DrainTransactions })
	n.Gateway().RejectNew()
	// Other nodes are notified at once, so that what is open there ends meanwhile.
	var announced sync.WaitGroup
	announced.Go(func() { n.AnnounceDraining(ctx) })
	defer announced.Wait()
	i.server.Drain()
	if err := n.Gateway().Drain(ctx); err != nil {
		i.cutOff(n.Gateway())
	}
	shards, cancelShards := context.WithDeadline(context.Background(), later(ctx, time.Now().Add(time.Second)))
	defer cancelShards()
	d.set(func(p *pb.DrainProgress) { p.Phase = server.DrainShards })
	err := n.Drain(shards, func(under int) { d.set(func(p *pb.DrainProgress) { p.OnShards = uint32(under) }) })
	if err != nil {
		d.set(func(p *pb.DrainProgress) { p.TimedOut = true })
		log.Warn("drain timed out: transactions of other nodes on these shards are aborted", "transactions", n.InFlight())
	}
	d.set(func(p *pb.DrainProgress) { p.Phase = server.DrainStopping })
	p := d.progress()
	log.Info("drain finished", "duration", (time.Duration(p.ElapsedMs) * time.Millisecond).String(), "timed_out",
		p.TimedOut)
}

// later is the later of a context's deadline and another.
func later(ctx context.Context, t time.Time) time.Time {
	if d, ok := ctx.Deadline(); ok && d.After(t) {
		return d
	}
	return t
}

// cutOff rolls back what is open when the time is up. Nothing is lost by that: it has
// not been answered, and its client can ask for the outcome.
func (i *Instance) cutOff(g *gateway.Gateway) {
	i.opt.log(logs.Node).Warn("drain timed out: transactions of clients are aborted", "transactions",
		g.InFlight()-g.OpenCount(), "open", g.OpenCount())
	i.drain.set(func(p *pb.DrainProgress) { p.TimedOut = true })
	i.server.CutOff()
}

// reportDraining keeps the progress and the log up to date until stop is called.
func (i *Instance) reportDraining() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		t := time.NewTicker(progressEvery / 4)
		defer t.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			i.updateDrain()
			if time.Since(last) >= drainLogEvery {
				last = time.Now()
				p := i.drain.progress()
				i.opt.log(logs.Node).Info("draining", "phase", p.Phase, "transactions", p.OneShots, "open", p.Interactive,
					"on_shards", p.OnShards)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		i.updateDrain()
	}
}

// updateDrain counts the transactions in flight of the node's clients.
func (i *Instance) updateDrain() {
	if n := i.running(); n != nil {
		g := n.Gateway()
		i.drain.set(func(p *pb.DrainProgress) {
			p.OneShots, p.Interactive = uint32(max(g.InFlight()-g.OpenCount(), 0)), uint32(g.OpenCount())
		})
	}
}

// Stop ends the node cleanly: it drains unless that has been done, and closes what
// is open. What is durable is kept.
func (i *Instance) Stop() error {
	i.drainOnce(0)
	stop, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var errs []error
	if err := i.server.GracefulStop(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		errs = append(errs, err)
	}
	errs = append(errs, i.releaseSoon())
	i.opt.log(logs.Node).Info("node stopped")
	return errors.Join(errs...)
}

// releaseTimeout is how long a stop waits for the disk. Somewhat arbitrary: it is
// enough for eight memtables on a slow one, and less than supervisors wait.
const releaseTimeout = 20 * time.Second

// releaseSoon is release, but gives up when what it waits for does not come: a store
// that waits for disk space never closes.
func (i *Instance) releaseSoon() error {
	released := make(chan error, 1)
	go func() { released <- i.release() }()
	select {
	case err := <-released:
		return err
	case <-time.After(releaseTimeout):
		return &kv.Error{Kind: kv.KindUnavailable, Op: -1,
			Text: fmt.Sprintf("the store in %s could not be closed within %v: its disk is full or does not respond", i.opt.Dir,
				releaseTimeout),
			Hint: "no acknowledged commit is lost; free disk space, then start the node again"}
	}
}
