package mvcc

import (
	"bytes"
	"fmt"
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Execution is what a piece did.
type Execution struct {
	Effects []entry.Effect
	Results []msg.Result
	// Failure ends the whole transaction; then Results are of the operations before it, and the rest
	// is nothing.
	Failure *msg.Failure
	// Missing are locks without which what the piece did need not be true. If
	// there are any, nothing else counts: it is to be executed again under them.
	Missing []Missing
	// Plans is how many calls were planned for it.
	Plans int
	// Absent are pages of values that it lacks. If there are any, nothing else
	// counts: it is to be executed again when they are there.
	Absent []Absent
}

// Absent are pages of a key's value that are not in memory.
type Absent struct {
	Key   []byte
	Pages []adt.Page
}

// fewWrites is up to how many writes of a piece are found by looking at each.
// Somewhat arbitrary: a map of so few costs more than it saves.
const fewWrites = 8

type execution struct {
	view    View
	version Versions
	// out.Effects are the piece's writes so far, one per key, in the order of
	// their first writes. The version of an add is not made here.
	out Execution
	// places finds a key's effect, once there are more than a few.
	places map[string]int
	// states are what the piece has made of keys of data types.
	states map[string]entry.Value
	modes  []adt.Mode
	// seq is the number of the operation under way, place its place in the piece.
	seq   uint32
	place int
}

// Versions gives a write its identity; before is that of the key's value, or
// tombstone, so far.
type Versions func(before kv.Version) kv.Version

// Exec runs ops in order. Each put and delete is given an identity by
// version; an add gets its own when it becomes visible.
func Exec(view View, ops []msg.Op, version Versions) Execution {
	return ExecInto(nil, view, ops, version)
}

// ExecInto is Exec with room for the effects, which it uses from the start.
func ExecInto(room []entry.Effect, view View, ops []msg.Op, version Versions) Execution {
	x := execution{view: view, version: version}
	x.out.Effects = room[:0]
	x.out.Results = make([]msg.Result, 0, len(ops))
	for i := range ops {
		x.seq, x.place = ops[i].Seq, i
		res, fail := x.op(&ops[i])
		if fail != nil && len(x.out.Missing)+len(x.out.Absent) > 0 {
			break // it may not be true
		}
		if fail != nil {
			fail.Seq, fail.HasSeq = ops[i].Seq, true
			return Execution{Failure: fail, Results: x.out.Results, Plans: x.out.Plans}
		}
		res.Seq, res.Operation = ops[i].Seq, adt.OperationOf(&ops[i])
		x.out.Results = append(x.out.Results, res)
	}
	return x.out
}

// own is what the piece has done to a key, nil if nothing. It is valid until
// the next write.
func (x *execution) own(key []byte) *entry.Effect {
	if x.places != nil {
		if i, ok := x.places[string(key)]; ok {
			return &x.out.Effects[i]
		}
		return nil
	}
	for i := range x.out.Effects {
		if e := &x.out.Effects[i]; bytes.Equal(e.Key, key) {
			return e
		}
	}
	return nil
}

func fail(kind kv.Kind, key []byte, format string, args ...any) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kind), Key: key, Text: fmt.Sprintf(format, args...)}
}

// value is a key as this piece sees it: its own writes over the visible one.
func (x *execution) value(key []byte) (entry.Value, *msg.Failure) {
	p := x.own(key)
	if p != nil && !changesValue(p) {
		return x.over(p, entry.Value{})
	}
	v, f := x.visibleValue(key)
	if f != nil {
		return v, f
	}
	if p != nil {
		return x.over(p, v)
	}
	return v, nil
}

// visibleValue is a key without the piece's own writes.
func (x *execution) visibleValue(key []byte) (entry.Value, *msg.Failure) {
	v, err := x.view.Value(key)
	switch e := err.(type) {
	case nil:
		return v, nil
	case Elsewhere:
		return v, Moved(key, e)
	default:
		return v, fail(kv.KindOf(err), key, "%v", err)
	}
}

// lacks notes that something lacks pages of a key's value, if that is the error.
func (x *execution) lacks(key []byte, err error) {
	if pages := adt.Lacks(err); pages != nil {
		x.out.Absent = append(x.out.Absent, Absent{key, pages})
	}
}

// payload is the stored form of a key's value, all of which it needs.
func (x *execution) payload(key []byte, v *entry.Value) ([]byte, *msg.Failure) {
	if pages := adt.Missing(v); pages != nil {
		x.out.Absent = append(x.out.Absent, Absent{key, pages})
		return nil, fail(kv.KindInternal, key, "%d pages of the value are not in memory", len(pages))
	}
	return adt.Payload(v), nil
}

// next is the identity of the piece's next write of a key.
func (x *execution) next(key []byte) kv.Version {
	v, err := x.view.Value(key)
	if err != nil {
		return x.version(kv.Version{}) // a key of a range; the piece has written it
	}
	return x.version(v.Version)
}

// plus is a counter, or nothing, with a delta added.
func (x *execution) plus(key []byte, v entry.Value, delta int64) (entry.Value, *msg.Failure) {
	n := int64(0)
	if v.Exists() {
		if v.Type != adt.Counter {
			return v, wrongType(key, v, "add", adt.Counter)
		}
		var err error
		n, err = adt.DecodeCounter(v.Payload)
		if err != nil {
			return v, fail(kv.KindOf(err), key, "%v", err)
		}
	}
	sum, ok := adt.Sum(n, delta)
	if !ok {
		return v, fail(kv.KindOutOfRange, key, "the counter is %d; adding %d would exceed 64 bits", n, delta)
	}
	return entry.Value{Type: adt.Counter, Version: Unborn, Payload: adt.EncodeCounter(sum), Expires: v.Expires}, nil
}

// Unborn stands for the version of what a transaction has itself added to, or called
// methods on: its identity is made when it becomes visible. No condition can name it.
var Unborn = kv.Version{Moves: unborn, Shard: math.MaxUint16, Write: math.MaxUint64}

// unborn is the number of moves that no key reaches.
const unborn = math.MaxUint32

// NextVersion names a write of a shard, after the version of the key before it. If that was made on
// another shard the key has moved since. Of a key without a version the tombstone may have been
// collected: it had no more moves than moves, the most of any tombstone of the shard.
func NextVersion(before kv.Version, shard kv.ShardID, write uint64, moves uint32) kv.Version {
	v := kv.Version{Moves: before.Moves, Shard: shard, Write: write}
	switch {
	case before.IsZero():
		v.Moves = moves
	case before.Shard != shard:
		v.Moves++
	}
	return v
}

// Provisional is the version of the n-th write of a transaction that is not executed
// yet: the shards make the real ones. Like Unborn it is shown to nobody.
func Provisional(n uint64) kv.Version { return kv.Version{Moves: unborn, Write: n} }

// Identity is v as callers are told it: zero for Unborn and for Provisional.
func Identity(v kv.Version) kv.Version {
	if v.Moves == unborn {
		return kv.Version{}
	}
	return v
}

func wrongType(key []byte, v entry.Value, method string, want entry.Type) *msg.Failure {
	held := adt.TypeName(v.Type)
	f := fail(kv.KindWrongType, key, "the key holds a %s, but %s needs a %s", held, method, adt.TypeName(want))
	f.Hint = "use the methods of a " + held + ", or delete the key first"
	if want == adt.Counter || want == adt.Value {
		f.Hint = "delete the key, then " + method
	}
	return f
}

// write notes an effect, in the place of an earlier one on the same key.
func (x *execution) write(e entry.Effect) {
	if old := x.own(e.Key); old != nil {
		e.Key = old.Key
		if e.Ttl == 0 && e.Expires == old.Expires {
			e.Ttl = old.Ttl
		}
		*old = e
		return
	}
	x.out.Effects = append(x.out.Effects, e)
	switch n := len(x.out.Effects); {
	case x.places != nil:
		x.places[string(e.Key)] = n - 1
	case n > fewWrites:
		x.places = make(map[string]int, 2*n)
		for i := range x.out.Effects {
			x.places[string(x.out.Effects[i].Key)] = i
		}
	}
}

func (x *execution) op(op *msg.Op) (msg.Result, *msg.Failure) {
	switch op.Kind {
	case msg.OpGet:
		return x.get(op)
	case msg.OpRequire:
		_, f := x.expect(op)
		return msg.Result{}, f
	case msg.OpPut, msg.OpDelete:
		return x.put(op)
	case msg.OpAdd:
		return msg.Result{}, x.add(op)
	case msg.OpAddGet:
		return x.addGet(op)
	case msg.OpScan:
		return x.scan(op)
	case msg.OpDeleteRange:
		return x.deleteRange(op)
	case msg.OpMoveOut:
		return x.moveOut(op)
	case msg.OpMoveIn:
		return x.moveIn(op)
	case msg.OpQuery, msg.OpUpdate, msg.OpUpdateGet:
		return x.call(op)
	case msg.OpExpire:
		return x.expire(op)
	case msg.OpDeleteExpired:
		return x.deleteExpired(op)
	}
	return msg.Result{}, fail(kv.KindInvalid, op.Key, "operation %d does not exist", op.Kind)
}

// over is what a write of the piece makes of a value.
func (x *execution) over(p *entry.Effect, v entry.Value) (entry.Value, *msg.Failure) {
	switch p.Kind {
	case entry.EffectPut:
		return entry.Value{Type: entry.Type(p.Type), Version: p.Version, Payload: p.Value, Expires: expiry(p, nil)}, nil
	case entry.EffectDelete:
		return entry.Value{Type: entry.TypeDeleted, Version: p.Version}, nil
	case entry.EffectChange:
		return x.after(p, v)
	case entry.EffectExpire:
		v.Version, v.Expires = p.Version, expiry(p, &v)
		return v, nil
	}
	after, f := x.plus(p.Key, v, p.Delta)
	after.Expires = expiry(p, &v)
	return after, f
}
