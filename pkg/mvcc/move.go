package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// moveOut gives a key away, and tells what it held: a value or a tombstone. What
// it leaves is a mark, which says where the key is now, or a tombstone. Of a key
// that never was, or whose tombstone has been collected, it tells as if it had
// been deleted just now, so that later versions are later on the other shard too.
func (x *execution) moveOut(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil {
		return msg.Result{}, f
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveOut, Type: op.Type, Version: x.next(op.Key)}
	if v.Version.IsZero() {
		v.Type, v.Version = entry.TypeDeleted, e.Version
	}
	if entry.Type(e.Type) == entry.TypeMoved {
		e.Value = entry.MovedPayload(op.To)
	}
	payload, f := x.payload(op.Key, &v)
	if f != nil {
		return msg.Result{}, f
	}
	x.write(e)
	return msg.Result{Found: true, Type: uint32(v.Type), Value: payload, Version: v.Version, Expires: v.Expires}, nil
}

// moveIn takes what moveOut told. A value keeps its identity, and when it expires. That there is none
// becomes a tombstone that counts the move, so that what is written here later is
// later than what was deleted elsewhere.
func (x *execution) moveIn(op *msg.Op) (msg.Result, *msg.Failure) {
	if _, err := x.view.Value(op.Key); err == nil {
		return msg.Result{}, fail(kv.KindInternal, op.Key, "the key is already on this shard")
	} else if _, ok := err.(Elsewhere); !ok {
		return msg.Result{}, fail(kv.KindOf(err), op.Key, "%v", err)
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveIn, Type: op.Type, Value: op.Value, Version: op.Version, Expires: op.Expiry}
	if entry.Type(op.Type) == entry.TypeDeleted {
		e.Version = x.version(op.Version)
	}
	x.write(e)
	return msg.Result{}, nil
}
