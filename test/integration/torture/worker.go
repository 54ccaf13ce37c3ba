package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// worker is a client. It runs one transaction after the other.
type worker struct {
	run    *Run
	number int
	// report is filled by each call of db.
	db     *client.DB
	report client.Report
	rec    *history.Client
	r      *rand.Rand
	count  int
}

// worker creates a client with a number, which does not run yet.
func (r *Run) worker(number int, db *client.DB) *worker {
	w := &worker{run: r, number: number, rec: r.rec.Client(number), r: rand.New(rand.NewPCG(r.opt.Seed, uint64(number)))}
	w.db = db.With(client.ReportTo(&w.report))
	return w
}

// loop runs transactions until the run is stopped.
func (w *worker) loop() {
	kinds := []func(context.Context){w.oneShot, w.couple, w.add, w.update, w.view, w.scan,
		w.singleKey, w.rangeOps, w.failCondition}
	for !w.run.stop.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), w.run.opt.Timeout)
		kinds[w.r.IntN(len(kinds))](ctx)
		cancel()
	}
}

// value returns a unique value.
func (w *worker) value() []byte {
	w.count++
	return fmt.Appendf(nil, "%d.%d", w.number, w.count)
}

func (w *worker) key(kind string) string {
	return w.run.key("%s/%d", kind, w.r.IntN(w.run.opt.Keys))
}

// keys returns n different keys of a kind.
func (w *worker) keys(kind string, n int) (out []string) {
	for _, i := range w.r.Perm(w.run.opt.Keys)[:n] {
		out = append(out, w.run.key("%s/%d", kind, i))
	}
	return out
}

// step is an operation. record records it; the result is unknown if the transaction has failed or its
// results are lost.
type step struct {
	op     client.Op
	record func(p *history.Pending, known bool)
}

func ops(steps []step) []client.Op {
	out := make([]client.Op, len(steps))
	for i := range steps {
		out[i] = steps[i].op
	}
	return out
}

func recordAll(p *history.Pending, steps []step, known bool) {
	for _, s := range steps {
		s.record(p, known)
	}
}

// observe records the result of a read.
func observe(p *history.Pending, k string, e client.Entry, ok bool) {
	switch {
	case !ok:
		p.ReadAbsent([]byte(k))
	case e.Type == client.TypeCounter:
		p.ReadNumber([]byte(k), e.Number)
	default:
		p.Read([]byte(k), e.Value)
	}
}

func get(k string) step {
	op := client.EntryOp(k)
	return step{op, func(p *history.Pending, known bool) {
		if known {
			observe(p, k, op.Value(), op.Found())
		}
	}}
}

func put(k string, v []byte) step {
	return step{client.PutOp(k, v), func(p *history.Pending, _ bool) { p.Write([]byte(k), v) }}
}

func del(k string) step {
	op := client.DeleteOp(k)
	return step{op, func(p *history.Pending, known bool) {
		seen := history.SawNothing
		switch {
		case known && op.Value():
			seen = history.SawExists
		case known:
			seen = history.SawAbsent
		}
		p.Delete([]byte(k), seen)
	}}
}

func addTo(k string, delta int64) step {
	return step{client.NewCounter(k).AddOp(delta), func(p *history.Pending, _ bool) { p.Add([]byte(k), delta) }}
}

func addGet(k string, delta int64) step {
	op := client.NewCounter(k).AddGetOp(delta)
	return step{op, func(p *history.Pending, known bool) {
		if known {
			p.AddGet([]byte(k), delta, op.Value())
			return
		}
		p.Add([]byte(k), delta)
	}}
}

func scanRange(r client.Range, limit int) step {
	op := client.ScanOp(r, limit)
	return step{op, func(p *history.Pending, known bool) {
		if known {
			p.Scan([]byte(r.Start), []byte(r.End), limit, pairs(op.Value().Entries))
		}
	}}
}

func deleteRange(r client.Range) step {
	op := client.DeleteRangeOp(r)
	return step{op, func(p *history.Pending, known bool) {
		if known {
			p.DeleteRangeCount([]byte(r.Start), []byte(r.End), int64(op.Value()))
			return
		}
		p.DeleteRange([]byte(r.Start), []byte(r.End))
	}}
}

func pairs(in []client.Entry) (out []history.Pair) {
	for _, e := range in {
		hp := history.Pair{Key: e.Key, Saw: history.SawValue, Value: string(e.Value)}
		if e.Type == client.TypeCounter {
			hp.Saw, hp.Value, hp.Number = history.SawNumber, "", e.Number
		}
		out = append(out, hp)
	}
	return out
}

// execute runs steps as a one-shot transaction and records it.
func (w *worker) execute(ctx context.Context, steps ...step) workload.Outcome {
	p := w.begin()
	err := w.db.Execute(ctx, ops(steps)...)
	recordAll(p, steps, err == nil)
	if client.KindOf(err) == client.KindResultsLost {
		err = nil // it has committed
	}
	return w.end(p, err)
}

func (w *worker) begin() *history.Pending {
	return w.rec.Begin(fmt.Appendf(nil, "%d.%d", w.number, w.count))
}

// end records the outcome of a transaction. own are kinds of errors that are expected.
func (w *worker) end(p *history.Pending, err error, own ...kv.Kind) workload.Outcome {
	if id := w.report.TxID; !id.IsZero() {
		p.SetID([]byte(id.String()))
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
	w.run.recordOutcome(o, err, own...)
	return o
}

// readAll reads every key in one recorded transaction, and returns the counters.
func (r *Run) readAll(t testing.TB) map[string]int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	rec := r.rec.Client(r.opt.Clients + r.opt.Readers)
	p := rec.Begin([]byte("final"))
	counters := map[string]int64{}
	keys := client.Prefix(r.opt.Prefix)
	var all []client.Entry
	for e, err := range r.dbs[0].Scan(ctx, keys) {
		if err != nil {
			t.Fatalf("reading all keys: %v (kind %v)", err, kv.KindOf(err))
		}
		all = append(all, e)
		if e.Type == client.TypeCounter {
			counters[e.Key] = e.Number
		}
	}
	p.Scan([]byte(keys.Start), []byte(keys.End), 0, pairs(all))
	p.Commit()
	return counters
}
