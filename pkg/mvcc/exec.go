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

// Execution is the result of executing a piece.
type Execution struct {
	Effects []entry.Effect
	Results []msg.Result
	// Failure aborts the transaction. Then Results are those of the operations before the failing
	// one, and all other fields are empty.
	Failure *msg.Failure
	// Missing are locks without which the results are not valid. If there are any, ignore everything
	// else and execute the piece again under these locks.
	Missing []adt.Need
	// Plans is the number of plans that were computed.
	Plans int
	// Absent are pages that the piece needs and that are not in memory. If there are any, ignore
	// everything else, load them and execute the piece again.
	Absent []AbsentPages
}

// AbsentPages are pages of a key's value that are not in memory.
type AbsentPages struct {
	Key   []byte
	Pages []adt.Page
}

// linearSearchMax is the number of effects up to which ownEffect searches linearly; a map of so few
// costs more than it saves. The value is not critical.
const linearSearchMax = 8

// execution is the state of one run of Exec.
type execution struct {
	view    View
	version Versions
	// out.Effects are the piece's writes so far, one per key, in the order of their first writes. An
	// add has no version yet: it gets one when it becomes visible.
	out Execution
	// byKey is the position of a key's effect; nil up to linearSearchMax effects.
	byKey map[string]int
	// callStates are the values of the keys that the piece has called methods on.
	callStates map[string]entry.Value
	modes      []adt.Mode
	// seq is the number of the current operation, opIndex its position in the piece.
	seq     uint32
	opIndex int
}

// Versions returns the version of a write; before is the version of the key's value or tombstone so
// far.
type Versions func(before kv.Version) kv.Version

// Exec executes ops in order. A put or delete gets its version from version; an add gets one when
// it becomes visible.
func Exec(view View, ops []msg.Op, version Versions) Execution {
	return ExecInto(nil, view, ops, version)
}

// ExecInto is Exec with a buffer for the effects, which it overwrites from its start.
func ExecInto(buf []entry.Effect, view View, ops []msg.Op, version Versions) Execution {
	x := execution{view: view, version: version}
	x.out.Effects = buf[:0]
	x.out.Results = make([]msg.Result, 0, len(ops))
	for i := range ops {
		x.seq, x.opIndex = ops[i].Seq, i
		res, fail := x.execute(&ops[i])
		// A failure that was computed without a needed lock may be caused by an undecided change of
		// another transaction that aborts. The piece is executed again with the lock; only that
		// failure counts.
		if fail != nil && len(x.out.Missing)+len(x.out.Absent) > 0 {
			break // the failure is not valid without these locks and pages
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

// ownEffect returns the piece's effect on a key, or nil. The pointer is valid until the next
// addEffect.
func (x *execution) ownEffect(key []byte) *entry.Effect {
	if x.byKey != nil {
		if i, ok := x.byKey[string(key)]; ok {
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

// fail returns a failure of the request itself: a retry fails in the same way.
func fail(kind kv.Kind, key []byte, format string, args ...any) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kind), Key: key, Text: fmt.Sprintf(format, args...)}
}

// value returns the value of a key as this piece sees it: its own writes applied to the visible
// value.
//
//	the piece has              the value is
//	nothing on the key         the visible one
//	put or deleted it          its own, whatever is visible
//	added, called or expired   the visible one with its own changes
func (x *execution) value(key []byte) (entry.Value, *msg.Failure) {
	p := x.ownEffect(key)
	// The own put or deletion determines the value, so the key need not be in memory.
	if p != nil && !modifiesValue(p) {
		return x.applyOwn(p, entry.Value{})
	}
	v, f := x.visibleValue(key)
	if f != nil {
		return v, f
	}
	if p != nil {
		return x.applyOwn(p, v)
	}
	return v, nil
}

// visibleValue returns the value of a key without the piece's own writes.
func (x *execution) visibleValue(key []byte) (entry.Value, *msg.Failure) {
	v, err := x.view.Value(key)
	switch e := err.(type) {
	case nil:
		return v, nil
	case OnOtherShard:
		return v, RedirectFailure(key, e)
	default:
		return v, fail(kv.KindOf(err), key, "%v", err)
	}
}

// noteAbsentPages adds the pages to Absent that err reports as not in memory, if it does.
func (x *execution) noteAbsentPages(key []byte, err error) {
	if pages := adt.AbsentPages(err); pages != nil {
		x.out.Absent = append(x.out.Absent, AbsentPages{key, pages})
	}
}

// storedPayload returns the encoding of a value, for which all its pages must be in memory.
func (x *execution) storedPayload(key []byte, v *entry.Value) ([]byte, *msg.Failure) {
	if pages := adt.MissingPages(v); pages != nil {
		x.out.Absent = append(x.out.Absent, AbsentPages{key, pages})
		return nil, fail(kv.KindInternal, key, "%d pages of the value are not in memory", len(pages))
	}
	return adt.Payload(v), nil
}

// nextVersion returns the version of the piece's next write of a key.
//
// It depends on the version before: a key that was written on another shard has moved, so the version counts that.
func (x *execution) nextVersion(key []byte) kv.Version {
	v, err := x.view.Value(key)
	if err != nil {
		return x.version(kv.Version{}) // a key of a range that only this piece has written
	}
	return x.version(v.Version)
}

// addDelta returns a counter, or nothing, with a delta added.
func (x *execution) addDelta(key []byte, v entry.Value, delta int64) (entry.Value, *msg.Failure) {
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
	return entry.Value{Type: adt.Counter, Version: UnassignedVersion, Payload: adt.EncodeCounter(sum), Expires: v.Expires},
		nil
}

// UnassignedVersion is the version of a value that the transaction itself has incremented or called methods
// on: its real version is assigned when it becomes visible. No condition can name it.
var UnassignedVersion = kv.Version{Moves: unassignedMoves, Shard: math.MaxUint16, Write: math.MaxUint64}

// unassignedMoves is a number of moves that no key reaches.
const unassignedMoves = math.MaxUint32

// NextVersion returns the version of a write on a shard, given the version of the key before it. If
// another shard made that version, the key has moved, so the move count rises. If the key has no
// version, its tombstone may have been collected; moves is the highest move count of any tombstone
// of the shard, so the new version is later than that of the collected one.
//
//	s1 writes k        (0, s1, 17)
//	k moves; hot shard writes it   (1, hot, 4): later, although 4 < 17
//	k moves back; s1 writes it     (2, s1, 90)
//	k is deleted, its tombstone is collected; s1 writes it   (moves of the shard, s1, 95)
func NextVersion(before kv.Version, shard kv.ShardID, write uint64, moves uint32) kv.Version {
	v := kv.Version{Moves: before.Moves, Shard: shard, Write: write}
	switch {
	case before.IsZero():
		v.Moves = moves
	// The key was written on another shard and moved here. The write numbers of the two shards are
	// not comparable, so the move count orders the versions.
	case before.Shard != shard:
		v.Moves++
	}
	return v
}

// ProvisionalVersion returns the version of the n-th buffered write of a transaction at its gateway; the
// shards assign the real ones. Like UnassignedVersion it never leaves the node.
func ProvisionalVersion(n uint64) kv.Version { return kv.Version{Moves: unassignedMoves, Write: n} }

// ClientVersion returns the version that clients see: zero for unassigned and provisional ones.
func ClientVersion(v kv.Version) kv.Version {
	if v.Moves == unassignedMoves {
		return kv.Version{}
	}
	return v
}

// wrongType returns the failure of a method on a key of another type.
func wrongType(key []byte, v entry.Value, method string, want entry.Type) *msg.Failure {
	held := adt.TypeName(v.Type)
	f := fail(kv.KindWrongType, key, "the key holds a %s, but %s needs a %s", held, method, adt.TypeName(want))
	f.Hint = "use the methods of a " + held + ", or delete the key first"
	if want == adt.Counter || want == adt.Value {
		f.Hint = "delete the key, then " + method
	}
	return f
}

// addEffect adds an effect; it replaces an earlier one on the same key.
//
// There is one effect per key: a participant prepares it as one intent, and the log gets one row.
func (x *execution) addEffect(e entry.Effect) {
	if old := x.ownEffect(e.Key); old != nil {
		e.Key = old.Key
		// The deadline is unchanged, and its time to live is kept with it.
		if e.Ttl == 0 && e.Expires == old.Expires {
			e.Ttl = old.Ttl
		}
		*old = e
		return
	}
	x.out.Effects = append(x.out.Effects, e)
	switch n := len(x.out.Effects); {
	// A piece can have up to kv.MaxTxnOps writes, for which linear search would be quadratic.
	case x.byKey != nil:
		x.byKey[string(e.Key)] = n - 1
	case n > linearSearchMax:
		x.byKey = make(map[string]int, 2*n)
		for i := range x.out.Effects {
			x.byKey[string(x.out.Effects[i].Key)] = i
		}
	}
}

// execute executes one operation.
func (x *execution) execute(op *msg.Op) (msg.Result, *msg.Failure) {
	switch op.Kind {
	case msg.OpGet:
		return x.get(op)
	case msg.OpRequire:
		_, f := x.checkExpectation(op)
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

// applyOwn returns the value after the piece's own effect p on v.
func (x *execution) applyOwn(p *entry.Effect, v entry.Value) (entry.Value, *msg.Failure) {
	switch p.Kind {
	case entry.EffectPut:
		return entry.Value{Type: entry.Type(p.Type), Version: p.Version, Payload: p.Value, Expires: expiryAfter(p, nil)}, nil
	case entry.EffectDelete:
		return entry.Value{Type: entry.TypeDeleted, Version: p.Version}, nil
	case entry.EffectChange:
		return x.valueAfterCalls(p, v)
	case entry.EffectExpire:
		v.Version, v.Expires = p.Version, expiryAfter(p, &v)
		return v, nil
	}
	after, f := x.addDelta(p.Key, v, p.Delta)
	after.Expires = expiryAfter(p, &v)
	return after, f
}
