package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/history"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// worker is a client. It runs one transaction after the other.
type worker struct {
	run    *Run
	number int
	db     *client.DB
	rec    *history.Client
	r      *rand.Rand
	count  int
}

// live is the life of a client.
func (w *worker) live() {
	kinds := []func(context.Context){w.oneShot, w.couple, w.add, w.update, w.view, w.scan, w.single, w.rangeWork, w.refused}
	for !w.run.stop.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), w.run.opt.Timeout)
		kinds[w.r.IntN(len(kinds))](ctx)
		cancel()
	}
}

// value makes a value that is new for every key.
func (w *worker) value() []byte {
	w.count++
	return fmt.Appendf(nil, "%d.%d", w.number, w.count)
}

func (w *worker) key(kind string) []byte {
	return w.run.name("%s/%d", kind, w.r.IntN(w.run.opt.Keys))
}

// keys draws n different keys of a kind.
func (w *worker) keys(kind string, n int) [][]byte {
	var out [][]byte
	for _, i := range w.r.Perm(w.run.opt.Keys)[:n] {
		out = append(out, w.run.name("%s/%d", kind, i))
	}
	return out
}

// step is an operation with what to record of it. A result is nil when it is
// not known.
type step struct {
	op   client.Op
	note func(*history.Pending, *client.Result)
}

func get(k []byte) step { return observe(client.Get(k), k) }

// observe records what a result says of a key.
func observe(op client.Op, k []byte) step {
	return step{op, func(p *history.Pending, r *client.Result) {
		switch {
		case r == nil:
		case !r.Found:
			p.ReadAbsent(k)
		case r.Type == client.TypeCounter:
			p.ReadNumber(k, r.Number)
		default:
			p.Read(k, r.Value)
		}
	}}
}

func put(k, v []byte) step {
	return step{client.Put(k, v), func(p *history.Pending, _ *client.Result) { p.Write(k, v) }}
}

func del(k []byte) step {
	return step{client.Delete(k), func(p *history.Pending, r *client.Result) {
		saw := history.SawNothing
		if r != nil {
			saw = history.SawAbsent
			if r.Found {
				saw = history.SawExists
			}
		}
		p.Delete(k, saw)
	}}
}

func (w *worker) addTo(k []byte, delta int64, tell bool) step {
	op := client.Add(k, delta)
	if tell {
		op = client.AddGet(k, delta)
	}
	return step{op, func(p *history.Pending, r *client.Result) {
		if tell && r != nil {
			p.AddGet(k, delta, r.Number)
			return
		}
		p.Add(k, delta)
	}}
}

func scanRange(start, end []byte, limit int) step {
	return step{client.ScanRange(start, end, limit), func(p *history.Pending, r *client.Result) {
		if r != nil {
			p.Scan(start, end, limit, pairs(r.Pairs))
		}
	}}
}

func pairs(in []client.Pair) (out []history.Pair) {
	for _, p := range in {
		hp := history.Pair{Key: string(p.Key), Saw: history.SawValue, Value: string(p.Value)}
		if p.Type == client.TypeCounter {
			hp.Saw, hp.Value, hp.Number = history.SawNumber, "", p.Number
		}
		out = append(out, hp)
	}
	return out
}

// execute runs steps as a one-shot transaction and records it.
func (w *worker) execute(ctx context.Context, steps ...step) {
	ops := make([]client.Op, len(steps))
	for i := range steps {
		ops[i] = steps[i].op
	}
	p := w.begin()
	out, err := w.db.Execute(ctx, ops...)
	known := err == nil && !out.ResultsLost
	for i := range steps {
		var r *client.Result
		if known {
			r = &out.Results[i]
		}
		steps[i].note(p, r)
	}
	if err == nil {
		p.SetID([]byte(out.ID.String()))
	}
	w.end(p, err)
}

func (w *worker) begin() *history.Pending {
	return w.rec.Begin(fmt.Appendf(nil, "%d.%d", w.number, w.count))
}

// end records how a transaction ended, and own are errors that it may end with.
func (w *worker) end(p *history.Pending, err error, own ...kv.Kind) workload.Outcome {
	if e, ok := errors.AsType[*client.Error](err); ok && !e.ID.IsZero() {
		p.SetID([]byte(e.ID.String()))
	}
	o := workload.OutcomeOf(err)
	switch o {
	case workload.Committed:
		p.Commit()
	case workload.Failed:
		p.Fail()
	default:
		p.Unknown()
	}
	w.run.note(o, err, own...)
	return o
}

// readAll reads every key in one transaction, recorded as well, and gives the
// counters.
func (r *Run) readAll(t testing.TB) map[string]int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.Patience)
	defer cancel()
	rec := r.rec.Client(r.opt.Clients + r.opt.Readers)
	p := rec.Begin([]byte("final"))
	counters := map[string]int64{}
	start, end := r.bounds()
	var all []client.Pair
	for pair, err := range r.dbs[0].Scan(ctx, start, end, client.ScanOptions{}) {
		if err != nil {
			t.Fatalf("reading everything: %v (kind %v)", err, kv.KindOf(err))
		}
		all = append(all, pair)
		if pair.Type == client.TypeCounter {
			counters[string(pair.Key)] = pair.Number
		}
	}
	p.Scan(start, end, 0, pairs(all))
	p.Commit()
	return counters
}
