package simulated

import (
	"context"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// db is the cluster as an application's store.
func (c *cluster) db() app.DB { return &appDB{c: c} }

type appDB struct {
	c *cluster
	// mu is held while there is no client: as long as data is loaded or read back.
	mu sync.Mutex
}

// do executes a call, of a client or of the loader.
func (d *appDB) do(ctx context.Context, ca *call) txn.Done {
	if cl, ok := ctx.Value(clientKey{}).(*appClient); ok {
		return cl.execute(ca)
	}
	c := d.c
	ca.n = c.nodes[0]
	var out txn.Done
	over := false
	ca.then = func(e ended) { out, over = e.Done, true }
	ca.n.queue(job{call: ca})
	for !over && c.Next() < never {
		c.run(c.Next())
	}
	return out
}

func (d *appDB) lock(ctx context.Context) (unlock func()) {
	if ctx.Value(clientKey{}) != nil {
		return func() {}
	}
	d.mu.Lock()
	return d.mu.Unlock
}

// rest is how long a client pauses before another try, the mean of a real one's
// first pause.
const rest = int64(4 * time.Millisecond)

// again reports whether to try again, after a pause, as clients do.
func again(ctx context.Context, f *msg.Failure) bool {
	cl, ok := ctx.Value(clientKey{}).(*appClient)
	if f == nil || !ok || cl.stopped || !kv.Kind(f.Kind).Retryable() {
		return false
	}
	cl.ask(wish{pause: max(f.RetryAfterNanos, rest)})
	return !cl.stopped
}

// Execute runs calls as a one-shot transaction.
func (d *appDB) Execute(ctx context.Context, calls ...app.Call) (e app.Executed, err error) {
	defer d.lock(ctx)()
	ops, writes, err := opsOfCalls(calls)
	if err != nil {
		return e, err
	}
	for {
		ca := &call{id: d.c.newID(), ops: append([]msg.Op(nil), ops...), writes: writes}
		done := d.do(ctx, ca)
		e.ID, e.Attempts = ca.id, e.Attempts+max(int(done.Attempts), 1)
		for _, a := range done.AbortReasons {
			e.Aborts = append(e.Aborts, a.String())
		}
		if done.Failure == nil {
			e.Answers = answersOf(done.Results)
			return e, nil
		}
		if !again(ctx, done.Failure) {
			return e, errorOf(done.Failure)
		}
		e.Aborts = append(e.Aborts, done.Failure.Reason.String())
	}
}

// Transact runs body as an interactive transaction.
func (d *appDB) Transact(ctx context.Context, readOnly bool, body func(app.Tx) error) (r workload.Reply, err error) {
	defer d.lock(ctx)()
	ref := kv.TxnRef{TxnID: d.c.newID()}
	for {
		ref.Attempt++
		r.ID, r.Attempts = ref.TxnID, r.Attempts+1
		t := &appTx{d: d, ctx: ctx, ref: ref, readOnly: readOnly}
		err = body(t)
		switch {
		case err == nil && t.failed == nil:
			t.send("Commit", t.sent, func(g *txn.Gateway, now int64,
				ca *call) {
				g.Commit(now, ca, ref, now+int64(time.Minute))
			})
			err = errorOf(t.failed)
		case t.failed == nil && t.begun:
			own := err
			t.send("Rollback", nil, func(g *txn.Gateway, now int64, ca *call) { g.Rollback(now, ca, ref, true) })
			err = own
		}
		if !again(ctx, t.failed) {
			return r, err
		}
		r.Aborts = append(r.Aborts, t.failed.Reason.String())
	}
}

// appTx is one attempt of an interactive transaction.
type appTx struct {
	d        *appDB
	ctx      context.Context
	ref      kv.TxnRef
	readOnly bool
	begun    bool
	// sent are the operations so far.
	sent   []msg.Op
	failed *msg.Failure
}

func (t *appTx) send(kind string, ops []msg.Op, do func(g *txn.Gateway, now int64, ca *call)) txn.Done {
	ca := &call{id: t.ref.TxnID, ops: ops, kind: kind}
	ca.do = func(g *txn.Gateway, now int64) {
		if !t.begun {
			t.begun = true
			t.failed = g.Begin(now, t.ref, t.readOnly, txn.TxnOptions{})
			if t.failed != nil {
				ca.failed = &txn.Done{Handle: ca, Failure: t.failed}
				return
			}
		}
		do(g, now, ca)
	}
	done := t.d.do(t.ctx, ca)
	t.failed = done.Failure
	return done
}

// Do runs calls and waits for their answers.
func (t *appTx) Do(calls ...app.Call) ([]app.Answer, error) {
	if t.failed != nil {
		return nil, errorOf(t.failed)
	}
	ops, _, err := opsOfCalls(calls)
	if err != nil {
		return nil, err
	}
	t.sent = append(t.sent, ops...)
	done := t.send("Do", ops, func(g *txn.Gateway, now int64, ca *call) { g.Do(now, ca, t.ref, ops, 0) })
	if done.Failure != nil {
		return nil, errorOf(done.Failure)
	}
	return answersOf(done.Results), nil
}

func opsOfCalls(calls []app.Call) (ops []msg.Op, writes bool, err error) {
	ops = make([]msg.Op, len(calls))
	for i, c := range calls {
		args := make([]msg.Datum, len(c.Args))
		for j, a := range c.Args {
			args[j] = datum(a)
		}
		ops[i], err = adt.Call(c.Key, c.Type, c.Method, args)
		if err != nil {
			return nil, false, err
		}
		writes = writes || ops[i].Writes()
	}
	return ops, writes, nil
}

func datum(a any) msg.Datum {
	switch x := a.(type) {
	case string:
		return adt.Bytes([]byte(x))
	case []byte:
		return adt.Bytes(x)
	case int:
		return adt.Int(int64(x))
	case int64:
		return adt.Int(x)
	case float64:
		return adt.Float(x)
	case bool:
		return adt.Bool(x)
	}
	panic("an argument of a type that no method takes")
}

func answersOf(results []msg.Result) []app.Answer {
	out := make([]app.Answer, len(results))
	for i := range results {
		for _, d := range results[i].Data {
			out[i] = append(out[i], value(d))
		}
	}
	return out
}

func value(d msg.Datum) any {
	switch d.Kind {
	case msg.DatumBytes:
		return d.Bytes
	case msg.DatumInt:
		return d.Int
	case msg.DatumFloat:
		return d.Float
	case msg.DatumBool:
		return d.Int != 0
	}
	return nil
}

func errorOf(f *msg.Failure) error {
	if f == nil {
		return nil
	}
	return kv.Errorf(kv.Kind(f.Kind), "%s", f.Text)
}
