package simulated

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
	"github.com/linchpindb/linchpin/test/world"
)

// cluster is one run.
type cluster struct {
	world.Time
	opt    Options
	router *hotshard.Router
	source *workload.Source
	nodes  []*node
	shards []*shell

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
	wallBase = world.WallBase
)

// run runs all events up to an instant.
func (c *cluster) run(until int64) {
	for c.Next() <= until {
		c.RunNext()
	}
	c.AdvanceTo(until)
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
	c.At(c.Now()+int64(c.opt.Delay), func() { to.queue(job{env: env, far: true}) })
}

const never = int64(math.MaxInt64)
