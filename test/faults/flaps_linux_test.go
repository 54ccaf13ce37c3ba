package faults

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// flaps is how often links change their state, flapEvery how long that lasts at
// most, and afterFlaps how long it may take from the last change until every node
// is served by every other.
//
// When a link is well again, a connection that has fallen silent is given up after
// StallAfter (5 s); to close it may take as long again, if there is much to send; and
// the next attempt comes after RetryMax (1 s) at the latest, however many have failed
// before. That is 11 s; the rest is for machines that are busy with other things.
const (
	flaps      = 60
	flapEvery  = 100 * time.Millisecond
	afterFlaps = 30 * time.Second
)

// TestLinksFlapOften: links between three nodes, each direction by itself, change
// between lost and well again and again under load. However often that was, it does
// not take longer and longer until all are served: waits between attempts to connect
// are bounded, and begin anew with each success.
func TestLinksFlapOften(t *testing.T) {
	net, c := apart(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	at := c.KeysByNode(t, keysOf(30))
	var dbs []*client.DB
	for _, n := range c.Nodes() {
		dbs = append(dbs, proc.Open(t, []string{n.Addr}).With(client.NoRetry()))
	}
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
	run.Await(t, 50)
	// How long a link is lost is what this is about.
	ticks := time.NewTicker(flapEvery)
	defer ticks.Stop()
	for range flaps {
		from := r.IntN(len(net.Hosts()))
		to := (from + 1 + r.IntN(len(net.Hosts())-1)) % len(net.Hosts())
		net.Set(t, from, to, r.IntN(3) > 0)
		<-ticks.C
		ticks.Reset(time.Duration(1 + r.Int64N(int64(flapEvery))))
	}
	net.Heal(t)
	begin := time.Now()
	for _, db := range dbs {
		for node := range at {
			awaitServed(t, db, at[node][0])
		}
	}
	took := time.Since(begin)
	t.Logf("all served all %v after the last of %d changes", took.Round(time.Millisecond), flaps)
	if took > afterFlaps {
		t.Errorf("it took %v", took)
	}
	c.WaitConnected(t)
	run.Await(t, 100)
	for node := range at {
		forget(t, dbs[0], at[node][0])
	}
	run.Finish(t)
}

// awaitServed waits until a write of a key through a client succeeds.
func awaitServed(t *testing.T, db *client.DB, key string) {
	t.Helper()
	var last error
	proc.Until(t, "a write is served", func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		last = db.Put(ctx, key, nil)
		return last == nil
	}, func() string { return last.Error() })
}
