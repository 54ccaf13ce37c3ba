package sim

import (
	"fmt"
	"reflect"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

func newObject(id entry.Type) object {
	for _, x := range objectTypes {
		if x.name == adt.TypeName(id) {
			return x.make()
		}
	}
	return nil
}

// invoke executes a call in the model.
func (t *trial) invoke(op *msg.Op, res *msg.Result) (kv.Kind, error) {
	key := string(op.Key)
	c, mine := t.get(key)
	m, err := adt.Find(op)
	if err != nil {
		return kv.KindInvalid, nil
	}
	if c.exists && (c.object == nil || c.typ != m.Type.ID) {
		return kv.KindWrongType, nil
	}
	x := newObject(m.Type.ID)
	if c.exists {
		x = c.object.clone()
	}
	answer, kind := x.call(m.Name, op.Args)
	if kind != kv.KindOK {
		return kind, nil
	}
	if m.Distinct { // its result is compared with all others (checkUnique)
		if res != nil {
			return kv.KindOK, rightCount(op.Args, res.Data)
		}
		return kv.KindOK, nil
	}
	if res != nil && m.Answers && fmt.Sprint(answer) != fmt.Sprint(res.Data) {
		return kv.KindOK, fmt.Errorf("returned %v, the model %v for %v", res.Data, answer, c.object)
	}
	if !m.Changes {
		return kv.KindOK, nil
	}
	o := own{cell: cell{typ: m.Type.ID, object: x, exists: !x.empty(), expires: c.expires}, called: !mine ||
		t.own[key].called}
	o.typ = m.Type.ID
	if !o.exists {
		o.object, o.expires = nil, 0
	} else if c.exists && reflect.DeepEqual(c.object, x) {
		o.maybeVersion = c.version
		if mine {
			o.maybeVersion = c.maybeVersion
		}
	}
	t.own[key] = o
	return kv.KindOK, nil
}

// sameDump compares the stored form of a value with the model's.
func sameDump(c cell, res *msg.Result) error {
	if !c.exists || entry.Type(res.Type) != c.typ {
		return fmt.Errorf("read a %s, the model has %v", adt.TypeName(entry.Type(res.Type)), c)
	}
	if err := adt.CheckStored(c.typ, res.Value); err != nil {
		return err
	}
	return compareObject(c, &entry.Value{Type: c.typ, Version: mvcc.UnassignedVersion, Payload: res.Value})
}

// equalsStored reports whether the stored form of a value equals the model's.
func equalsStored(c cell, stored []byte) bool {
	return adt.CheckStored(c.typ, stored) == nil && compareObject(c,
		&entry.Value{Type: c.typ, Version: mvcc.UnassignedVersion, Payload: stored}) == nil
}

// compareObject compares a stored value with the model's, by the results of its methods.
func compareObject(c cell, v *entry.Value) error {
	for _, x := range objectTypes {
		t := adt.Lookup(v.Type)
		if t == nil || x.name != t.Name {
			continue
		}
		for _, s := range x.show {
			m := t.MethodByName(s.method)
			plan, _ := (&adt.Request{Method: m, Args: s.args, Value: v}).Plan(nil)
			want, _ := c.object.call(s.method, s.args)
			if fmt.Sprint(plan.Answer) != fmt.Sprint(want) {
				return fmt.Errorf("%s returns %v, the model %v", s.method, plan.Answer, want)
			}
		}
	}
	return nil
}
