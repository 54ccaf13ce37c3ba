package mvcc

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Calls is what the calls of data types see beyond the value of their key.
type Calls struct {
	// Txn makes what is unique.
	Txn kv.TxnRef
	// Ahead: see adt.View.
	Ahead bool
	// Held reports whether the transaction holds a lock; nil: it needs none, since
	// nothing of what it sees can change.
	Held func(key []byte, mode adt.Mode) bool
	// Intents are the undecided writes of a key; nil where there are none.
	Intents func(key []byte) []Intent
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
	// Plans, if set, are those that have been made of the piece's calls.
	Plans *Plans
}

// Buffer is a View where calls are not made but only buffered.
type Buffer interface {
	// After is what the operation number seq finds at a key on which methods have
	// been called before it.
	After(seq uint32, key []byte) entry.Value
}

// Missing is a lock that a call turned out to need.
type Missing struct {
	Key     []byte
	Mode    adt.Mode
	Methods adt.Methods
	// Short is as in adt.Plan.
	Short *adt.Shortage
}

// Shown is a value as it is told to those who do not call methods of its type.
// What only the type understands is not told.
func Shown(v *entry.Value) []byte {
	if v.Type == adt.Value || v.Type == adt.Counter {
		return v.Payload
	}
	return nil
}

// call plans a call of a data type, and notes what it changes. It tells no more
// than the method answers: whether the key exists, and at which version, others
// may be changing.
func (x *execution) call(op *msg.Op) (msg.Result, *msg.Failure) {
	c := x.view.Calls()
	planned, method, f := x.method(c, op)
	if f != nil {
		return msg.Result{}, f
	}
	if c == nil {
		return x.buffered(op, method)
	}
	v, f := x.value(op.Key)
	if f == nil && c.Mutants.Has(mutant.OwnCallsUnseen) {
		v, f = x.visibleValue(op.Key)
	}
	if f != nil {
		return msg.Result{}, f
	}
	if v.Exists() && v.Type != method.Type.ID {
		return msg.Result{}, wrongType(op.Key, v, method.Name, method.Type.ID)
	}
	plan, modes, made := x.plan(c, planned, op, method, &v)
	x.lacks(op.Key, plan.Err)
	if c.Held != nil {
		for _, m := range modes {
			if !c.Held(op.Key, m) {
				x.out.Missing = append(x.out.Missing, Missing{op.Key, m, adt.MethodsOf(op), plan.Short})
			}
		}
	}
	if plan.Err != nil {
		return msg.Result{}, failed(op.Key, method, plan.Err)
	}
	if len(plan.Calls) > 0 {
		if f := x.change(op.Key, method, &v, plan.Calls, made); f != nil {
			return msg.Result{}, f
		}
	}
	return msg.Result{Type: uint32(method.Type.ID), Answer: plan.Answer}, nil
}

// method is what an operation calls, and its plan if that has been made.
func (x *execution) method(c *Calls, op *msg.Op) (*planned, *adt.TypeMethod, *msg.Failure) {
	if c != nil {
		if p := c.Plans.at(x.place); p != nil && !(p.after >= 0 && c.Mutants.Has(mutant.OwnCallsUnseen)) {
			return p, p.method, nil
		}
	}
	method, err := adt.Find(op)
	if err != nil {
		return nil, nil, fail(kv.KindOf(err), op.Key, "%v", err)
	}
	return nil, method, nil
}

// plan plans a call, unless that has been done. Then made is what comes of it, if
// that is known.
func (x *execution) plan(c *Calls, p *planned, op *msg.Op, method *adt.TypeMethod, v *entry.Value) (_ adt.Plan, _ []adt.Mode, made *entry.Value) {
	if p != nil && c.Plans.holds(p, v, c.Intents != nil && len(c.Intents(op.Key)) > 0) {
		p.done = true
		return p.plan, c.Plans.modes[p.first:p.end], p.made
	}
	r := adt.Request{Method: method, Args: op.Args, Value: v, Ahead: c.Ahead, Unique: Unique(c.Txn, op.Seq)}
	if c.Intents != nil {
		r.Others = func(visit func([]msg.Call)) { Others(c.Intents(op.Key), c.Txn, visit) }
	}
	plan, modes := r.Plan(x.modes[:0])
	x.modes = modes
	x.out.Plans++
	return plan, modes, nil
}

// named gets a plain value or a counter for a call by its name, which is only for
// the one of them.
func (x *execution) named(op *msg.Op, v *entry.Value) (res msg.Result, _ *msg.Failure) {
	if want := entry.Type(op.Type); v.Exists() && v.Type != want {
		return res, wrongType(op.Key, *v, "get", want)
	}
	if v.Exists() {
		res = got(v)
		res.Value = nil // the answer has it
	}
	return res, answered(&res, op, v)
}

// answered puts into a result what a call of a plain value or a counter by its name
// answers.
func answered(res *msg.Result, op *msg.Op, v *entry.Value) *msg.Failure {
	answer, err := adt.PlainAnswer(op, v)
	if err != nil {
		return fail(kv.KindOf(err), op.Key, "%v", err)
	}
	res.Answer = answer
	return nil
}

// failed is the failure of a call; its error names the type and the method.
func failed(key []byte, m *adt.TypeMethod, err error) *msg.Failure {
	return fail(kv.KindOf(err), key, "%s of a %s: %s", m.Name, m.Type.Name, kv.TextOf(err))
}

// change notes calls as the piece's effect on a key that holds v. They make made of
// it, if that is known.
func (x *execution) change(key []byte, m *adt.TypeMethod, v *entry.Value, calls []msg.Call, made *entry.Value) *msg.Failure {
	if made == nil {
		after, err := adt.Apply(m.Type.ID, v, calls)
		if err != nil {
			x.lacks(key, err)
			return failed(key, m, err)
		}
		made = &after
	}
	after := *made
	if n := adt.Size(&after); n > kv.MaxStateBytes {
		return failed(key, m, kv.Errorf(kv.KindOutOfRange, "the value would have %d bytes; the limit is %d", n, kv.MaxStateBytes))
	}
	after.Version, after.Expires = Unborn, v.Expires
	p := x.own(key)
	switch {
	case p == nil || (p.Kind == entry.EffectChange || p.Kind == entry.EffectExpire) && p.Type == uint32(m.Type.ID):
		e := entry.Effect{Key: key, Kind: entry.EffectChange, Type: uint32(m.Type.ID)}
		if p != nil {
			e.Calls, e.Expires = p.Calls, p.Expires
		}
		if p != nil && !v.Exists() {
			e.Expires = never // what expired is gone, and this is a new value
		}
		e.Calls = adt.Gather(m.Type.ID, e.Calls, calls)
		x.write(e)
	case after.Exists(): // in the place of what the piece has deleted, put, or emptied of another type
		after.Version = x.next(key)
		x.write(entry.Effect{Key: key, Kind: entry.EffectPut, Type: uint32(after.Type), Value: adt.Payload(&after), Version: after.Version, Expires: after.Expires})
	default:
		x.write(entry.Effect{Key: key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted), Version: x.next(key)})
	}
	if x.states == nil {
		x.states = map[string]entry.Value{}
	}
	x.states[string(key)] = after
	return nil
}

// after is a key with the calls that the piece has made.
func (x *execution) after(p *entry.Effect, v entry.Value) (entry.Value, *msg.Failure) {
	if s, ok := x.states[string(p.Key)]; ok {
		s.Expires = expiry(p, &s)
		return s, nil
	}
	if x.view.Calls() == nil {
		after := x.view.(Buffer).After(x.seq, p.Key)
		after.Version = Unborn
		after.Expires = expiry(p, &after)
		return after, nil
	}
	after, err := adt.Apply(entry.Type(p.Type), &v, p.Calls)
	if err != nil {
		x.lacks(p.Key, err)
		return v, fail(kv.KindOf(err), p.Key, "%v", err)
	}
	after.Version, after.Expires = Unborn, expiry(p, &v)
	return after, nil
}

// buffered notes a change without making it, where the value is not known. What
// a call answers has been asked where it is.
func (x *execution) buffered(op *msg.Op, m *adt.TypeMethod) (msg.Result, *msg.Failure) {
	if m.Changes {
		x.write(entry.Effect{Key: op.Key, Kind: entry.EffectChange, Type: op.Type})
	}
	return msg.Result{}, nil
}

// Others visits the calls of each transaction but one that has undecided ones among
// the intents of a key.
func Others(intents []Intent, than kv.TxnRef, visit func([]msg.Call)) {
	for _, i := range intents {
		if i.Txn != than && len(i.Effect.Calls) > 0 {
			visit(i.Effect.Calls)
		}
	}
}

// Unique names one operation of one transaction. Attempts are not told apart: at
// most one of them commits.
func Unique(txn kv.TxnRef, seq uint32) (out [24]byte) {
	_, _ = txn.TxnID.MarshalTo(out[:]) // fails only for want of room
	binary.BigEndian.PutUint32(out[20:], seq)
	return out
}
