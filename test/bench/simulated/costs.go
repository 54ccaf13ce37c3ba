package simulated

import (
	"slices"
	"time"
)

// Costs are what work takes on a core.
type Costs struct {
	// Message is what a message between nodes takes at either end.
	Message time.Duration
	// Calls are what a machine's call takes, by kind; Other is for kinds that
	// are not there. Lines are instead of both where it depends on the size.
	Calls map[string]time.Duration
	Lines map[string]Line
	Other time.Duration
}

// Call is the cost of a call of a kind.
func (c *Costs) Call(kind string) time.Duration { return c.call(kind, 0) }

func (c *Costs) call(kind string, units float64) time.Duration {
	if l, ok := c.Lines[kind]; ok {
		return l.at(units)
	}
	if d, ok := c.Calls[kind]; ok {
		return d
	}
	return c.Other
}

// Faster gives the costs on cores that are so many times as fast.
func (c Costs) Faster(times float64) Costs {
	faster := func(d time.Duration) time.Duration { return time.Duration(float64(d) / times) }
	out := Costs{Message: faster(c.Message), Other: faster(c.Other), Calls: map[string]time.Duration{}}
	for kind, d := range c.Calls {
		out.Calls[kind] = faster(d)
	}
	for kind, l := range c.Lines {
		if out.Lines == nil {
			out.Lines = map[string]Line{}
		}
		out.Lines[kind] = Line{faster(l.Each), faster(l.PerUnit), l.Makes}
	}
	return out
}

// The kinds of calls that are no messages.
const (
	kindUpdate      = "Execute update"
	kindRead        = "Execute read"
	kindShardTick   = "shard's timer"
	kindGatewayTick = "gateway's timer"
	// kindSnapshot is a CommitRequest of a read-only transaction.
	kindSnapshot = "Park to read"
)

// meter takes down what calls take.
type meter struct{ took map[string][]sample }

func (m *meter) note(j *job, s sized, d time.Duration) {
	m.took[s.kind] = append(m.took[s.kind], sample{float64(j.brings()), s.units, d})
}

// clockCost is what reading the clock adds to a measured time.
func clockCost() time.Duration {
	var all [1001]time.Duration
	for i := range all {
		begin := time.Now()
		all[i] = time.Since(begin)
	}
	slices.Sort(all[:])
	return all[len(all)/2]
}
