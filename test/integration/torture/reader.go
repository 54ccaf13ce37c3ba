package torture

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// reader is a client that only reads.
type reader struct{ *worker }

// readKind is a way to read. It records what it saw up to the end.
type readKind struct {
	name string
	run  func(*reader, context.Context) (*history.Pending, error)
}

var readKinds = []readKind{
	{"few keys", func(rd *reader, ctx context.Context) (*history.Pending, error) {
		return rd.once(ctx, 2+rd.r.IntN(4))
	}},
	{"many keys", func(rd *reader, ctx context.Context) (*history.Pending, error) {
		return rd.once(ctx, 6+rd.r.IntN(11))
	}},
	{"one key", func(rd *reader, ctx context.Context) (*history.Pending, error) { return rd.once(ctx, 1) }},
	{"open", (*reader).look},
	{"range", (*reader).rangeOnce},
	{"scan", func(rd *reader, ctx context.Context) (*history.Pending, error) { return rd.scanned(ctx) }},
}

// startReaders begins to run the clients that only read. Each stays with one
// node, so that whatever is done to a node is done to some of them.
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
		r.work.Go(rd.live)
	}
}

// live is the life of a reader.
func (rd *reader) live() {
	for !rd.run.stop.Load() {
		kind := readKinds[rd.r.IntN(len(readKinds))]
		ctx, cancel := context.WithTimeout(context.Background(), rd.run.opt.Timeout)
		from := time.Now()
		p, err := kind.run(rd, ctx)
		rd.readEnd(p, err)
		cancel()
		rd.run.readEnded(readEnd{kind.name, from, time.Now(), err, rd.report.Aborts})
		if err != nil {
			workload.Sleep(context.Background(), 20*time.Millisecond) // others are to do something, too
		}
	}
}

// draw gives n different keys of those that others write together. Each third
// time the hottest two are among them: one is on the hot shard, one is not.
func (rd *reader) draw(n int) (keys []string) {
	var all []string
	for _, kind := range []string{"r", "a", "b", "n"} {
		for i := range rd.run.opt.Keys {
			all = append(all, rd.run.name("%s/%d", kind, i))
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

// once reads n keys at once.
func (rd *reader) once(ctx context.Context, n int) (*history.Pending, error) {
	var steps []step
	for _, k := range rd.draw(n) {
		steps = append(steps, get(k))
	}
	return rd.executeRead(ctx, steps...)
}

// rangeOnce reads a part of the keys that come and go, and two others, at once.
func (rd *reader) rangeOnce(ctx context.Context) (*history.Pending, error) {
	ks := rd.draw(2)
	return rd.executeRead(ctx, get(ks[0]), scanRange(rd.run.between("g/1", "g/6"), 1+rd.r.IntN(5)), get(ks[1]))
}

func (rd *reader) executeRead(ctx context.Context, steps ...step) (*history.Pending, error) {
	rd.count++
	p := rd.begin()
	err := rd.db.Execute(ctx, ops(steps)...)
	if err == nil {
		noteAll(p, steps, true)
	}
	return p, err
}

// look reads one key after the other and thinks in between: not at all, for
// some milliseconds, or, now and then, for longer than it takes until a lease
// is renewed.
func (rd *reader) look(ctx context.Context) (*history.Pending, error) {
	keys := rd.draw(2 + rd.r.IntN(4))
	think := time.Duration(rd.r.IntN(15)) * time.Millisecond
	if rd.r.IntN(200) == 0 {
		think = time.Second / time.Duration(len(keys)-1)
	}
	rd.count++
	p := rd.begin()
	err := rd.db.View(ctx, func(ctx context.Context, v *client.View) error {
		for i, k := range keys {
			if i > 0 {
				workload.Sleep(ctx, think)
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
