package torture

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/history"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// reader is a client that only reads.
type reader struct{ worker }

// readKind is a way to read. It records what it saw up to the end, and gives
// the reasons for which the node began it anew.
type readKind struct {
	name string
	run  func(*reader, context.Context) (p *history.Pending, aborts []string, err error)
}

var readKinds = []readKind{
	{"few keys", func(rd *reader, ctx context.Context) (*history.Pending, []string, error) {
		return rd.once(ctx, 2+rd.r.IntN(4))
	}},
	{"many keys", func(rd *reader, ctx context.Context) (*history.Pending, []string, error) {
		return rd.once(ctx, 6+rd.r.IntN(11))
	}},
	{"one key", func(rd *reader, ctx context.Context) (*history.Pending, []string, error) { return rd.once(ctx, 1) }},
	{"open", (*reader).look},
	{"range", (*reader).rangeOnce},
	{"scan", func(rd *reader, ctx context.Context) (*history.Pending, []string, error) {
		p, err := rd.scanned(ctx)
		return p, nil, err
	}},
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
		dbs = append(dbs, proc.OpenOld(t, addrs[i:i+1], client.WithRetries(false)))
	}
	for i := range r.opt.Readers {
		n := r.opt.Clients + i
		rd := &reader{worker{run: r, number: n, db: dbs[i%len(dbs)], rec: r.rec.Client(n), r: rand.New(rand.NewPCG(r.opt.Seed, uint64(n)))}}
		r.work.Go(rd.live)
	}
}

// live is the life of a reader.
func (rd *reader) live() {
	for !rd.run.stop.Load() {
		kind := readKinds[rd.r.IntN(len(readKinds))]
		ctx, cancel := context.WithTimeout(context.Background(), rd.run.opt.Timeout)
		from := time.Now()
		p, aborts, err := kind.run(rd, ctx)
		rd.readEnd(p, err)
		cancel()
		rd.run.readEnded(readEnd{kind.name, from, time.Now(), err, aborts})
		if err != nil {
			workload.Sleep(context.Background(), 20*time.Millisecond) // others are to do something, too
		}
	}
}

// draw gives n different keys of those that others write together. Each third
// time the hottest two are among them: one is on the hot shard, one is not.
func (rd *reader) draw(n int) (keys [][]byte) {
	var all [][]byte
	for _, kind := range []string{"r", "a", "b", "n"} {
		for i := range rd.run.opt.Keys {
			all = append(all, rd.run.name("%s/%d", kind, i))
		}
	}
	rd.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if rd.r.IntN(3) == 0 {
		for to, hot := range []string{"r/0", "r/1"} {
			at := slices.IndexFunc(all, func(k []byte) bool { return string(k) == rd.run.opt.Prefix+hot })
			all[to], all[at] = all[at], all[to]
		}
	}
	return all[:min(n, len(all))]
}

// once reads n keys at once.
func (rd *reader) once(ctx context.Context, n int) (*history.Pending, []string, error) {
	var steps []step
	for _, k := range rd.draw(n) {
		steps = append(steps, get(k))
	}
	return rd.executeRead(ctx, steps...)
}

// rangeOnce reads a part of the keys that come and go, and two others, at once.
func (rd *reader) rangeOnce(ctx context.Context) (*history.Pending, []string, error) {
	ks := rd.draw(2)
	return rd.executeRead(ctx, get(ks[0]), scanRange(rd.run.name("g/1"), rd.run.name("g/6"), 1+rd.r.IntN(5)), get(ks[1]))
}

func (rd *reader) executeRead(ctx context.Context, steps ...step) (*history.Pending, []string, error) {
	ops := make([]client.Op, len(steps))
	for i := range steps {
		ops[i] = steps[i].op
	}
	rd.count++
	p := rd.begin()
	out, err := rd.db.Execute(ctx, ops...)
	if err != nil {
		return p, nil, err
	}
	for i := range steps {
		steps[i].note(p, &out.Results[i])
	}
	return p, out.Aborts, nil
}

// look reads one key after the other and thinks in between: not at all, for
// some milliseconds, or, now and then, for longer than it takes until a lease
// is renewed.
func (rd *reader) look(ctx context.Context) (*history.Pending, []string, error) {
	keys := rd.draw(2 + rd.r.IntN(4))
	think := time.Duration(rd.r.IntN(15)) * time.Millisecond
	if rd.r.IntN(200) == 0 {
		think = time.Second / time.Duration(len(keys)-1)
	}
	rd.count++
	p := rd.begin()
	err := rd.db.View(ctx, func(ro *client.ReadTx) error {
		for i, k := range keys {
			if i > 0 {
				workload.Sleep(ctx, think)
			}
			v, err := ro.Get(k)
			if err != nil {
				return err
			}
			noteValue(p, k, v)
		}
		return nil
	})
	return p, nil, err
}
