package mvcc

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// get executes OpGet. With Stored it returns the encoding of a value of any type, for moves and
// backups.
func (x *execution) get(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f == nil && op.Method != 0 {
		return x.getNamed(op, &v)
	}
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	res := newResult(&v)
	x.setExpiry(&res, &v)
	if op.Stored {
		res.Value, f = x.storedPayload(op.Key, &v)
	}
	return res, f
}

// newResult returns the result of reading v.
func newResult(v *entry.Value) msg.Result {
	return msg.Result{Found: true, Type: uint32(v.Type), Value: VisiblePayload(v), Version: ClientVersion(v.Version)}
}

// checkExpectation returns the value of the operation's key, and a failure if its expectation does
// not hold.
func (x *execution) checkExpectation(op *msg.Op) (entry.Value, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil || op.Expect == msg.ExpectNothing {
		return v, f
	}
	switch op.Expect {
	case msg.ExpectExists:
		if !v.Exists() {
			f = fail(kv.KindConditionFailed, op.Key, "the key must exist, but it is absent")
		}
	case msg.ExpectAbsent:
		if v.Exists() {
			f = fail(kv.KindConditionFailed, op.Key, "the key must be absent, but %s", describeActual(v, "it exists"))
		}
	case msg.ExpectValue:
		var has []byte
		if v.Exists() {
			has, f = x.storedPayload(op.Key, &v)
			if f != nil {
				return v, f
			}
		}
		if !v.Exists() || !bytes.Equal(has, op.ExpectValue) {
			f = fail(kv.KindConditionFailed, op.Key, "the key must have the given value, but %s",
				describeActual(v, "it has another one"))
		}
	case msg.ExpectVersion:
		if !v.Exists() || v.Version != op.ExpectVersion {
			f = fail(kv.KindConditionFailed, op.Key, "the key must be at version %v, but %s", op.ExpectVersion,
				describeActual(v, "it is at another one"))
		}
	}
	// The failure contains the current value, so that the client can retry with it without another
	// read.
	if f != nil && v.Exists() {
		f.Current = &msg.Pair{Key: op.Key, Value: VisiblePayload(&v), Type: uint32(v.Type), Version: ClientVersion(v.Version)}
	} else if f != nil {
		f.Current = &msg.Pair{Key: op.Key, Type: uint32(entry.TypeDeleted)}
	}
	return v, f
}

// describeActual returns the words for the state of a key that contradicts a condition; otherwise
// is used if the failure itself contains the version or value (Current).
func describeActual(v entry.Value, otherwise string) string {
	switch {
	case !v.Exists():
		return "it is absent"
	case v.Version.Moves == unassignedMoves:
		return "this transaction has changed it"
	}
	return otherwise
}

// put executes OpPut and OpDelete with their expectation. Found reports whether the key existed.
//
// A put without a condition, too, looks at the value: it must not replace a value of a data type by mistake.
func (x *execution) put(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.checkExpectation(op)
	if f != nil {
		return msg.Result{}, f
	}
	res := msg.Result{Found: v.Exists()}
	if op.Kind == msg.OpDelete {
		res.Version = x.nextVersion(op.Key)
		x.addEffect(entry.Effect{Key: op.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted),
			Version: res.Version})
		return res, nil
	}
	// A put on a key of another type is more likely an error of the client than an intended
	// replacement.
	if v.Exists() && v.Type != adt.Value && !op.Stored {
		return res, wrongType(op.Key, v, "put", adt.Value)
	}
	res.Version = x.nextVersion(op.Key)
	x.addEffect(entry.Effect{Key: op.Key, Kind: entry.EffectPut, Type: op.Type, Value: op.Value, Version: res.Version,
		Expires: x.resolveDeadline(op.Expiry), Ttl: max(-op.Expiry, 0)})
	return res, nil
}

// addGet executes an increment that returns the sum. It is an ordinary write: the result depends on
// the value, so no other increment may be undecided.
func (x *execution) addGet(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f == nil {
		v, f = x.addDelta(op.Key, v, op.Delta)
	}
	if f != nil {
		return msg.Result{}, f
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectPut, Type: uint32(adt.Counter), Value: v.Payload,
		Version: x.nextVersion(op.Key), Expires: v.Expires}
	x.addEffect(e)
	res := msg.Result{Found: true, Type: e.Type, Value: e.Value, Version: e.Version}
	return res, setAnswer(&res, op, &v)
}
