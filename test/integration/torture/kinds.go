package torture

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/history"
)

// oneShot reads and writes registers, all known beforehand.
func (w *worker) oneShot(ctx context.Context) {
	ks := w.keys("r", 3)
	steps := []step{get(ks[0]), get(ks[1]), put(ks[1], w.value()), put(ks[2], w.value())}
	w.r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	w.execute(ctx, steps[:2+w.r.IntN(3)]...)
}

// couple writes the two keys of a couple, or reads them.
func (w *worker) couple(ctx context.Context) {
	i := w.r.IntN(w.run.opt.Keys)
	a, b, v := w.run.name("a/%d", i), w.run.name("b/%d", i), w.value()
	if w.r.IntN(2) == 0 {
		w.execute(ctx, get(a), get(b))
		return
	}
	w.execute(ctx, put(a, v), put(b, v))
}

// add adds to two counters, sometimes asking for a sum.
func (w *worker) add(ctx context.Context) {
	ks := w.keys("n", 2)
	d := int64(1 + w.r.IntN(5))
	w.count++
	p := w.begin()
	steps := []step{w.addTo(ks[0], d, w.r.IntN(4) == 0), w.addTo(ks[1], d, false)}
	out, err := w.db.Execute(ctx, steps[0].op, steps[1].op)
	for i := range steps {
		var r *client.Result
		if err == nil && !out.ResultsLost {
			r = &out.Results[i]
		}
		steps[i].note(p, r)
	}
	o := w.end(p, err)
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	for _, k := range ks {
		switch o {
		case workload.Committed:
			w.run.sums[string(k)] += d
		case workload.Unknown:
			w.run.doubts[string(k)] += d
		}
	}
}

// update reads registers one by one and writes some of them.
func (w *worker) update(ctx context.Context) {
	ks := w.keys("r", 3)
	v, w2 := w.value(), w.value()
	giveUp := w.r.IntN(8) == 0
	p := w.begin()
	err := w.db.Update(ctx, func(tx *client.Tx) error {
		p.Restart()
		p.SetID([]byte(tx.ID().String()))
		for i, k := range ks[:2] {
			read := tx.Get
			if i == 1 {
				read = tx.GetForUpdate
			}
			got, err := read(k)
			if err != nil {
				return err
			}
			noteValue(p, k, got)
		}
		if giveUp {
			return errGiveUp
		}
		return errors.Join(tx.Put(ks[1], v), tx.Put(ks[2], w2))
	})
	if errors.Is(err, errGiveUp) {
		// It changed nothing, and what it saw was so.
		p.Commit()
		w.run.note(workload.Committed, nil)
		return
	}
	if err != nil {
		p.Restart() // what it read is provisional
	}
	p.Write(ks[1], v)
	p.Write(ks[2], w2)
	w.end(p, err)
}

var errGiveUp = errors.New("the function gives up")

func noteValue(p *history.Pending, k []byte, v client.Value) {
	r := client.Result{Found: v.Found, Type: v.Type, Value: v.Value, Number: v.Number}
	get(k).note(p, &r)
}

// view reads registers and counters one by one.
func (w *worker) view(ctx context.Context) {
	ks := append(w.keys("r", 2), w.key("n"), w.key("a"))
	w.count++
	p := w.begin()
	err := w.db.View(ctx, func(ro *client.ReadTx) error {
		p.Restart()
		for _, k := range ks {
			v, err := ro.Get(k)
			if err != nil {
				return err
			}
			noteValue(p, k, v)
		}
		return nil
	})
	w.readEnd(p, err)
}

// readEnd ends a transaction that changed nothing, whatever became of it.
func (w *worker) readEnd(p *history.Pending, err error) {
	if err == nil {
		p.Commit()
		w.run.note(workload.Committed, nil)
		return
	}
	p.Restart()
	p.Fail()
	w.run.note(workload.Failed, err)
}

// scan reads the keys that come and go, through the streamed scan.
func (w *worker) scan(ctx context.Context) {
	p, err := w.scanned(ctx)
	w.readEnd(p, err)
}

// scanned is a scan that is recorded up to its end.
func (w *worker) scanned(ctx context.Context) (*history.Pending, error) {
	start, end := w.run.name("g/"), w.run.name("g0")
	w.count++
	p := w.begin()
	var seen []client.Pair
	var failed error
	for pair, err := range w.db.Scan(ctx, start, end, client.ScanOptions{PageSize: 1 + w.r.IntN(4)}) {
		failed = err
		if err != nil {
			break
		}
		seen = append(seen, pair)
	}
	if failed == nil {
		p.Scan(start, end, 0, pairs(seen))
	}
	return p, failed
}

// single does one thing to one key that nobody touches in any other way.
func (w *worker) single(ctx context.Context) {
	k := w.key("s")
	switch w.r.IntN(4) {
	case 0:
		w.execute(ctx, get(k))
	case 1:
		w.execute(ctx, put(k, w.value()))
	case 2:
		w.execute(ctx, del(k))
	default:
		w.execute(ctx, get(k), put(k, w.value()))
	}
}

// rangeWork inserts, deletes and scans.
func (w *worker) rangeWork(ctx context.Context) {
	ks := w.keys("g", 2)
	switch w.r.IntN(5) {
	case 0:
		w.execute(ctx, del(ks[0]), put(ks[1], w.value()))
	case 1:
		w.execute(ctx, scanRange(w.run.name("g/2"), w.run.name("g/7"), 3), put(ks[0], w.value()))
	case 2:
		w.execute(ctx, deleteRange(w.run.name("g/1"), w.run.name("g/4")))
	default:
		w.execute(ctx, put(ks[0], w.value()), put(ks[1], w.value()))
	}
}

func deleteRange(start, end []byte) step {
	return step{client.DeleteRange(start, end), func(p *history.Pending, r *client.Result) {
		if r == nil {
			p.DeleteRange(start, end)
			return
		}
		p.DeleteRangeCount(start, end, int64(r.Count))
	}}
}

// refused writes, and has a condition that does not hold on another shard.
func (w *worker) refused(ctx context.Context) {
	ks := w.keys("r", 2)
	v := w.value()
	p := w.begin()
	_, err := w.db.Execute(ctx, client.Put(ks[0], v), client.RequireExists(w.run.name("nobody/writes/this")), client.Put(ks[1], v))
	if err == nil {
		err = kv.Errorf(kv.KindInternal, "a condition on a key that does not exist held")
	}
	p.Write(ks[0], v)
	p.Write(ks[1], v)
	w.end(p, err, kv.KindConditionFailed)
}
