package clientstore

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
)

// Calls is the store as one of data types.
func (s *Store) Calls() app.DB { return calls{s} }

type calls struct{ *Store }

// Execute runs calls as a one-shot transaction.
func (s calls) Execute(ctx context.Context, all ...app.Call) (app.Executed, error) {
	out, err := s.db().Execute(ctx, opsOf(all)...)
	if err != nil {
		return app.Executed{Reply: failure(err)}, err
	}
	e := app.Executed{Reply: workload.Reply{ID: out.ID, Attempts: out.Attempts, Aborts: out.Aborts}}
	if out.ResultsLost {
		return e, nil
	}
	e.Answers, err = answersOf(all, out.Results)
	return e, err
}

// Transact runs body in View or Update.
func (s calls) Transact(ctx context.Context, readOnly bool, body func(app.Tx) error) (workload.Reply, error) {
	var t attempts
	run := func(id kv.TxnID, do func(ops ...client.Op) ([]client.Result, error)) error {
		if t.reply.Attempts > 0 {
			t.reply.Aborts = append(t.reply.Aborts, t.reason())
		}
		t.reply.Attempts++
		t.reply.ID, t.last = id, nil
		t.last = body(interaction{do})
		return t.last
	}
	var err error
	if readOnly {
		err = s.db().View(ctx, func(ro *client.ReadTx) error { return run(ro.ID(), ro.Do) })
	} else {
		err = s.db().Update(ctx, func(tx *client.Tx) error { return run(tx.ID(), tx.Do) })
	}
	return t.reply, err
}

// interaction is an interactive transaction.
type interaction struct {
	do func(ops ...client.Op) ([]client.Result, error)
}

func (i interaction) Do(all ...app.Call) ([]app.Answer, error) {
	results, err := i.do(opsOf(all)...)
	if err != nil {
		return nil, err
	}
	return answersOf(all, results)
}

func opsOf(all []app.Call) []client.Op {
	ops := make([]client.Op, len(all))
	for i, c := range all {
		ops[i] = client.Call(c.Key, c.Type, c.Method, c.Args...)
	}
	return ops
}

func answersOf(all []app.Call, results []client.Result) ([]app.Answer, error) {
	if len(results) != len(all) {
		return nil, kv.Errorf(kv.KindInternal, "%d results for %d calls", len(results), len(all))
	}
	answers := make([]app.Answer, len(all))
	for i := range results {
		for _, d := range results[i].Answer {
			answers[i] = append(answers[i], d.Any())
		}
	}
	return answers, nil
}
