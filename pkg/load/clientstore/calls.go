package clientstore

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Calls returns the store as one of data types.
func (s *Store) Calls() app.DB { return calls{s} }

type calls struct{ *Store }

// Execute runs calls as a one-shot transaction.
func (s calls) Execute(ctx context.Context, all ...app.Call) (app.Executed, error) {
	h := s.next().handle()
	defer h.release()
	h.ops = appendCalls(h.ops, all)
	reply, lost, err := h.execute(ctx)
	if err != nil || lost {
		return app.Executed{Reply: reply}, err
	}
	return app.Executed{Reply: reply, Answers: answersOf(h.ops)}, nil
}

// Transact runs body in View or Update.
func (s calls) Transact(ctx context.Context, readOnly bool, body func(app.Tx) error) (workload.Reply, error) {
	var t attempts
	err := s.interact(ctx, readOnly, func(ctx context.Context, tx transaction) error {
		t.begin(tx.ID())
		t.last = body(interaction{ctx, tx})
		return t.last
	})
	return t.reply, err
}

// interaction is an attempt of an interactive transaction.
type interaction struct {
	ctx context.Context
	tx  transaction
}

func (i interaction) Do(all ...app.Call) ([]app.Answer, error) {
	ops := appendCalls(make([]client.Op, 0, len(all)), all)
	if err := i.tx.Execute(i.ctx, ops...); err != nil {
		return nil, err
	}
	return answersOf(ops), nil
}

func appendCalls(ops []client.Op, all []app.Call) []client.Op {
	for _, c := range all {
		ops = append(ops, client.CallOp(text(c.Key), c.Type, c.Method, decode, c.Args...))
	}
	return ops
}

func decode(data []client.Datum) (app.Answer, error) {
	var a app.Answer
	for _, d := range data {
		a = append(a, d.Any())
	}
	return a, nil
}

func answersOf(ops []client.Op) []app.Answer {
	answers := make([]app.Answer, len(ops))
	for i, op := range ops {
		answers[i] = op.(*client.Result[app.Answer]).Value()
	}
	return answers
}
