package torture

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// oneShot reads and writes registers.
func (w *worker) oneShot(ctx context.Context) {
	ks := w.keys("r", 3)
	steps := []step{get(ks[0]), get(ks[1]), put(ks[1], w.value()), put(ks[2], w.value())}
	w.r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	w.execute(ctx, steps[:2+w.r.IntN(3)]...)
}

// couple writes the two keys of a couple, or reads them.
func (w *worker) couple(ctx context.Context) {
	i := w.r.IntN(w.run.opt.Keys)
	a, b, v := w.run.key("a/%d", i), w.run.key("b/%d", i), w.value()
	if w.r.IntN(2) == 0 {
		w.execute(ctx, get(a), get(b))
		return
	}
	w.execute(ctx, put(a, v), put(b, v))
}

// add adds to two counters. One of four returns a new value.
func (w *worker) add(ctx context.Context) {
	ks := w.keys("n", 2)
	d := int64(1 + w.r.IntN(5))
	w.count++
	first := addTo(ks[0], d)
	if w.r.IntN(4) == 0 {
		first = addGet(ks[0], d)
	}
	o := w.execute(ctx, first, addTo(ks[1], d))
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	for _, k := range ks {
		switch o {
		case workload.Committed:
			w.run.sums[k] += d
		case workload.Unknown:
			w.run.unknownSums[k] += d
		}
	}
}

// update reads registers one by one and writes some of them.
func (w *worker) update(ctx context.Context) {
	ks := w.keys("r", 3)
	v, w2 := w.value(), w.value()
	rollback := w.r.IntN(8) == 0
	p := w.begin()
	err := w.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		p.Restart()
		p.SetID([]byte(tx.ID().String()))
		for i, k := range ks[:2] {
			read := tx.Get
			if i == 1 {
				read = tx.GetForUpdate
			}
			value, ok, err := read(ctx, k)
			if err != nil {
				return err
			}
			observe(p, k, client.Entry{Type: client.TypeValue, Value: value}, ok)
		}
		if rollback {
			return errRollback
		}
		return errors.Join(tx.Put(ctx, ks[1], v), tx.Put(ctx, ks[2], w2))
	})
	// As the cause of another error it means that the reads were not validated.
	if err == errRollback {
		// The transaction has changed nothing, and its reads are valid.
		p.Commit()
		w.run.recordOutcome(workload.Committed, nil)
		return
	}
	if err != nil {
		p.Restart() // its reads are not validated
	}
	p.Write([]byte(ks[1]), v)
	p.Write([]byte(ks[2]), w2)
	w.end(p, err)
}

var errRollback = errors.New("rollback")

// view reads registers and counters one by one.
func (w *worker) view(ctx context.Context) {
	ks := append(w.keys("r", 2), w.key("n"), w.key("a"))
	w.count++
	p := w.begin()
	err := w.db.View(ctx, func(ctx context.Context, v *client.View) error {
		p.Restart()
		for _, k := range ks {
			e, ok, err := v.Entry(ctx, k)
			if err != nil {
				return err
			}
			observe(p, k, e, ok)
		}
		return nil
	})
	w.endRead(p, err)
}

// endRead ends a transaction that has changed nothing, whatever its outcome.
func (w *worker) endRead(p *history.Pending, err error) {
	if err == nil {
		p.Commit()
		w.run.recordOutcome(workload.Committed, nil)
		return
	}
	p.Restart()
	p.Fail()
	w.run.recordOutcome(workload.Failed, err)
}

// scan reads the g keys with a streamed scan.
func (w *worker) scan(ctx context.Context) {
	p, err := w.recordScan(ctx)
	w.endRead(p, err)
}

// recordScan scans, and records everything but the end.
func (w *worker) recordScan(ctx context.Context) (*history.Pending, error) {
	r := client.Prefix(w.run.key("g/"))
	w.count++
	p := w.begin()
	var seen []client.Entry
	for e, err := range w.db.Scan(ctx, r, client.PageSize(1+w.r.IntN(4))) {
		if err != nil {
			return p, err
		}
		seen = append(seen, e)
	}
	p.Scan([]byte(r.Start), []byte(r.End), 0, pairs(seen))
	return p, nil
}

// singleKey runs a transaction on one s key.
func (w *worker) singleKey(ctx context.Context) {
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

// rangeOps inserts, deletes and scans g keys.
func (w *worker) rangeOps(ctx context.Context) {
	ks := w.keys("g", 2)
	switch w.r.IntN(5) {
	case 0:
		w.execute(ctx, del(ks[0]), put(ks[1], w.value()))
	case 1:
		w.execute(ctx, scanRange(w.run.keyRange("g/2", "g/7"), 3), put(ks[0], w.value()))
	case 2:
		w.execute(ctx, deleteRange(w.run.keyRange("g/1", "g/4")))
	default:
		w.execute(ctx, put(ks[0], w.value()), put(ks[1], w.value()))
	}
}

// failCondition writes, with a condition on another key that does not hold.
func (w *worker) failCondition(ctx context.Context) {
	ks := w.keys("r", 2)
	v := w.value()
	p := w.begin()
	absent := client.RequireOp(w.run.key("absent"), client.IfExists())
	err := w.db.Execute(ctx, client.PutOp(ks[0], v), absent, client.PutOp(ks[1], v))
	if err == nil {
		err = kv.Errorf(kv.KindInternal, "a condition on a key that does not exist held")
	}
	p.Write([]byte(ks[0]), v)
	p.Write([]byte(ks[1]), v)
	w.end(p, err, kv.KindConditionFailed)
}
