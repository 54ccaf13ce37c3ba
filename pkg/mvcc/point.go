package mvcc

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func (x *execution) get(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f == nil && op.Method != 0 {
		return x.named(op, &v)
	}
	if f != nil || !v.Exists() {
		return msg.Result{}, f
	}
	res := got(&v)
	x.tellExpiry(&res, &v)
	if op.Stored {
		res.Value, f = x.payload(op.Key, &v)
	}
	return res, f
}

func got(v *entry.Value) msg.Result {
	return msg.Result{Found: true, Type: uint32(v.Type), Value: Shown(v), Version: Identity(v.Version)}
}

// expect tells whether what op expects of its key holds.
func (x *execution) expect(op *msg.Op) (entry.Value, *msg.Failure) {
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
			f = fail(kv.KindConditionFailed, op.Key, "the key must be absent, but %s", actual(v, "it exists"))
		}
	case msg.ExpectValue:
		var has []byte
		if v.Exists() {
			has, f = x.payload(op.Key, &v)
			if f != nil {
				return v, f
			}
		}
		if !v.Exists() || !bytes.Equal(has, op.ExpectValue) {
			f = fail(kv.KindConditionFailed, op.Key, "the key must have the given value, but %s", actual(v, "it has another one"))
		}
	case msg.ExpectVersion:
		if !v.Exists() || v.Version != op.ExpectVersion {
			f = fail(kv.KindConditionFailed, op.Key, "the key must be at version %v, but %s", op.ExpectVersion, actual(v, "it is at another one"))
		}
	}
	if f != nil && v.Exists() {
		f.Current = &msg.Pair{Key: op.Key, Value: Shown(&v), Type: uint32(v.Type), Version: Identity(v.Version)}
	} else if f != nil {
		f.Current = &msg.Pair{Key: op.Key, Type: uint32(entry.TypeDeleted)}
	}
	return v, f
}

// actual says what of a key contradicts a condition; otherwise if it is the version or the value that it has,
// which the failure has besides (Current).
func actual(v entry.Value, otherwise string) string {
	switch {
	case !v.Exists():
		return "it is absent"
	case v.Version.Moves == unborn:
		return "this transaction has changed it"
	}
	return otherwise
}

func (x *execution) put(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.expect(op)
	if f != nil {
		return msg.Result{}, f
	}
	res := msg.Result{Found: v.Exists()}
	if op.Kind == msg.OpDelete {
		res.Version = x.next(op.Key)
		x.write(entry.Effect{Key: op.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted), Version: res.Version})
		return res, nil
	}
	if v.Exists() && v.Type != adt.Value && !op.Stored {
		return res, wrongType(op.Key, v, "put", adt.Value)
	}
	res.Version = x.next(op.Key)
	x.write(entry.Effect{Key: op.Key, Kind: entry.EffectPut, Type: op.Type, Value: op.Value, Version: res.Version,
		Expires: x.deadline(op.Expiry), Ttl: max(-op.Expiry, 0)})
	return res, nil
}

func (x *execution) addGet(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f == nil {
		v, f = x.plus(op.Key, v, op.Delta)
	}
	if f != nil {
		return msg.Result{}, f
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectPut, Type: uint32(adt.Counter), Value: v.Payload, Version: x.next(op.Key), Expires: v.Expires}
	x.write(e)
	res := msg.Result{Found: true, Type: e.Type, Value: e.Value, Version: e.Version}
	return res, answered(&res, op, &v)
}
