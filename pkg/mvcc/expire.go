package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// An expired key is deleted by a transaction (docs/decisions/0020), so readers see an ordinary write. The
// deadline is part of the value:
//
//		put                  sets or clears the deadline
//		add, update          keep it
//		delete, last element clear it

// noExpiry in Effect.Expires clears a deadline that the effect would otherwise keep.
const noExpiry = -1

// modifiesValue reports whether an effect is computed from the current value rather than replacing
// it.
func modifiesValue(e *entry.Effect) bool {
	return e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange || e.Kind == entry.EffectExpire
}

// expiryAfter returns the deadline of a key after an effect on v. v may be nil if the effect
// replaces the value.
//
// An add to a key that has expired and is not deleted yet keeps the deadline, so the sum is deleted, too.
func expiryAfter(e *entry.Effect, v *entry.Value) int64 {
	switch {
	case e.Expires > 0:
		return e.Expires
	case e.Expires == noExpiry || !modifiesValue(e) || !v.Exists():
		return 0
	}
	return v.Expires
}

// resolveDeadline returns the absolute time of Op.Expiry, in milliseconds since 1970: a negative
// expiry is a time to live.
func (x *execution) resolveDeadline(expiry int64) int64 {
	if expiry < 0 {
		return x.view.Clock() - expiry
	}
	return expiry
}

// setExpiry sets the deadline and the remaining time to live of the value in a result.
func (x *execution) setExpiry(res *msg.Result, v *entry.Value) {
	if v.Expires > 0 {
		res.Expires, res.TtlMillis = v.Expires, max(v.Expires-x.view.Clock(), 0)
	}
}

// expire sets or clears the deadline of a key and keeps its value. Clearing a deadline that the key
// does not have writes nothing.
func (x *execution) expire(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.checkExpectation(op)
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	res := msg.Result{Found: true}
	at := x.resolveDeadline(op.Expiry)
	// There is no deadline to clear, and a write would only conflict with other transactions.
	if at == 0 && v.Expires == 0 {
		return res, nil
	}
	if at == 0 {
		at = noExpiry
	}
	// The piece has written the key: the deadline becomes part of that effect, since there is one
	// per key.
	if own := x.ownEffect(op.Key); own != nil && (own.Kind == entry.EffectPut || modifiesValue(own)) {
		own.Expires, own.Ttl = at, max(-op.Expiry, 0)
		if s, ok := x.callStates[string(op.Key)]; ok {
			s.Expires = max(at, 0)
			x.callStates[string(op.Key)] = s
		}
		return res, nil
	}
	res.Version = x.nextVersion(op.Key)
	x.addEffect(entry.Effect{Key: op.Key, Kind: entry.EffectExpire, Type: uint32(v.Type), Version: res.Version,
		Expires: at, Ttl: max(-op.Expiry, 0)})
	return res, nil
}

// deleteExpired deletes a key if its deadline is still the one in the operation. The store sends
// the operation when the deadline has passed; a client may have written the key since, with another
// deadline or none, and then the key stays.
func (x *execution) deleteExpired(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	if !x.hasDeadline(&v, op.Expiry) {
		return msg.Result{}, nil
	}
	res := msg.Result{Found: true, Version: x.nextVersion(op.Key)}
	x.addEffect(entry.Effect{Key: op.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted), Version: res.Version,
		Expires: op.Expiry})
	return res, nil
}
