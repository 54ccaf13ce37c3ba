package server

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// budget is what one transaction has used of its limits so far. A one-shot
// transaction uses it once, an interactive one over all of its steps.
type budget struct {
	ops, bytes int
	// class is what its answer may be.
	class memory.Class
	// writes: one of the operations can change something.
	writes bool
}

// opCost is about what an operation takes beside its bytes while it is in flight: a
// message to a shard, what that and the gateway know of it, and its result.
const opCost = 512

// memory is about how many bytes the transaction takes, its answer left out.
func (b *budget) memory() int64 { return int64(b.bytes) + int64(b.ops)*opCost }

// shownKey bounds the bytes of a key that an error about it carries.
const shownKey = 64

// operations checks in and gives the same for the backend. The error is that
// of the first invalid operation, with its number.
func operations(in []pb.Op, b *budget) ([]msg.Op, *kv.Error) {
	if err := b.count(len(in)); err != nil {
		return nil, err
	}
	out := make([]msg.Op, len(in))
	for i := range in {
		if err := b.spend(&out[i], i, operation(&in[i], &out[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// count adds n operations.
func (b *budget) count(n int) *kv.Error {
	if n == 0 {
		return invalid("the transaction has no operations", `set at least one, as in {"ops":[{"get":{"key":"..."}}]}`)
	}
	b.ops += n
	if b.ops > kv.MaxTxnOps {
		return invalid(fmt.Sprintf("the transaction has %d operations", b.ops),
			fmt.Sprintf("the limit is %d; split the transaction", kv.MaxTxnOps))
	}
	return nil
}

// spend adds operation i, which was converted to o with err, and numbers it.
func (b *budget) spend(o *msg.Op, i int, err *kv.Error) *kv.Error {
	if err != nil {
		return at(err, i, o.Key)
	}
	// Each kind of operation has looked at its key. That none reaches linchpin's own
	// must not rest on each having done so.
	if _, err := kv.ClientRange(o.Key, nil); err != nil {
		return at(errorOf(err), i, o.Key)
	}
	o.Seq = uint32(i)
	b.writes = b.writes || o.Writes()
	switch {
	case o.IsRange() && b.class >= memory.Ranges:
		b.class = memory.ManyRanges
	case o.IsRange():
		b.class = memory.Ranges
	case b.class == memory.Blind && o.Kind != msg.OpPut && o.Kind != msg.OpAdd && o.Kind != msg.OpDelete:
		b.class = memory.Points
	}
	b.bytes += len(o.Key) + len(o.End) + len(o.Value) + len(o.ExpectValue) + argBytes(o.Args)
	if b.bytes > kv.MaxTxnBytes {
		return invalid(fmt.Sprintf("the keys and values of the transaction have %d bytes or more", b.bytes),
			fmt.Sprintf("the limit is %d bytes; split the transaction", kv.MaxTxnBytes))
	}
	return nil
}

// at completes an error about operation i.
func at(e *kv.Error, i int, key []byte) *kv.Error {
	e.Op = i
	if len(e.Key) == 0 {
		e.Key = key[:min(len(key), shownKey)]
	}
	return e
}

func invalid(text, hint string) *kv.Error {
	return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: text, Hint: hint}
}

// operation checks one operation and converts it.
func operation(in *pb.Op, out *msg.Op) *kv.Error {
	if in.Op != nil && len(in.XXX_unrecognized) > 0 {
		return unknownField()
	}
	switch o := in.Op.(type) {
	case *pb.Op_Get:
		return getOperation(o.Get, out)
	case *pb.Op_Put:
		return putOperation(o.Put, out)
	case *pb.Op_Delete:
		return deleteOperation(o.Delete, out)
	case *pb.Op_Require:
		return requireOperation(o.Require, out)
	case *pb.Op_Add:
		return addOperation(o.Add, out)
	case *pb.Op_Scan:
		return scanOperation(o.Scan, out)
	case *pb.Op_DeleteRange:
		return deleteRangeOperation(o.DeleteRange, out)
	case *pb.Op_Call:
		return callOperation(o.Call, out)
	case *pb.Op_Dump:
		return dumpOperation(o.Dump, out)
	case *pb.Op_Restore:
		return restoreOperation(o.Restore, out)
	case *pb.Op_Expire:
		return expireOperation(o.Expire, out)
	case *pb.Op_Persist:
		return persistOperation(o.Persist, out)
	}
	return unknownOperation()
}

func unknownOperation() *kv.Error {
	return invalid("the server does not know this kind of operation",
		"use one of get, put, delete, require, add, scan, delete_range, call, dump, restore, expire, persist; if the "+
			"client is newer than the server, upgrade the server")
}

// unknownField rejects an operation with a field that this server does not know. If the
// field is a condition, a time to live or an argument of a newer client, the operation
// without it is another one.
func unknownField() *kv.Error {
	return invalid("the operation has a field that this server does not know",
		"the client is newer than the server: upgrade all nodes before clients use new features")
}

func getOperation(in *pb.GetOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.ForUpdate = msg.OpGet, in.Key, in.ForUpdate
	return pointOperation(in.XXX_unrecognized, out)
}

func putOperation(in *pb.PutOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.Value = msg.OpPut, in.Key, in.Value
	if err := putCondition(in, out); err != nil {
		return err
	}
	if in.TtlMs != 0 {
		if err := expireAfter(in.TtlMs, out); err != nil {
			return err
		}
	}
	return pointOperation(in.XXX_unrecognized, out)
}

func expireOperation(in *pb.ExpireOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key = msg.OpExpire, in.Key
	if err := expireAfter(in.TtlMs, out); err != nil {
		return err
	}
	return pointOperation(in.XXX_unrecognized, out)
}

func persistOperation(in *pb.PersistOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key = msg.OpExpire, in.Key
	return pointOperation(in.XXX_unrecognized, out)
}

// expireAfter sets a time to live.
func expireAfter(ms int64, out *msg.Op) *kv.Error {
	const most = int64(kv.MaxTTL / time.Millisecond)
	if ms > most || ms < 0 { // which might not be a time.Duration
		ms = max(min(ms, most+1), -1)
	}
	out.Expiry = -ms
	return check(kv.CheckTTL(time.Duration(ms) * time.Millisecond))
}

func dumpOperation(in *pb.DumpOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.Stored = msg.OpGet, in.Key, true
	return pointOperation(in.XXX_unrecognized, out)
}

// restoreOperation takes nothing that could not be read afterwards.
func restoreOperation(in *pb.RestoreOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.Stored, out.Type, out.Value = msg.OpPut, in.Key, true, uint32(in.Type), in.Value
	if len(in.XXX_unrecognized) > 0 {
		return unknownField()
	}
	if err := check(kv.CheckClientKey(out.Key)); err != nil {
		return err
	}
	if entry.Type(in.Type) == adt.Counter {
		out.Value = adt.EncodeCounter(in.Number)
	}
	out.Expiry = in.ExpiresAtMs
	if out.Expiry < 0 || out.Expiry > kv.MaxExpires {
		return invalid(fmt.Sprintf("the expiry time %d is invalid", out.Expiry), "restore the exact result of a dump")
	}
	if in.Type < 0 || in.Type > math.MaxUint8 {
		return invalid(fmt.Sprintf("unknown data type %d", in.Type), "restore the exact result of a dump")
	}
	return check(adt.CheckStored(entry.Type(in.Type), out.Value))
}

func deleteOperation(in *pb.DeleteOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.ReturnFound = msg.OpDelete, in.Key, in.ReturnFound
	if err := deleteCondition(in, out); err != nil {
		return err
	}
	return pointOperation(in.XXX_unrecognized, out)
}

func requireOperation(in *pb.RequireOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key = msg.OpRequire, in.Key
	if err := requireCondition(in, out); err != nil {
		return err
	}
	return pointOperation(in.XXX_unrecognized, out)
}

func addOperation(in *pb.AddOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.Delta = msg.OpAdd, in.Key, in.Delta
	if in.ReturnValue {
		out.Kind = msg.OpAddGet
	}
	return pointOperation(in.XXX_unrecognized, out)
}

// pointOperation checks an operation on one key. unknown are the fields of it that this
// server does not know.
func pointOperation(unknown []byte, out *msg.Op) *kv.Error {
	if len(unknown) > 0 {
		return unknownField()
	}
	if err := check(kv.CheckClientKey(out.Key)); err != nil {
		return err
	}
	key := out.Key[:min(len(out.Key), shownKey)]
	if err := check(kv.CheckValue(key, out.Value)); err != nil {
		return err
	}
	return check(kv.CheckValue(key, out.ExpectValue))
}

// check gives a checker's error its type; a nil one stays nil.
func check(err error) *kv.Error {
	if err == nil {
		return nil
	}
	return errorOf(err)
}

func scanOperation(in *pb.ScanOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.End, out.Limit, out.Reverse = msg.OpScan, in.Start, in.End, in.Limit, in.Reverse
	if out.Limit > kv.MaxScanLimit {
		return invalid(fmt.Sprintf("the limit of the scan is %d", out.Limit),
			fmt.Sprintf("request at most %d pairs and continue from the result's resume key, or use Scan", kv.MaxScanLimit))
	}
	return ownRange(in.XXX_unrecognized, out)
}

func deleteRangeOperation(in *pb.DeleteRangeOp, out *msg.Op) *kv.Error {
	out.Kind, out.Key, out.End = msg.OpDeleteRange, in.Start, in.End
	if len(out.Key) == 0 && len(out.End) == 0 {
		return invalid("delete_range has neither start nor end",
			"set at least one of them; to delete every key, start at the key of one zero byte")
	}
	return ownRange(in.XXX_unrecognized, out)
}

// ownRange checks the range of an operation, and has it end where clients' keys
// do.
func ownRange(unknown []byte, out *msg.Op) *kv.Error {
	if len(unknown) > 0 {
		return unknownField()
	}
	if err := bounds(out.Key, out.End); err != nil {
		return err
	}
	span, err := kv.ClientRange(out.Key, out.End)
	out.End = span.End
	return check(err)
}

// bounds checks a range. A bound may be one byte longer than a key: the least
// key after the longest one is.
func bounds(start, end []byte) *kv.Error {
	for _, b := range [][]byte{start, end} {
		if len(b) > kv.MaxKeyBytes+1 {
			return &kv.Error{Kind: kv.KindInvalid, Op: -1, Key: b[:shownKey],
				Text: fmt.Sprintf("a bound of the range has %d bytes", len(b)),
				Hint: fmt.Sprintf("the limit for a key is %d bytes", kv.MaxKeyBytes)}
		}
	}
	if len(end) > 0 && bytes.Compare(start, end) >= 0 {
		return invalid(fmt.Sprintf("the range is empty: its end %q is not after its start", end[:min(len(end), shownKey)]),
			"start must be less than end; an empty end means after the last key")
	}
	return nil
}
