package mvcc

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Calls is the context of calls of data types, beyond the value of the key.
type Calls struct {
	// Txn is the transaction; it makes View.Unique.
	Txn kv.TxnRef
	// Ahead: see adt.View.
	Ahead bool
	// Held reports whether the transaction holds a lock. It is nil if no lock is needed because
	// nothing that the call reads can change.
	Held func(key []byte, mode adt.Mode) bool
	// Intents returns the undecided writes of a key; nil if there are none.
	Intents func(key []byte) []Intent
	// Mutants are the planted faults, in tests.
	Mutants mutant.Set
	// Plans, if set, are the plans that were made for the piece's calls before its locks were
	// requested.
	Plans *Plans
}

// Buffer is a View of a gateway, where calls are buffered and not executed.
type Buffer interface {
	// After returns the value that operation seq sees at a key after the earlier buffered calls on
	// it.
	After(seq uint32, key []byte) entry.Value
}

// VisiblePayload returns the payload that operations of other types return: the bytes of a value or counter.
// The encoding of a data type is internal, so for all other types it returns nil.
func VisiblePayload(v *entry.Value) []byte {
	if v.Type == adt.Value || v.Type == adt.Counter {
		return v.Payload
	}
	return nil
}

// call plans a call of a data type and adds its changes to the effects. The result contains the
// answer of the method only: existence and version of the key may be changing under locks that
// commute with the call's.
func (x *execution) call(op *msg.Op) (msg.Result, *msg.Failure) {
	c := x.view.Calls()
	planned, method, f := x.resolveMethod(c, op)
	if f != nil {
		return msg.Result{}, f
	}
	// A gateway does not know the value. It only records that the transaction changes the key.
	if c == nil {
		return x.bufferCall(op, method)
	}
	v, f := x.valueForCall(c, op.Key)
	if f != nil {
		return msg.Result{}, f
	}
	if v.Exists() && v.Type != method.Type.ID {
		return msg.Result{}, wrongType(op.Key, v, method.Name, method.Type.ID)
	}
	plan, modes, made := x.plan(c, planned, op, method, &v)
	// The failure may only be that pages of the value are not in memory; then the piece is executed
	// again.
	x.noteAbsentPages(op.Key, plan.Err)
	// The second plan is made on the newest value, which may have changed since the locks were
	// requested. Example: a contains that found the member (lock "present") and now does not needs
	// the lock "absent".
	if c.Held != nil {
		for _, m := range modes {
			if !c.Held(op.Key, m) {
				x.out.Missing = append(x.out.Missing, adt.Need{Span: kv.Point(op.Key), Mode: m, Methods: adt.MethodsOf(op),
					Short: plan.Short})
			}
		}
	}
	if plan.Err != nil {
		return msg.Result{}, callFailure(op.Key, method, plan.Err)
	}
	if len(plan.Calls) > 0 {
		if f := x.writeCalls(op.Key, method, &v, plan.Calls, made); f != nil {
			return msg.Result{}, f
		}
	}
	return msg.Result{Type: uint32(method.Type.ID), Data: plan.Answer}, nil
}

// resolveMethod returns the method that an operation calls, and its plan if there is one.
func (x *execution) resolveMethod(c *Calls, op *msg.Op) (*callPlan, *adt.TypeMethod, *msg.Failure) {
	if c != nil {
		if p := x.planOf(c); p != nil {
			return p, p.method, nil
		}
	}
	method, err := adt.Find(op)
	if err != nil {
		return nil, nil, fail(kv.KindOf(err), op.Key, "%v", err)
	}
	return nil, method, nil
}

// plan returns the plan of a call and its modes: the stored plan if it is current, else a new one.
// made is the resulting value if it is known.
func (x *execution) plan(
	c *Calls, p *callPlan, op *msg.Op, method *adt.TypeMethod, v *entry.Value,
) (_ adt.Plan, _ []adt.Mode, made *entry.Value) {
	if p != nil && c.Plans.isCurrent(p, v, c.Intents != nil && len(c.Intents(op.Key)) > 0) {
		p.executed = true
		return p.plan, c.Plans.modes[p.modesStart:p.modesEnd], p.result
	}
	r := adt.Request{Method: method, Args: op.Args, Value: v, Ahead: c.Ahead, Unique: UniqueOf(c.Txn, op.Seq)}
	if c.Intents != nil {
		r.Others = func(visit func([]msg.Call)) { VisitOtherCalls(c.Intents(op.Key), c.Txn, visit) }
	}
	plan, modes := r.Plan(x.modes[:0])
	x.modes = modes
	x.out.Plans++
	return plan, modes, nil
}

// getNamed executes a call of get by its method name on a value or counter. The type of the key
// must match.
func (x *execution) getNamed(op *msg.Op, v *entry.Value) (res msg.Result, _ *msg.Failure) {
	if want := entry.Type(op.Type); v.Exists() && v.Type != want {
		return res, wrongType(op.Key, *v, "get", want)
	}
	if v.Exists() {
		res = newResult(v)
		res.Value = nil // the answer contains it
	}
	return res, setAnswer(&res, op, v)
}

// setAnswer sets the answer of a call by method name on a value or counter.
func setAnswer(res *msg.Result, op *msg.Op, v *entry.Value) *msg.Failure {
	answer, err := adt.PlainAnswer(op, v)
	if err != nil {
		return fail(kv.KindOf(err), op.Key, "%v", err)
	}
	res.Data = answer
	return nil
}

// callFailure returns the failure of a call; its text names the type and the method.
func callFailure(key []byte, m *adt.TypeMethod, err error) *msg.Failure {
	return fail(kv.KindOf(err), key, "%s of a %s: %s", m.Name, m.Type.Name, kv.TextOf(err))
}

// writeCalls adds calls to the piece's effect on a key that holds v. made is the resulting value,
// or nil if it is not known.
//
//	what the piece did to the key before     effect
//	nothing, or calls of the same type       the calls: they are applied to what is visible at the commit
//	put, or deleted, or another type         a put of the value: the piece holds mode write, so no
//	                                         other change can come in between
//	the value is empty afterwards            a deletion
func (x *execution) writeCalls(key []byte, m *adt.TypeMethod, v *entry.Value, calls []msg.Call,
	made *entry.Value) *msg.Failure {
	if made == nil {
		after, err := adt.Apply(m.Type.ID, v, calls)
		if err != nil {
			x.noteAbsentPages(key, err)
			return callFailure(key, m, err)
		}
		made = &after
	}
	after := *made
	// Each call is small enough; the sum of all calls on a value may not be.
	if n := adt.Size(&after); n > kv.MaxStateBytes {
		return callFailure(key, m, kv.Errorf(kv.KindOutOfRange, "the value would have %d bytes; the limit is %d", n,
			kv.MaxStateBytes))
	}
	after.Version, after.Expires = UnassignedVersion, v.Expires
	p := x.ownEffect(key)
	switch {
	// The effect is the list of calls, not the value: calls of other transactions under compatible
	// locks may become visible before it.
	case p == nil || (p.Kind == entry.EffectChange || p.Kind == entry.EffectExpire) && p.Type == uint32(m.Type.ID):
		e := entry.Effect{Key: key, Kind: entry.EffectChange, Type: uint32(m.Type.ID)}
		if p != nil {
			e.Calls, e.Expires = p.Calls, p.Expires
		}
		if p != nil && !v.Exists() {
			e.Expires = noExpiry // the expired value is gone; this is a new one
		}
		e.Calls = adt.CombineCalls(m.Type.ID, e.Calls, calls)
		x.addEffect(e)
	case after.Exists(): // replaces a put, a deletion, or an emptied value of another type by this piece
		after.Version = x.nextVersion(key)
		x.addEffect(entry.Effect{Key: key, Kind: entry.EffectPut, Type: uint32(after.Type), Value: adt.Payload(&after),
			Version: after.Version, Expires: after.Expires})
	default:
		x.addEffect(entry.Effect{Key: key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted),
			Version: x.nextVersion(key)})
	}
	if x.callStates == nil {
		x.callStates = map[string]entry.Value{}
	}
	x.callStates[string(key)] = after
	return nil
}

// valueAfterCalls returns the value of a key after the piece's own calls.
func (x *execution) valueAfterCalls(p *entry.Effect, v entry.Value) (entry.Value, *msg.Failure) {
	if s, ok := x.callStates[string(p.Key)]; ok {
		s.Expires = expiryAfter(p, &s)
		return s, nil
	}
	if x.view.Calls() == nil {
		after := x.view.(Buffer).After(x.seq, p.Key)
		after.Version = UnassignedVersion
		after.Expires = expiryAfter(p, &after)
		return after, nil
	}
	after, err := adt.Apply(entry.Type(p.Type), &v, p.Calls)
	if err != nil {
		x.noteAbsentPages(p.Key, err)
		return v, fail(kv.KindOf(err), p.Key, "%v", err)
	}
	after.Version, after.Expires = UnassignedVersion, expiryAfter(p, &v)
	return after, nil
}

// bufferCall adds a call as an effect without executing it, at a gateway that does not have the
// value. The answer comes from the shard of the key.
func (x *execution) bufferCall(op *msg.Op, m *adt.TypeMethod) (msg.Result, *msg.Failure) {
	if m.Changes {
		x.addEffect(entry.Effect{Key: op.Key, Kind: entry.EffectChange, Type: op.Type})
	}
	return msg.Result{}, nil
}

// VisitOtherCalls calls visit with the undecided calls of each transaction among intents, except those of
// than.
// The calls of one transaction are visited together: they commit or abort as a whole.
func VisitOtherCalls(intents []Intent, than kv.TxnRef, visit func([]msg.Call)) {
	for _, i := range intents {
		if i.Txn != than && len(i.Effect.Calls) > 0 {
			visit(i.Effect.Calls)
		}
	}
}

// UniqueOf returns an identifier of one operation of one transaction. The attempts of a transaction
// share it: at most one of them commits.
//
// Example: the identifiers that a call of the type ids returns are derived from it.
func UniqueOf(txn kv.TxnRef, seq uint32) (out [24]byte) {
	_, _ = txn.TxnID.MarshalTo(out[:]) // fails only if the buffer is too short
	binary.BigEndian.PutUint32(out[20:], seq)
	return out
}
