package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// A key expires by being deleted (docs/decisions/0020): to its readers an expiry is
// a write like any other. Its deadline is a part of its value. Who sets the value
// sets the deadline too, or that there is none; who changes the value leaves the
// deadline; and it is gone with the value.

// never is Effect.Expires where an effect clears a deadline that it would otherwise
// leave.
const never = -1

// changesValue reports whether an effect makes something of what the key holds,
// rather than to take its place.
func changesValue(e *entry.Effect) bool {
	return e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange || e.Kind == entry.EffectExpire
}

// expiry is when a key expires after an effect on v, which only those need that
// change it.
func expiry(e *entry.Effect, v *entry.Value) int64 {
	switch {
	case e.Expires > 0:
		return e.Expires
	case e.Expires == never || !changesValue(e) || !v.Exists():
		return 0
	}
	return v.Expires
}

// deadline is the time that Op.Expiry names.
func (x *execution) deadline(expiry int64) int64 {
	if expiry < 0 {
		return x.view.Clock() - expiry
	}
	return expiry
}

// tellExpiry puts into a result when what was read expires.
func (x *execution) tellExpiry(res *msg.Result, v *entry.Value) {
	if v.Expires > 0 {
		res.Expires, res.TtlMillis = v.Expires, max(v.Expires-x.view.Clock(), 0)
	}
}

// expire sets or clears a key's deadline, and leaves what the key holds. A key
// without one is not written to clear it.
func (x *execution) expire(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.expect(op)
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	res := msg.Result{Found: true}
	at := x.deadline(op.Expiry)
	if at == 0 && v.Expires == 0 {
		return res, nil
	}
	if at == 0 {
		at = never
	}
	if own := x.own(op.Key); own != nil && (own.Kind == entry.EffectPut || changesValue(own)) {
		own.Expires, own.Ttl = at, max(-op.Expiry, 0)
		if s, ok := x.states[string(op.Key)]; ok {
			s.Expires = max(at, 0)
			x.states[string(op.Key)] = s
		}
		return res, nil
	}
	res.Version = x.next(op.Key)
	x.write(entry.Effect{Key: op.Key, Kind: entry.EffectExpire, Type: uint32(v.Type), Version: res.Version, Expires: at,
		Ttl: max(-op.Expiry, 0)})
	return res, nil
}

// deleteExpired removes a key if it is to expire when the operation says. If it has
// been written since, it is to expire at another time, or never, and stays.
func (x *execution) deleteExpired(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	if v.Expires != op.Expiry && !x.has(mutant.ExpiryUnchecked) {
		return msg.Result{}, nil
	}
	res := msg.Result{Found: true, Version: x.next(op.Key)}
	x.write(entry.Effect{Key: op.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted), Version: res.Version, Expires: op.Expiry})
	return res, nil
}

// has reports whether a rule is broken, in tests.
func (x *execution) has(id mutant.ID) bool {
	c := x.view.Calls()
	return c != nil && c.Mutants.Has(id)
}
