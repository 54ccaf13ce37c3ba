package sim

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// step is a call of a method, or the deletion of the key if method is nil. want is the recorded result, if it is known.
type step struct {
	method *adt.TypeMethod
	args   []msg.Datum
	want   []msg.Datum
	known  bool
}

// stepsOf lists what a transaction did to a key that concerns its data type.
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
			if op.Kind == msg.OpDelete && string(op.Key) == key || op.Kind == msg.OpDeleteRange &&
				op.Span().Contains([]byte(key)) {
				out = append(out, step{})
			}
			if m, err := adt.Find(op); op.IsCall() && err == nil && string(op.Key) == key {
				s := step{method: m, args: op.Args}
				if known && i < len(results) && m.Answers && !m.Distinct {
					s.want, s.known = results[i].Data, true
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

// transcript lists the results of calls.
type transcript []callResult

type callResult struct {
	step   step
	answer []msg.Datum
	kind   kv.Kind
}

func (t transcript) equals(o transcript) bool {
	return slices.EqualFunc(t, o, func(a, b callResult) bool {
		return a.kind == b.kind && slices.EqualFunc(a.answer, b.answer, sameDatum)
	})
}

// checkKnown compares the results with the recorded ones.
func (t transcript) checkKnown() error {
	for _, s := range t {
		switch {
		case s.kind != kv.KindOK:
			return fmt.Errorf("%s ends with %v", s.step.method.Name, s.kind)
		case s.step.known && !slices.EqualFunc(s.answer, s.step.want, sameDatum):
			return fmt.Errorf("%s%v returned %v, but at that version the result is %v", s.step.method.Name, s.step.args,
				s.step.want, s.answer)
		}
	}
	return nil
}

func sameDatum(x, y msg.Datum) bool {
	return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && string(x.Bytes) == string(y.Bytes)
}

// applySteps applies steps to an object and returns the new one.
func applySteps(s object, steps []step) (object, transcript) {
	var got transcript
	for _, x := range steps {
		if x.method == nil {
			s = nil
			continue
		}
		next := newObject(x.method.Type.ID)
		if s != nil && reflect.TypeOf(s) != reflect.TypeOf(next) {
			got = append(got, callResult{x, nil, kv.KindWrongType})
			continue
		}
		if s != nil {
			next = s.clone()
		}
		answer, kind := next.call(x.method.Name, x.args)
		got = append(got, callResult{x, answer, kind})
		s = next
		if s.empty() {
			s = nil
		}
	}
	return s, got
}

// dumpObject returns a text with the whole state of an object.
func dumpObject(s object) string {
	if s == nil {
		return ""
	}
	for _, x := range objectTypes {
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
