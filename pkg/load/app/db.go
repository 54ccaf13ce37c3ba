package app

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Call is a call of a method of a data type: Call{key, "set", "add", args}. An
// argument is a []byte, a string, an int, an int64, a float64 or a bool.
type Call struct {
	Key          []byte
	Type, Method string
	Args         []any
}

// Answer is what a method returned, each part a []byte, int64, float64 or bool,
// or nil for nothing.
type Answer []any

// Int is part i; 0 if it is not a whole number.
func (a Answer) Int(i int) int64 {
	n, _ := a.at(i).(int64)
	return n
}

// Float is part i; 0 if it is not a number.
func (a Answer) Float(i int) float64 {
	f, _ := a.at(i).(float64)
	return f
}

// Text is part i; empty if it is not bytes.
func (a Answer) Text(i int) string {
	b, _ := a.at(i).([]byte)
	return string(b)
}

// Bool is part i; false if it is not a truth value.
func (a Answer) Bool(i int) bool {
	b, _ := a.at(i).(bool)
	return b
}

// Nil reports whether part i is nothing.
func (a Answer) Nil(i int) bool { return a.at(i) == nil }

func (a Answer) at(i int) any {
	if i >= len(a) {
		return nil
	}
	return a[i]
}

// Texts are all parts as text.
func (a Answer) Texts() []string {
	out := make([]string, len(a))
	for i := range a {
		out[i] = a.Text(i)
	}
	return out
}

// Executed is the response to a one-shot transaction.
type Executed struct {
	workload.Reply
	// Answers are by call. They are empty if the transaction committed and
	// they were lost on the way. After a failure of OneByOne they are those
	// of the calls before it, which were done.
	Answers []Answer
	// Apart: each call was a transaction of its own.
	Apart bool
}

// outcome is what is known of call i, whose transaction ended with err.
func (e *Executed) outcome(i int, err error) workload.Outcome {
	switch {
	case err == nil || i < len(e.Answers):
		return workload.Committed
	case e.Apart && i > len(e.Answers):
		return workload.Failed // not even tried
	}
	return workload.OutcomeOf(err)
}

// DB is a store of data types. Its methods are called by many goroutines at
// once. Errors are as in workload.Store.
type DB interface {
	// Execute runs calls as a one-shot transaction.
	Execute(ctx context.Context, calls ...Call) (Executed, error)
	// Transact has body run calls as one interactive transaction, which is
	// committed when body returns nil. It may run body several times. readOnly
	// promises that nothing will be changed.
	Transact(ctx context.Context, readOnly bool, body func(Tx) error) (workload.Reply, error)
}

// Tx is an interactive transaction.
type Tx interface {
	// Do runs calls and waits for their answers.
	Do(calls ...Call) ([]Answer, error)
}

// OneByOne runs operations one after the other, each as a transaction of its
// own: there is no transaction across them any more.
type OneByOne struct{ DB }

// Execute runs the calls in turn, up to the first that fails.
func (o OneByOne) Execute(ctx context.Context, calls ...Call) (Executed, error) {
	all := Executed{Apart: true}
	err := each(ctx, o.DB, &all.Reply, calls, func(a Answer) { all.Answers = append(all.Answers, a) })
	return all, err
}

// Transact runs body once: what it has done stays.
func (o OneByOne) Transact(ctx context.Context, _ bool, body func(Tx) error) (workload.Reply, error) {
	t := apart{ctx: ctx, db: o.DB}
	err := body(&t)
	return t.reply, err
}

type apart struct {
	ctx   context.Context
	db    DB
	reply workload.Reply
}

func (t *apart) Do(calls ...Call) (out []Answer, err error) {
	err = each(t.ctx, t.db, &t.reply, calls, func(a Answer) { out = append(out, a) })
	return out, err
}

// each runs calls in turn and adds up how that went.
func each(ctx context.Context, db DB, sum *workload.Reply, calls []Call, answered func(Answer)) error {
	for _, c := range calls {
		e, err := db.Execute(ctx, c)
		add(sum, e.Reply)
		if err != nil {
			return err
		}
		var a Answer
		if len(e.Answers) > 0 {
			a = e.Answers[0]
		}
		answered(a)
	}
	return nil
}

// add adds the attempts beyond the first of a part to those of the whole.
func add(sum *workload.Reply, r workload.Reply) {
	sum.ID = r.ID
	sum.Attempts = max(sum.Attempts, 1) + max(r.Attempts, 1) - 1
	sum.Aborts = append(sum.Aborts, r.Aborts...)
}

// Interactive sends the calls of transactions one after the other, as Claret's
// clients do, instead of all at once.
type Interactive struct{ DB }

// Execute runs the calls as an interactive transaction.
func (i Interactive) Execute(ctx context.Context, calls ...Call) (e Executed, err error) {
	if len(calls) == 1 {
		return i.DB.Execute(ctx, calls...)
	}
	readOnly := true
	for _, c := range calls {
		readOnly = readOnly && c.reads()
	}
	e.Reply, err = i.Transact(ctx, readOnly, func(tx Tx) error {
		e.Answers = e.Answers[:0]
		for _, c := range calls {
			a, err := tx.Do(c)
			if err != nil {
				return err
			}
			e.Answers = append(e.Answers, a...)
		}
		return nil
	})
	if err != nil {
		e.Answers = nil
	}
	return e, err
}

// refused reports whether a condition of the application does not hold, or a bounded
// counter would leave its bounds: there is nothing left. A counter that was not created is
// another error.
func refused(err error) bool {
	k := kv.KindOf(err)
	return k == kv.KindConditionFailed || k == kv.KindOutOfRange
}
