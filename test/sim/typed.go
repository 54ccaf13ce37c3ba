package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// thingKey is a key that mostly holds a value of the data type number n in
// things.
func thingKey(n, i int) []byte { return fmt.Appendf(nil, "t%d.%d", n, i) }

func makeThing(id entry.Type) thing {
	for _, x := range things {
		if x.name == adt.TypeName(id) {
			return x.make()
		}
	}
	return nil
}

// someCall calls a method of a data type, mostly one of the key's own.
func (c *client) someCall(readOnly bool) msg.Op {
	r := c.w.rng
	n := r.IntN(len(things))
	for !c.w.opt.calls(things[n].name) {
		n = r.IntN(len(things))
	}
	key := thingKey(n, r.IntN(c.w.opt.Things))
	if r.IntN(30) == 0 {
		key = c.anyKey()
	}
	t := adt.ByName(things[n].name)
	for {
		m := t.Methods[r.IntN(len(t.Methods))]
		if ms := c.w.opt.Methods; len(ms) > 0 {
			m = t.MethodByName(pick(r, ms...))
		}
		if m.Name == "create" && c.w.opt.Stock > 0 {
			if !readOnly {
				return m.Op(key, numbers(0, c.w.opt.Stock, c.w.opt.Stock)...)
			}
			continue
		}
		if op, ok := c.drawCall(m, key); ok && (!readOnly || !m.Changes) {
			return op
		}
	}
}

// calls reports whether methods of a data type are called.
func (o *Options) calls(name string) bool {
	return adt.ByName(name) != nil && (len(o.Types) == 0 || slices.Contains(o.Types, name))
}

// drawCall makes up arguments. Those of one kind are few, so that they clash.
func (c *client) drawCall(m *adt.TypeMethod, key []byte) (op msg.Op, ok bool) {
	r, padding := c.w.rng, strings.Repeat(".", c.w.opt.Padding)
	name := func() msg.Datum { return datum(string(rune('a'+r.IntN(4))) + padding) }
	num := func(n int) msg.Datum { return adt.Int(int64(r.IntN(n))) }
	score := func() msg.Datum { return adt.Float(float64(r.IntN(9) - 3)) }
	var args []msg.Datum
	switch m.Type.Name + "." + m.Name {
	case "set.size", "set.members", "dict.size", "dict.all", "scored-set.size", "list.length", "bounded-counter.get",
		"bag.count", "bag.sum", "bag.min", "bag.max", "top-k.max":
	case "set.add", "set.remove", "set.add-count", "set.remove-count", "dict.delete", "scored-set.remove", "list.append", "list.append-length":
		for range 1 + r.IntN(2) {
			args = append(args, name())
		}
	case "set.contains", "dict.get", "dict.has", "scored-set.score", "scored-set.rank":
		args = append(args, name())
	case "dict.set":
		for range 1 + r.IntN(2) {
			args = append(args, name(), datum(fmt.Sprint(r.IntN(5))))
		}
		if r.IntN(20) == 0 {
			args[1] = datum("no number")
		}
	case "dict.set-new":
		args = append(args, name(), datum(fmt.Sprint(r.IntN(5))))
	case "dict.increment", "dict.increment-get":
		args = append(args, name(), num(9))
	case "scored-set.add":
		args = append(args, score(), name())
	case "scored-set.increment", "scored-set.increment-get":
		args = append(args, name(), score())
	case "scored-set.by-rank", "list.range", "list.trim":
		args = append(args, num(3), num(6))
	case "list.index":
		args = append(args, num(4))
	case "bounded-counter.create":
		args = append(args, adt.Int(0), adt.Int(8), num(9))
	case "bounded-counter.add", "bounded-counter.subtract", "bounded-counter.try-add", "bounded-counter.try-subtract":
		args = append(args, adt.Int(1+int64(r.IntN(4))))
	case "bag.add":
		args = append(args, score())
	case "top-k.add":
		args = append(args, score(), name())
	case "top-k.top":
		args = append(args, adt.Int(1+int64(r.IntN(4))))
	case "ids.next":
		if r.IntN(2) == 0 {
			args = append(args, adt.Int(1+int64(r.IntN(3))))
		}
	default:
		return op, false
	}
	return m.Op(key, args...), true
}

// invoke executes a call in the model.
func (t *trial) invoke(op *msg.Op, res *msg.Result) (kv.Kind, error) {
	key := string(op.Key)
	c, mine := t.get(key)
	m, err := adt.Find(op)
	if err != nil {
		return kv.KindInvalid, nil
	}
	if c.exists && (c.thing == nil || c.typ != m.Type.ID) {
		return kv.KindWrongType, nil
	}
	x := makeThing(m.Type.ID)
	if c.exists {
		x = c.thing.clone()
	}
	answer, kind := x.call(m.Name, op.Args)
	if kind != kv.KindOK {
		return kind, nil
	}
	if m.Distinct { // what it answers is compared with all others (checkUnique)
		if res != nil {
			return kv.KindOK, rightCount(op.Args, res.Answer)
		}
		return kv.KindOK, nil
	}
	if res != nil && m.Answers && fmt.Sprint(answer) != fmt.Sprint(res.Answer) {
		return kv.KindOK, fmt.Errorf("answered %v, the model %v of %v", res.Answer, answer, c.thing)
	}
	if !m.Changes {
		return kv.KindOK, nil
	}
	o := own{cell: cell{typ: m.Type.ID, thing: x, exists: !x.empty()}, called: !mine || t.own[key].called}
	if o.typ = m.Type.ID; !o.exists {
		o.thing = nil
	}
	t.own[key] = o
	return kv.KindOK, nil
}

// sameThing compares a stored value with the model's, by what its methods show.
func sameThing(c cell, v *entry.Value) error {
	for _, x := range things {
		t := adt.Lookup(v.Type)
		if t == nil || x.name != t.Name {
			continue
		}
		for _, s := range x.show {
			m := t.MethodByName(s.method)
			plan, _ := (&adt.Request{Method: m, Args: s.args, Value: v}).Plan(nil)
			want, _ := c.thing.call(s.method, s.args)
			if fmt.Sprint(plan.Answer) != fmt.Sprint(want) {
				return fmt.Errorf("%s shows %v, the model %v", s.method, plan.Answer, want)
			}
		}
	}
	return nil
}
