package app

import (
	"context"
	"sync"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// memory is a store of data types behind a mutex, which is held for all of a
// transaction: strictly serializable, and quick. What a store can do wrong is
// planted by change.
type memory struct {
	// change, if set, is given each call that changes something, and says how
	// often it is carried out: 1 is right.
	change func(c Call) int
	// fail, if set, gives the error that a transaction ends with although it
	// was carried out.
	fail func() error

	mu     sync.Mutex // guards what follows
	values map[string]entry.Value
	unique byte
}

func newMemory() *memory { return &memory{values: map[string]entry.Value{}} }

// memoryTx is a transaction, whose changes are made in its own map first.
type memoryTx struct {
	*memory
	own map[string]entry.Value
}

func (m *memory) Execute(ctx context.Context, calls ...Call) (e Executed, err error) {
	e.Reply, err = m.Transact(ctx, false, func(tx Tx) error {
		e.Answers, err = tx.Do(calls...)
		return err
	})
	if err != nil {
		e.Answers = nil
	}
	return e, err
}

func (m *memory) Transact(ctx context.Context, _ bool, body func(Tx) error) (workload.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return workload.Reply{}, kv.Errorf(kv.KindDeadlineExceeded, "too late")
	}
	tx := &memoryTx{m, map[string]entry.Value{}}
	if err := body(tx); err != nil {
		return workload.Reply{Attempts: 1}, err
	}
	for k, v := range tx.own {
		m.values[k] = v
	}
	if m.fail != nil {
		return workload.Reply{Attempts: 1}, m.fail()
	}
	return workload.Reply{Attempts: 1}, nil
}

func (tx *memoryTx) Do(calls ...Call) (answers []Answer, err error) {
	for _, c := range calls {
		times := 1
		if tx.change != nil && !c.reads() {
			times = tx.change(c)
		}
		a, err := tx.call(c, times)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (tx *memoryTx) get(key []byte) entry.Value {
	if v, own := tx.own[string(key)]; own {
		return v
	}
	if v, there := tx.values[string(key)]; there {
		return v
	}
	return entry.Value{Type: entry.TypeDeleted}
}

// set puts a value, under a version that makes it one.
func (tx *memoryTx) set(key []byte, v entry.Value) {
	v.Version = kv.Version{Write: 1}
	tx.own[string(key)] = v
}

// call plans a call once, and makes its change so many times.
func (tx *memoryTx) call(c Call, times int) (Answer, error) {
	args := make([]msg.Datum, len(c.Args))
	for i, a := range c.Args {
		args[i] = datumOf(a)
	}
	op, err := adt.Call(c.Key, c.Type, c.Method, args)
	if err != nil {
		return nil, err
	}
	v := tx.get(c.Key)
	if v.Exists() && uint32(v.Type) != op.Type {
		return nil, kv.Errorf(kv.KindWrongType, "%q is a %s", c.Key, adt.TypeName(v.Type))
	}
	if !op.IsCall() {
		return tx.plain(&op, v, times)
	}
	tx.unique++
	r := adt.Request{Method: adt.Lookup(entry.Type(op.Type)).Method(op.Method), Args: op.Args, Value: &v,
		Unique: [24]byte{tx.unique}}
	plan, _ := r.Plan(nil)
	if plan.Err != nil {
		return nil, plan.Err
	}
	for range times {
		if len(plan.Calls) == 0 {
			break
		}
		v, err = adt.Apply(entry.Type(op.Type), &v, plan.Calls)
		if err != nil {
			return nil, err
		}
		tx.set(c.Key, v)
		v = tx.get(c.Key)
	}
	return answerOf(plan.Answer), nil
}

// plain is an operation on a register or a counter.
func (tx *memoryTx) plain(op *msg.Op, v entry.Value, times int) (Answer, error) {
	switch op.Kind {
	case msg.OpPut:
		if times > 0 {
			tx.set(op.Key, entry.Value{Type: adt.Value, Payload: op.Value})
		}
		return nil, nil
	case msg.OpAdd:
		n := int64(0)
		if v.Exists() {
			n, _ = adt.DecodeCounter(v.Payload)
		}
		tx.set(op.Key, entry.Value{Type: adt.Counter, Payload: adt.EncodeCounter(n + int64(times)*op.Delta)})
		return nil, nil
	}
	answer, err := adt.PlainAnswer(op, &v)
	return answerOf(answer), err
}

func datumOf(a any) msg.Datum {
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
	panic("an argument of another type")
}

func answerOf(data []msg.Datum) (a Answer) {
	for _, d := range data {
		switch d.Kind {
		case msg.DatumBytes:
			a = append(a, append([]byte{}, d.Bytes...))
		case msg.DatumInt:
			a = append(a, d.Int)
		case msg.DatumFloat:
			a = append(a, d.Float)
		case msg.DatumBool:
			a = append(a, d.Int != 0)
		default:
			a = append(a, nil)
		}
	}
	return a
}
