package simulated

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
)

// appPrefix begins the keys of an application.
const appPrefix = "app/"

// startApp makes the application, loads it without any cost, and starts its
// clients.
func (c *cluster) startApp() error {
	var err error
	c.app, err = c.opt.App(app.Env{DB: c.db(), Prefix: appPrefix, Clients: c.opt.Clients * c.opt.Nodes, Seed: c.opt.Seed,
		OneByOne: c.opt.OneByOne})
	if err != nil {
		return err
	}
	c.free = true
	if err := c.app.Load(context.Background()); err != nil {
		return err
	}
	// Decisions sink in. Loading sends from several goroutines, so that it does not
	// end at the same instant in each run; what follows does begin at one.
	c.run((c.Now()/int64(time.Minute) + 1) * int64(time.Minute))
	c.free = false
	clients := c.opt.Clients * c.opt.Nodes
	if c.opt.OnlyClient {
		clients = 1
	}
	for i := range clients {
		cl := &appClient{n: c.nodes[i%c.opt.Nodes], number: i}
		cl.next, cl.stop = iter.Pull(cl.wishes)
		c.apps = append(c.apps, cl)
		c.busy++
		c.At(c.Now()+int64(i)*int64(time.Microsecond), cl.begin)
	}
	return nil
}

// verify ends the clients and has the application look whether all is as it
// should be.
func (c *cluster) verify() error {
	c.free = true
	defer func() { c.free = false }()
	found, err := c.app.Verify(context.Background())
	for _, v := range found {
		if v.Verdict == workload.Broken {
			err = errors.Join(err, fmt.Errorf("%s: %s", v.Name, v.Text))
		}
	}
	return err
}

// appClient runs the transactions of one of the application's clients, one after
// the other. The application's code is a coroutine: it runs while the cluster
// waits for its next wish, and waits while the cluster sees to that.
type appClient struct {
	n      *node
	number int
	next   func() (wish, bool)
	stop   func()
	yield  func(wish) bool
	// reply is what the last wish has brought; stopped: there will be no other.
	reply   txn.Done
	stopped bool
	begun   int64
}

// wish is something that a client wants: a pause, a call, or its next
// transaction when this one has ended.
type wish struct {
	pause int64
	call  *call
	ended *workload.Done
}

// errStopped ends what a client does at the end of a run.
var errStopped = kv.Errorf(kv.KindCancelled, "the run has ended")

type clientKey struct{}

func (cl *appClient) wishes(yield func(wish) bool) {
	cl.yield = yield
	ctx := context.WithValue(context.Background(), clientKey{}, cl)
	for c := cl.n.c; !cl.stopped; {
		if c.opt.OnlyClient { // of every node in turn
			cl.number = (cl.number + 1) % (c.opt.Clients * c.opt.Nodes)
			cl.n = c.nodes[cl.number%c.opt.Nodes]
		}
		done := c.app.Do(ctx, cl.number)
		cl.ask(wish{ended: &done})
	}
}

// ask has a wish seen to.
func (cl *appClient) ask(w wish) {
	if !cl.stopped && !cl.yield(w) {
		cl.stopped = true
	}
}

// execute has the gateway do something, and gives what comes of it.
func (cl *appClient) execute(ca *call) txn.Done {
	ca.n = cl.n
	ca.then = func(e ended) {
		cl.reply = e.Done
		cl.resume()
	}
	cl.ask(wish{call: ca})
	if cl.stopped {
		return txn.Done{Failure: &msg.Failure{Kind: uint32(kv.KindCancelled), Text: errStopped.Error()}}
	}
	return cl.reply
}

func (cl *appClient) begin() {
	c := cl.n.c
	if c.ending {
		c.busy--
		return
	}
	cl.begun = c.Now()
	c.tally.begun++
	cl.resume()
}

// resume lets the application's code run up to its next wish.
func (cl *appClient) resume() {
	c := cl.n.c
	w, ok := cl.next()
	switch {
	case !ok:
	case w.call != nil:
		cl.n.queue(job{call: w.call})
	case w.ended != nil:
		d := w.ended
		var f *msg.Failure
		if d.Err != nil {
			f = &msg.Failure{Kind: uint32(kv.KindOf(d.Err)), Text: d.Err.Error()}
		}
		c.tally.ended(c.app.Kinds()[d.Kind].Reads, f, len(d.Reply.Aborts), c.Now()-cl.begun)
		cl.begin()
	default:
		c.At(c.Now()+w.pause, cl.resume)
	}
}

// stopApp ends the coroutines, wherever they are.
func (c *cluster) stopApp() {
	for _, cl := range c.apps {
		cl.stop()
	}
}
