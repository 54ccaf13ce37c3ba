package torture

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// reader is a read-only client.
type reader struct{ *worker }

// readKind is a way to read. run records everything but the end.
type readKind struct {
	name string
	run  func(*reader, context.Context) (*history.Pending, error)
}

var readKinds = []readKind{
	{"few keys", func(rd *reader, ctx context.Context) (*history.Pending, error) {
		return rd.readKeys(ctx, 2+rd.r.IntN(4))
	}},
	{"many keys", func(rd *reader, ctx context.Context) (*history.Pending, error) {
		return rd.readKeys(ctx, 6+rd.r.IntN(11))
	}},
	{"one key", func(rd *reader, ctx context.Context) (*history.Pending, error) { return rd.readKeys(ctx, 1) }},
	{"open", (*reader).viewSlowly},
	{"range", (*reader).readRange},
	{"scan", func(rd *reader, ctx context.Context) (*history.Pending, error) { return rd.recordScan(ctx) }},
}

// startReaders starts the read-only clients. Each uses one node, so that a fault of any node affects some
// of them.
func (r *Run) startReaders(t testing.TB, addrs []string) {
	if r.opt.Readers == 0 {
		return
	}
	r.Fault("the start")()
	var dbs []*client.DB
	for i := range addrs {
		dbs = append(dbs, proc.Open(t, addrs[i:i+1]).With(client.NoRetry()))
	}
	for i := range r.opt.Readers {
		rd := &reader{r.worker(r.opt.Clients+i, dbs[i%len(dbs)])}
		r.work.Go(rd.loop)
	}
}

// loop runs transactions until the run is stopped.
func (rd *reader) loop() {
	for !rd.run.stop.Load() {
		kind := readKinds[rd.r.IntN(len(readKinds))]
		ctx, cancel := context.WithTimeout(context.Background(), rd.run.opt.Timeout)
		from := time.Now()
		p, err := kind.run(rd, ctx)
		rd.endRead(p, err)
		cancel()
		rd.run.recordRead(readResult{kind.name, from, time.Now(), err, rd.report.Aborts})
		if err != nil {
			workload.Sleep(context.Background(), 20*time.Millisecond) // leave time to other clients
		}
	}
}

// drawKeys returns n different keys that updates write. In one of three cases it includes the two hottest,
// of which one is on the hot shard.
func (rd *reader) drawKeys(n int) (keys []string) {
	var all []string
	for _, kind := range []string{"r", "a", "b", "n"} {
		for i := range rd.run.opt.Keys {
			all = append(all, rd.run.key("%s/%d", kind, i))
		}
	}
	rd.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if rd.r.IntN(3) == 0 {
		for to, hot := range []string{"r/0", "r/1"} {
			at := slices.Index(all, rd.run.opt.Prefix+hot)
			all[to], all[at] = all[at], all[to]
		}
	}
	return all[:min(n, len(all))]
}

// readKeys reads n keys in one request.
func (rd *reader) readKeys(ctx context.Context, n int) (*history.Pending, error) {
	var steps []step
	for _, k := range rd.drawKeys(n) {
		steps = append(steps, get(k))
	}
	return rd.executeRead(ctx, steps...)
}

// readRange reads a part of the g keys and two other keys in one request.
func (rd *reader) readRange(ctx context.Context) (*history.Pending, error) {
	ks := rd.drawKeys(2)
	return rd.executeRead(ctx, get(ks[0]), scanRange(rd.run.keyRange("g/1", "g/6"), 1+rd.r.IntN(5)), get(ks[1]))
}

func (rd *reader) executeRead(ctx context.Context, steps ...step) (*history.Pending, error) {
	rd.count++
	p := rd.begin()
	err := rd.db.Execute(ctx, ops(steps)...)
	if err == nil {
		recordAll(p, steps, true)
	}
	return p, err
}

// viewSlowly reads one key after the other with pauses in between: none, some milliseconds, or in rare
// cases longer than the renewal interval of leases.
func (rd *reader) viewSlowly(ctx context.Context) (*history.Pending, error) {
	keys := rd.drawKeys(2 + rd.r.IntN(4))
	pause := time.Duration(rd.r.IntN(15)) * time.Millisecond
	if rd.r.IntN(200) == 0 {
		pause = time.Second / time.Duration(len(keys)-1)
	}
	rd.count++
	p := rd.begin()
	err := rd.db.View(ctx, func(ctx context.Context, v *client.View) error {
		for i, k := range keys {
			if i > 0 {
				workload.Sleep(ctx, pause)
			}
			e, ok, err := v.Entry(ctx, k)
			if err != nil {
				return err
			}
			observe(p, k, e, ok)
		}
		return nil
	})
	return p, err
}
