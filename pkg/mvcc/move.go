package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// moveOut gives a key away, and tells what it held: a value, a tombstone, or
// nothing. What it leaves is a mark, which says where the key is now, or a
// tombstone.
func (x *execution) moveOut(op *msg.Op) (msg.Result, *msg.Failure) {
	v, f := x.value(op.Key)
	if f != nil {
		return msg.Result{}, f
	}
	if v.Version.IsZero() {
		v.Type = entry.TypeDeleted
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveOut, Type: op.Type, Version: x.next(op.Key)}
	if entry.Type(e.Type) == entry.TypeMoved {
		e.Value = entry.MovedPayload(op.To)
	}
	x.write(e)
	return msg.Result{Found: true, Type: uint32(v.Type), Value: v.Payload, Version: v.Version}, nil
}

// moveIn takes what moveOut told. A value keeps its identity. That there is none
// becomes a tombstone that counts the move, so that what is written here later is
// later than what was deleted elsewhere.
func (x *execution) moveIn(op *msg.Op) (msg.Result, *msg.Failure) {
	if _, err := x.view.Value(op.Key); err == nil {
		return msg.Result{}, fail(kv.KindInternal, op.Key, "the key lives here already")
	} else if _, ok := err.(Elsewhere); !ok {
		return msg.Result{}, fail(kv.KindOf(err), op.Key, "%v", err)
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectMoveIn, Type: op.Type, Value: op.Value, Version: op.Version}
	if entry.Type(op.Type) == entry.TypeDeleted {
		e.Version = x.version(op.Version)
		e.Version.Moves = max(e.Version.Moves, 1)
	}
	x.write(e)
	return msg.Result{}, nil
}
