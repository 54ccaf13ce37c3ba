package sim

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// step is a call, or the deletion of the key if it has no method. want is what was
// answered, if that is known.
type step struct {
	method *adt.TypeMethod
	args   []msg.Datum
	want   []msg.Datum
	known  bool
}

// stepsOf lists what a transaction did to a key, as far as it is about data types.
func stepsOf(t *txnRecord, key string) (out []step) {
	for _, c := range t.calls {
		if c.failure != nil {
			continue
		}
		results := c.results
		if c.raw {
			results, _ = pointResults(c)
		}
		known := results != nil && !t.resLost && (t.kind != oneShot || t.outcome == committed)
		for i := range c.ops {
			op := &c.ops[i]
			if op.Kind == msg.OpDelete && string(op.Key) == key || op.Kind == msg.OpDeleteRange && op.Span().Contains([]byte(key)) {
				out = append(out, step{})
			}
			if m, err := adt.Find(op); op.IsCall() && err == nil && string(op.Key) == key {
				s := step{method: m, args: op.Args}
				if known && i < len(results) && m.Answers && !m.Distinct {
					s.want, s.known = results[i].Answer, true
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// calledKeys lists the keys on which a transaction has called methods.
func calledKeys(t *txnRecord) (out []string) {
	for _, c := range t.calls {
		for i := range c.ops {
			if key := string(c.ops[i].Key); c.failure == nil && c.ops[i].IsCall() && !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// transcript is what calls answered.
type transcript []said

type said struct {
	step   step
	answer []msg.Datum
	kind   kv.Kind
}

func (t transcript) same(o transcript) bool {
	return slices.EqualFunc(t, o, func(a, b said) bool {
		return a.kind == b.kind && slices.EqualFunc(a.answer, b.answer, sameDatum)
	})
}

// agree tells what was answered otherwise.
func (t transcript) agree() error {
	for _, s := range t {
		switch {
		case s.kind != kv.KindOK:
			return fmt.Errorf("%s ends with %v", s.step.method.Name, s.kind)
		case s.step.known && !slices.EqualFunc(s.answer, s.step.want, sameDatum):
			return fmt.Errorf("%s%v answered %v, and by then it is %v", s.step.method.Name, s.step.args, s.step.want, s.answer)
		}
	}
	return nil
}

func sameDatum(x, y msg.Datum) bool {
	return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && string(x.Bytes) == string(y.Bytes)
}

// carry does steps to a thing.
func carry(s thing, steps []step) (thing, transcript) {
	var told transcript
	for _, x := range steps {
		if x.method == nil {
			s = nil
			continue
		}
		next := makeThing(x.method.Type.ID)
		if s != nil && reflect.TypeOf(s) != reflect.TypeOf(next) {
			told = append(told, said{x, nil, kv.KindWrongType})
			continue
		}
		if s != nil {
			next = s.clone()
		}
		answer, kind := next.call(x.method.Name, x.args)
		told = append(told, said{x, answer, kind})
		s = next
		if s.empty() {
			s = nil
		}
	}
	return s, told
}

// shown is all that a thing shows.
func shown(s thing) string {
	if s == nil {
		return ""
	}
	for _, x := range things {
		if reflect.TypeOf(x.make()) != reflect.TypeOf(s) {
			continue
		}
		text := x.name
		for _, m := range x.show {
			answer, _ := s.call(m.method, m.args)
			text += fmt.Sprint(answer)
		}
		return text
	}
	return "?"
}
