package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// requestWithin bounds a request, far beyond what a failover takes: a request that reaches it has failed.
const requestWithin = 30 * time.Second

// counters are keys by shard, and how many increments of each were acknowledged. Those of ordinary shards in shared are
// incremented together with one of the hot shard: an increment that is prepared when the hot shard's leader dies locks
// its key until the next one decides. All of the hot shard are incremented alone as well.
type counters struct {
	keys, shared [][]string
	mu           sync.Mutex
	acknowledged map[string]int64
}

// draw returns a random counter of a shard, for requests that need only that one, or also others.
func (k *counters) draw(s kv.ShardID, alone bool) string {
	from := k.shared[s]
	if alone {
		from = k.keys[s]
	}
	return from[rand.IntN(len(from))]
}

func (k *counters) acknowledge(keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		k.acknowledged[key]++
	}
}

// check compares the counters with what was acknowledged, when no request is in flight.
func (k *counters) check(ctx context.Context, db *client.DB) error {
	var keys []string
	var ops []client.Op
	var got []*client.Result[int64]
	for _, key := range slices.Concat(slices.Concat(k.keys, k.shared)...) { // those of the hot shard twice
		op := client.NewCounter(key).GetOp()
		keys, ops, got = append(keys, key), append(ops, op), append(got, op)
	}
	if err := db.Execute(ctx, ops...); err != nil {
		return fmt.Errorf("reading the counters: %w", err)
	}
	found := map[string]int64{}
	for i, key := range keys {
		found[key] = got[i].Value()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if lost, excess := lost(k.acknowledged, found); lost > 0 || excess > 0 {
		return fmt.Errorf("%d acknowledged increments are lost, and %d have happened that were not acknowledged: want %v, "+
			"have %v", lost, excess, k.acknowledged, found)
	}
	return nil
}

// failoverLoad is the load of one fault: clients in closed loops. Each prefers one node and knows all.
type failoverLoad struct {
	ctx      context.Context
	counters *counters
	dbs      [3]*client.DB
	// rec records all requests; nil to record none.
	rec  *history.Recorder
	stop atomic.Bool
	wg   sync.WaitGroup

	mu   sync.Mutex
	done requests
	// latest is the latest begin of an increment that was acknowledged, by the preferred node and the shard.
	latest [3][]time.Time
	// fatal are outcomes that remained unknown.
	fatal error
}

// startLoad starts the clients.
func (f *failoverOptions) startLoad(ctx context.Context, c *failoverCluster, k *counters,
	rec *history.Recorder) (*failoverLoad, error) {
	l := &failoverLoad{ctx: ctx, counters: k, rec: rec}
	for i := range l.dbs {
		db, err := client.Open(ctx, slices.Concat(c.addrs[i:], c.addrs[:i]))
		if err != nil {
			return nil, errors.Join(err, l.end())
		}
		l.dbs[i], l.latest[i] = db, make([]time.Time, len(k.keys))
	}
	hot := c.router.HotShard()
	number := 0
	start := func(i int, pause time.Duration, next func(*failoverClient)) {
		x := &failoverClient{load: l, number: i}
		if rec != nil {
			x.rec = rec.Client(number)
		}
		number++
		l.wg.Go(func() {
			for !l.stop.Load() && workload.Sleep(ctx, pause) {
				next(x)
			}
		})
	}
	for i := range l.dbs {
		for range f.hotClients {
			start(i, 0, func(x *failoverClient) { x.increment(hot) })
		}
		for s := range hot {
			start(i, f.pause, func(x *failoverClient) { x.increment(s) })
		}
		start(i, f.pause, func(x *failoverClient) { x.increment(hot, kv.ShardID(rand.IntN(int(hot)))) })
		start(i, f.pause, func(x *failoverClient) { x.read(kv.ShardID(rand.IntN(int(hot) + 1))) })
		start(i, f.pause, func(x *failoverClient) { x.read(hot, kv.ShardID(rand.IntN(int(hot)))) })
	}
	return l, nil
}

// end ends the clients when their requests have ended.
func (l *failoverLoad) end() error {
	l.stop.Store(true)
	l.wg.Wait()
	for _, db := range l.dbs {
		if db != nil {
			_ = db.Close()
		}
	}
	return errors.Join(l.fatal, l.ctx.Err())
}

// probe has a client of each node but one increment a shard, from now on until that succeeds once.
func (l *failoverLoad) probe(but int, s kv.ShardID) {
	for i := range l.dbs {
		if i != but {
			l.wg.Go(func() { (&failoverClient{load: l, number: i}).increment(s) })
		}
	}
}

// awaitCommits waits until an increment on each of some shards, which began after a time, was acknowledged to a client
// that does not prefer the process but. It returns which shards have none after a time limit.
func (l *failoverLoad) awaitCommits(but int, since time.Time, shards []kv.ShardID, within time.Duration) error {
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	for begin := time.Now(); ; <-t.C {
		l.mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(shards), func(s kv.ShardID) bool {
			for i := range l.latest {
				if i != but && !l.latest[i][s].Before(since) {
					return true
				}
			}
			return false
		})
		l.mu.Unlock()
		switch {
		case len(missing) == 0:
			return nil
		case l.ctx.Err() != nil:
			return l.ctx.Err()
		case time.Since(begin) > within:
			return fmt.Errorf("no commit on %v within %v after the fault", missing, within)
		}
	}
}

// failoverClient is one client of a load.
type failoverClient struct {
	load *failoverLoad
	// number is the node that it prefers.
	number int
	// rec is nil if nothing is recorded.
	rec *history.Client
}

// increment increments a counter of each of some shards. A single one returns the sum.
func (x *failoverClient) increment(shards ...kv.ShardID) {
	var keys []string
	var ops []client.Op
	var sum *client.Result[int64]
	for _, s := range shards {
		keys = append(keys, x.load.counters.draw(s, len(shards) == 1))
		ops = append(ops, client.NewCounter(keys[len(keys)-1]).AddOp(1))
	}
	r := request{client: x.number, shard: severalShards, increments: true}
	if len(shards) == 1 {
		sum = client.NewCounter(keys[0]).AddGetOp(1)
		r.shard, ops = shards[0], []client.Op{sum}
	}
	p := x.begin()
	committed := x.execute(&r, ops)
	if committed {
		x.load.counters.acknowledge(keys)
	}
	for _, k := range keys {
		switch {
		case p == nil:
		case sum != nil && r.err == nil:
			p.AddGet([]byte(k), 1, sum.Value())
		default:
			p.Add([]byte(k), 1)
		}
	}
	end(p, committed)
}

// read reads a counter of each of some shards.
func (x *failoverClient) read(shards ...kv.ShardID) {
	r := request{client: x.number, shard: severalShards}
	if len(shards) == 1 {
		r.shard = shards[0]
	}
	var ops []client.Op
	var keys []string
	var got []*client.Result[client.Entry]
	for _, s := range shards {
		keys = append(keys, x.load.counters.draw(s, len(shards) == 1))
		got = append(got, client.EntryOp(keys[len(keys)-1]))
		ops = append(ops, got[len(got)-1])
	}
	p := x.begin()
	committed := x.execute(&r, ops)
	for i, k := range keys {
		switch op := got[i]; {
		case p == nil || !committed:
		case op.Found():
			p.ReadNumber([]byte(k), op.Value().Number)
		default:
			p.ReadAbsent([]byte(k))
		}
	}
	end(p, committed)
}

func (x *failoverClient) begin() *history.Pending {
	if x.rec == nil {
		return nil
	}
	return x.rec.Begin(nil)
}

func end(p *history.Pending, committed bool) {
	switch {
	case p == nil:
	case committed:
		p.Commit()
	default:
		p.Fail()
	}
}

// execute runs a request and records it. It reports whether it has committed.
func (x *failoverClient) execute(r *request, ops []client.Op) (committed bool) {
	l := x.load
	ctx, cancel := context.WithTimeout(l.ctx, requestWithin)
	defer cancel()
	r.begin = time.Now()
	r.err = l.dbs[x.number].Execute(ctx, ops...)
	r.end = time.Now()
	committed, fatal := l.resolve(x.number, r.err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, *r)
	l.fatal = errors.Join(l.fatal, fatal)
	if r.err == nil && r.shard != severalShards && r.increments && r.begin.After(l.latest[x.number][r.shard]) {
		l.latest[x.number][r.shard] = r.begin
	}
	return committed
}

// resolve reports whether a request has committed; if that is not known, it queries the outcome by the id.
func (l *failoverLoad) resolve(i int, err error) (committed bool, fatal error) {
	if err == nil {
		return true, nil
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Outcome != client.OutcomeUnknown {
		return ok && e.Outcome == client.Committed, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, wholeWithin)
	defer cancel()
	for {
		outcome, failed := l.dbs[i].Outcome(ctx, e.TxID)
		if failed == nil {
			return outcome == client.Committed, nil
		}
		if !workload.Sleep(ctx, 50*time.Millisecond) {
			return false, fmt.Errorf("the outcome of %v remains unknown: %w", e.TxID, failed)
		}
	}
}
