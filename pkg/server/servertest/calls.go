package servertest

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// named gets a plain value or a counter for a call by its name.
func (t *tx) named(o *msg.Op) *kv.Error {
	v := t.get(o.Key)
	if v.Exists() && v.Type != entry.Type(o.Type) {
		return t.fail(o, kv.KindWrongType, "the key holds a "+adt.TypeName(v.Type))
	}
	answer, err := adt.PlainAnswer(o, &v)
	if err != nil {
		return t.fail(o, kv.KindOf(err), err.Error())
	}
	t.results = append(t.results, msg.Result{Seq: o.Seq, Found: v.Exists(), Type: uint32(v.Type), Version: v.Version,
		Data: answer})
	return nil
}

// call calls a method of a data type.
func (t *tx) call(o *msg.Op) *kv.Error {
	m, err := adt.Find(o)
	if err != nil {
		return t.fail(o, kv.KindOf(err), kv.TextOf(err))
	}
	v := t.get(o.Key)
	if v.Exists() && v.Type != m.Type.ID {
		return t.fail(o, kv.KindWrongType, "the key holds a "+adt.TypeName(v.Type)+"; "+m.Name+" is for a "+m.Type.Name)
	}
	r := adt.Request{Method: m, Args: o.Args, Value: &v, Unique: t.unique(o.Seq)}
	plan, _ := r.Plan(nil)
	err = plan.Err
	if err == nil && len(plan.Calls) > 0 {
		var after entry.Value
		after, err = adt.Apply(m.Type.ID, &v, plan.Calls)
		if err == nil {
			t.store.writes++
			after.Version = kv.Version{Write: t.store.writes}
			t.written[string(o.Key)] = after
		}
	}
	if err != nil {
		return t.fail(o, kv.KindOf(err), m.Name+" of a "+m.Type.Name+": "+kv.TextOf(err))
	}
	t.results = append(t.results, msg.Result{Seq: o.Seq, Found: v.Exists(), Type: uint32(m.Type.ID), Version: v.Version,
		Data: plan.Answer})
	return nil
}

func (t *tx) unique(seq uint32) (out [24]byte) {
	_, _ = t.o.ID.MarshalTo(out[:]) // fails only for want of room
	binary.BigEndian.PutUint32(out[20:], seq)
	return out
}
