package mvcc

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// View is what operations see.
type View interface {
	// Value is the newest visible value of a key, or a tombstone; the error is
	// an Elsewhere if the key lives on another shard.
	Value(key []byte) (entry.Value, error)
	// Pending is the least and the greatest sum that the undecided adds of
	// other transactions on a key may come to; the ends of 64 bits stand for
	// everything beyond them as well.
	Pending(key []byte) (low, high int64)
	// Rows is the answer to the cold read of a range operation, by Op.Seq.
	Rows(seq uint32) RangeRows
	// Clock is the time by which keys expire, in milliseconds since 1970, rounded up.
	Clock() int64
	// Calls is what calls of data types see beyond the value; nil where they are
	// not made but only buffered.
	Calls() *Calls
}

// Elsewhere is the error of a View that does not have a key: it lives on
// another shard.
type Elsewhere struct{ Shard kv.ShardID }

func (e Elsewhere) Error() string { return "the key lives on shard " + e.Shard.String() }

// Moved is the failure of an operation on a key that lives on another shard.
func Moved(key []byte, e Elsewhere) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonMoved, Kind: uint32(kv.KindAborted), Key: key, MovedTo: e.Shard, Text: e.Error()}
}

// RangeRows is what a range held when its lock was taken.
type RangeRows struct {
	Rows []RangeRow
	// Resume is where the rest begins, nil if there is none.
	Resume []byte
}

// RangeRow is one existing key of a range.
type RangeRow struct {
	Key   []byte
	Value entry.Value
	// Index is when Value became visible.
	Index kv.Index
	// Partial: the row is a delta or a directory, so that of Value only type and
	// identity are known. Paged: the value is in pages.
	Partial, Paged bool
}

// Execution is what a piece did.
type Execution struct {
	Effects []entry.Effect
	Results []msg.Result
	// Failure ends the whole transaction; then the rest is nothing.
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
			return Execution{Failure: fail, Plans: x.out.Plans}
		}
		res.Seq = ops[i].Seq
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
		if n, err = adt.DecodeCounter(v.Payload); err != nil {
			return v, fail(kv.KindOf(err), key, "%v", err)
		}
	}
	sum, ok := adt.Sum(n, delta)
	if !ok {
		return v, fail(kv.KindOutOfRange, key, "the counter stands at %d; adding %d would leave 64 bits", n, delta)
	}
	return entry.Value{Type: adt.Counter, Version: Unborn, Payload: adt.EncodeCounter(sum), Expires: v.Expires}, nil
}

// Unborn stands for the version of what a transaction has itself added to, or called
// methods on: its identity is made when it becomes visible. No condition can name it.
var Unborn = kv.Version{Moves: unborn, Shard: math.MaxUint16, Write: math.MaxUint64}

// unborn is the number of moves that no key reaches.
const unborn = math.MaxUint32

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
	return fail(kv.KindWrongType, key, "the key holds a %s; %s is for a %s", adt.TypeName(v.Type), method, adt.TypeName(want))
}

// write notes an effect, in the place of an earlier one on the same key.
func (x *execution) write(e entry.Effect) {
	if old := x.own(e.Key); old != nil {
		e.Key = old.Key
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
	case msg.OpLockRange:
		return msg.Result{}, nil
	case msg.OpMoveOut:
		return x.moveOut(op)
	case msg.OpMoveIn:
		return x.moveIn(op)
	case msg.OpAsk, msg.OpChange, msg.OpChangeAsk:
		return x.call(op)
	case msg.OpExpire:
		return x.expire(op)
	case msg.OpDeleteExpired:
		return x.deleteExpired(op)
	}
	return msg.Result{}, fail(kv.KindInvalid, op.Key, "operation %d does not exist", op.Kind)
}

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

// standing is what a key is at the moment, in words.
func standing(v entry.Value) string {
	switch {
	case !v.Exists():
		return "absent"
	case v.Version.Moves == unborn:
		return "changed by this transaction"
	}
	return "at version " + v.Version.String()
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
			f = fail(kv.KindCondition, op.Key, "the key is required to exist and is %s", standing(v))
		}
	case msg.ExpectAbsent:
		if v.Exists() {
			f = fail(kv.KindCondition, op.Key, "the key is required to be absent and is %s", standing(v))
		}
	case msg.ExpectValue:
		var has []byte
		if v.Exists() {
			if has, f = x.payload(op.Key, &v); f != nil {
				return v, f
			}
		}
		if !v.Exists() || !bytes.Equal(has, op.ExpectValue) {
			f = fail(kv.KindCondition, op.Key, "the key does not have the expected value; it is %s", standing(v))
		}
	case msg.ExpectVersion:
		if !v.Exists() || v.Version != op.ExpectVersion {
			f = fail(kv.KindCondition, op.Key, "the key is expected at version %v and is %s", op.ExpectVersion, standing(v))
		}
	}
	if f != nil && v.Exists() {
		f.Current = &msg.Pair{Key: op.Key, Value: Shown(&v), Type: uint32(v.Type), Version: Identity(v.Version)}
	} else if f != nil {
		f.Current = &msg.Pair{Key: op.Key, Type: uint32(entry.TypeDeleted)}
	}
	return v, f
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
	if v.Exists() && v.Type != adt.Register && !op.Stored {
		return res, wrongType(op.Key, v, "put", adt.Register)
	}
	res.Version = x.next(op.Key)
	x.write(entry.Effect{Key: op.Key, Kind: entry.EffectPut, Type: op.Type, Value: op.Value, Version: res.Version, Expires: x.deadline(op.Expiry)})
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

// visible is the range as this piece sees it, in order. What the piece has
// added to is told by the range too: the key alone may not have been read.
func (x *execution) visible(op *msg.Op) ([]RangeRow, []byte, *msg.Failure) {
	found := x.view.Rows(op.Seq)
	rows := make([]RangeRow, 0, len(found.Rows))
	span := op.Span()
	under := map[string]entry.Value{}
	for _, r := range found.Rows {
		if x.own(r.Key) == nil {
			rows = append(rows, r)
		} else {
			under[string(r.Key)] = r.Value
		}
	}
	for i := range x.out.Effects {
		p := &x.out.Effects[i]
		if !span.Contains(p.Key) || found.Resume != nil && bytes.Compare(p.Key, found.Resume) >= 0 {
			continue
		}
		v, f := x.over(p, under[string(p.Key)])
		if f != nil {
			return nil, nil, f
		}
		if v.Exists() {
			rows = append(rows, RangeRow{Key: p.Key, Value: v})
		}
	}
	slices.SortFunc(rows, func(a, b RangeRow) int { return bytes.Compare(a.Key, b.Key) })
	return rows, found.Resume, nil
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

func (x *execution) scan(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visible(op)
	if f != nil {
		return msg.Result{}, f
	}
	if limit := ScanLimit(op); len(rows) > limit {
		resume = rows[limit].Key
		rows = rows[:limit]
	}
	res := msg.Result{Found: len(rows) > 0, Resume: resume, Pairs: make([]msg.Pair, len(rows))}
	for i, r := range rows {
		res.Pairs[i] = msg.Pair{Key: r.Key, Value: Shown(&r.Value), Type: uint32(r.Value.Type), Version: Identity(r.Value.Version), Expires: r.Value.Expires}
	}
	return res, nil
}

func (x *execution) deleteRange(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visible(op)
	if f != nil {
		return msg.Result{}, f
	}
	if resume != nil || len(rows) > kv.MaxTxnOps {
		return msg.Result{}, fail(kv.KindInvalid, op.Key, "the range holds more than %d keys on one shard; delete it in parts", kv.MaxTxnOps)
	}
	for _, r := range rows {
		e := entry.Effect{Key: r.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted)}
		if x.own(r.Key) != nil {
			e.Version = x.next(r.Key)
		} else {
			e.Version = x.version(r.Value.Version)
		}
		x.write(e)
	}
	return msg.Result{Found: len(rows) > 0, Count: uint64(len(rows))}, nil
}

// ScanLimit is how many pairs a scan operation may return.
func ScanLimit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
