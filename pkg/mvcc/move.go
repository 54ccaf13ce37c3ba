package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// moveOut removes a key from this shard and returns its value or tombstone. It leaves a move
// tombstone with the new shard, or, on the way back to the home shard, a plain tombstone. If the
// key has no version (it never existed, or its tombstone was collected), the result is a deletion
// with a new version, so that versions on the other shard are later than all earlier ones.
//
//	to the hot shard   home: value (0, s1, 17) ── move tombstone (0, s1, 18)      hot: value (0, s1, 17)
//	back               hot: value (1, hot, 4) ── tombstone (1, hot, 5)            home: value (1, hot, 4)
func (x *execution) moveOut(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil {
		return msg.Result{}, f
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveOut, Type: op.Type, Version: x.nextVersion(op.Key)}
	// A client may hold the version of the deleted value of which the tombstone was collected. A put
	// on the new shard must get a later one.
	if v.Version.IsZero() {
		v.Type, v.Version = entry.TypeDeleted, e.Version
	}
	if entry.Type(e.Type) == entry.TypeMoved {
		e.Value = entry.MovedPayload(op.To)
	}
	payload, f := x.storedPayload(op.Key, &v)
	if f != nil {
		return msg.Result{}, f
	}
	x.addEffect(e)
	return msg.Result{Found: true, Type: uint32(v.Type), Value: payload, Version: v.Version, Expires: v.Expires}, nil
}

// moveIn stores the result of moveOut on the new shard. A value keeps its version and its deadline.
// A deletion becomes a tombstone that counts the move, so that later writes here have later
// versions than the deletion on the other shard.
func (x *execution) moveIn(op *msg.Op) (msg.Result, *msg.Failure) {
	// A key is on one shard at a time: the moved value would overwrite the one that is here.
	if _, err := x.view.Value(op.Key); err == nil {
		return msg.Result{}, fail(kv.KindInternal, op.Key, "the key is already on this shard")
	} else if _, ok := err.(OnOtherShard); !ok {
		return msg.Result{}, fail(kv.KindOf(err), op.Key, "%v", err)
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveIn, Type: op.Type, Value: op.Value, Version: op.Version,
		Expires: op.Expiry}
	if entry.Type(op.Type) == entry.TypeDeleted {
		e.Version = x.version(op.Version)
	}
	x.addEffect(e)
	return msg.Result{}, nil
}
