package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

const (
	// baseline is the time before a fault in which the rate is measured that it is compared with.
	baseline = time.Second
	// backWithin bounds a failover.
	backWithin = 20 * time.Second
	// afterDrain is for how long after the end of a drained process requests count.
	afterDrain = 500 * time.Millisecond
)

// killed is what a kill did.
type killed struct {
	node  kv.NodeID
	shard kv.ShardID
	// first is the time from the kill to the first commit on the shard, all to that on the last of the shards that the
	// process led.
	first, all time.Duration
	// others is the longest request on shards that other processes lead, the one on shard on; before is the longest there
	// in the second before the kill. kept is their rate as a share of that before. All are zero if there are none.
	others, before time.Duration
	on             kv.ShardID
	kept           float64
	// whole is the time from the start of the process until the cluster was whole.
	whole    time.Duration
	failures []error
}

// kill kills the leader of the hot shard, or of the ordinary shard with number n and the next ones.
func (f *failoverOptions) kill(ctx context.Context, c *failoverCluster, hot bool, n int) (*killed, error) {
	l, leaders, err := f.underLoad(ctx, c, c.counters, nil, baseline)
	if err != nil {
		return nil, err
	}
	shard := c.router.HotShard()
	if !hot {
		shard = ordinary(leaders, n)
	}
	victim := leaders[shard]
	sent, ended := c.kill(victim)
	l.probe(victim, shard)
	err = l.awaitCommits(victim, ended, ledBy(leaders, victim), backWithin)
	back := time.Now()
	k := &killed{node: c.ids[victim], shard: shard}
	if err == nil {
		k.whole, err = c.startAgain(ctx, victim)
	}
	err = errors.Join(err, l.end())
	if err != nil {
		return nil, err
	}
	survivors := l.done.of(func(r *request) bool { return r.client != victim })
	k.count(survivors, leaders, victim, sent, ended, back)
	k.failures = l.done.errors()
	return k, c.counters.check(ctx, c.control[victim])
}

// underLoad starts the load on a cluster that is whole, and returns the leaders after the time in which the rate is
// measured: shards return to their nodes meanwhile.
func (f *failoverOptions) underLoad(ctx context.Context, c *failoverCluster, k *counters, rec *history.Recorder,
	measured time.Duration) (*failoverLoad, []int, error) {
	if _, err := c.awaitWhole(ctx); err != nil {
		return nil, nil, err
	}
	l, err := f.startLoad(ctx, c, k, rec)
	if err != nil {
		return nil, nil, err
	}
	workload.Sleep(ctx, f.warm+measured)
	leaders, err := c.awaitWhole(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.end())
	}
	return l, leaders, nil
}

// count counts the requests of the clients of other nodes.
func (k *killed) count(rs requests, leaders []int, victim int, sent, ended, back time.Time) {
	for _, s := range ledBy(leaders, victim) {
		if at, ok := rs.firstCommit(s, ended); ok {
			k.all = max(k.all, at.Sub(sent))
			if s == k.shard {
				k.first = at.Sub(sent)
			}
		}
	}
	others := rs.of(func(r *request) bool { return r.shard != severalShards && leaders[r.shard] != victim })
	if r := others.longest(sent, back); r != nil {
		k.others, k.on = r.took(), r.shard
	}
	k.before = others.endedBy(sent).longestTook(sent.Add(-baseline), sent)
	if before := others.perSecond(sent.Add(-baseline), sent); before > 0 {
		k.kept = others.perSecond(sent, back) / before
	}
}

// ordinary returns an ordinary shard that another process leads than the hot one, if there is one: the first from n on.
func ordinary(leaders []int, n int) kv.ShardID {
	hot := len(leaders) - 1
	for i := range hot {
		if s := (n + i) % hot; leaders[s] != leaders[hot] {
			return kv.ShardID(s)
		}
	}
	return kv.ShardID(n % hot)
}

// ledBy are the shards that a process leads.
func ledBy(leaders []int, process int) (shards []kv.ShardID) {
	for s, at := range leaders {
		if at == process {
			shards = append(shards, kv.ShardID(s))
		}
	}
	return shards
}

// startAgain starts a process that has ended, and returns after what time the cluster was whole.
func (c *failoverCluster) startAgain(ctx context.Context, i int) (time.Duration, error) {
	begin := time.Now()
	if err := c.start(ctx, i); err != nil {
		return 0, err
	}
	_, err := c.awaitWhole(ctx)
	return time.Since(begin), err
}

// drained is what a drain did.
type drained struct {
	node kv.NodeID
	led  int
	// others is the longest request of the clients of other nodes, own that of the clients of the drained one, and before
	// that of all in the second before the drain.
	others, own, before time.Duration
	// took is the time until the process had ended.
	took     time.Duration
	failures []error
}

// drain drains the node that leads the hot shard, or the one that leads most ordinary shards beside it. Every second
// time the process is stopped.
func (f *failoverOptions) drain(ctx context.Context, c *failoverCluster, n int) (*drained, error) {
	l, leaders, err := f.underLoad(ctx, c, c.counters, nil, baseline)
	if err != nil {
		return nil, err
	}
	victim := leaders[c.router.HotShard()]
	if n%4 > 1 {
		victim = leaders[ordinary(leaders, n)]
	}
	begin := time.Now()
	if n%2 == 0 {
		err = admin.New(c.control[victim]).Drain(ctx, 0, nil)
	}
	err = errors.Join(err, c.nodes[victim].stop())
	ended := time.Now()
	workload.Sleep(ctx, afterDrain)
	d := &drained{node: c.ids[victim], led: len(ledBy(leaders, victim)), took: ended.Sub(begin)}
	until := time.Now()
	if err == nil {
		_, err = c.startAgain(ctx, victim)
	}
	err = errors.Join(err, l.end())
	if err != nil {
		return nil, err
	}
	own := func(r *request) bool { return r.client == victim }
	d.own = l.done.of(own).longestTook(begin, until)
	d.others = l.done.of(func(r *request) bool { return !own(r) }).longestTook(begin, until)
	d.before = l.done.endedBy(begin).longestTook(begin.Add(-baseline), begin)
	d.failures = l.done.errors()
	return d, c.counters.check(ctx, c.control[victim])
}

// wiped is what an emptied disk did.
type wiped struct {
	node kv.NodeID
	// whole is the time from the start on the empty disk until the node was a replica of all shards.
	whole time.Duration
	// before and meanwhile are rates of the load, a second.
	before, meanwhile float64
	checked           int
	checking          time.Duration
	failures          []error
}

// wipe kills a process, removes its directory and starts it when the other nodes lead all shards.
func (f *failoverOptions) wipe(ctx context.Context, c *failoverCluster, counted *counters, victim int) (*wiped, error) {
	var text bytes.Buffer
	rec, err := history.NewRecorder(&text, history.Meta{Note: "bench failover"})
	if err != nil {
		return nil, err
	}
	l, leaders, err := f.underLoad(ctx, c, counted, rec, f.measure)
	if err != nil {
		return nil, err
	}
	sent, ended := c.kill(victim)
	x := &wiped{node: c.ids[victim]}
	err = l.awaitCommits(victim, ended, ledBy(leaders, victim), backWithin)
	if err == nil {
		err = c.empty(victim)
	}
	begin := time.Now()
	if err == nil {
		x.whole, err = c.startAgain(ctx, victim)
	}
	err = errors.Join(err, l.end(), rec.Close())
	if err != nil {
		return nil, err
	}
	x.before, x.meanwhile = l.done.perSecond(sent.Add(-f.measure), sent), l.done.perSecond(begin, begin.Add(x.whole))
	x.failures = l.done.errors()
	if err := x.check(text.Bytes()); err != nil {
		return nil, err
	}
	return x, counted.check(ctx, c.control[victim])
}

// check checks the history.
func (x *wiped) check(text []byte) error {
	h, err := history.ReadAll(bytes.NewReader(text))
	if err != nil {
		return err
	}
	begin := time.Now()
	v := history.Check(h)
	x.checked, x.checking = len(h.Txns), time.Since(begin)
	if !v.OK() {
		return fmt.Errorf("the history is not strictly serializable: %v", v)
	}
	return nil
}
