package client

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// encoder has the buffers to encode a request from. Encoders are pooled, so that a request of the common
// operations allocates nothing but itself.
type encoder struct {
	call    pb.Call
	scratch []opScratch
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// newRequest encodes operations as a transaction. It does not refer to them when it returns.
func newRequest(l *link.Link, id kv.TxnID, ops []Op, h *how, traceparent string) *link.Request {
	e := encoders.Get().(*encoder)
	e.set(id, ops, h, traceparent)
	var key []byte
	if len(ops) == 1 {
		key = ops[0].part().op.Key
	}
	r := l.NewRequest(&e.call, key)
	e.forget()
	encoders.Put(e)
	return r
}

func (e *encoder) set(id kv.TxnID, ops []Op, h *how, traceparent string) {
	if cap(e.scratch) < len(ops) {
		e.scratch = make([]opScratch, len(ops))
	}
	e.scratch = e.scratch[:len(ops)]
	r := &e.call.Request
	for i, op := range ops {
		r.Ops = append(r.Ops, e.scratch[i].wire(op.part()))
	}
	r.TxnId, r.MaxResponseBytes = id, pb.MaxMessageBytes
	r.At, r.CausalityToken, r.Plan = h.at, h.token, h.plan
	e.call.Traceparent = traceparent
}

// keepOps is for how many operations buffers are worth keeping in the pool.
const keepOps = 64

// forget drops the references, so that a pooled encoder keeps no keys and values alive.
func (e *encoder) forget() {
	ops := e.call.Request.Ops
	clear(ops)
	clear(e.scratch)
	e.call = pb.Call{}
	e.call.Request.Ops = ops[:0]
	if cap(e.scratch) > keepOps {
		*e = encoder{}
	}
}

// opScratch holds the wire form of one operation of the common kinds, so that converting it
// allocates nothing when the scratch is used again.
type opScratch struct {
	get    pb.GetOp
	opGet  pb.Op_Get
	put    pb.PutOp
	opPut  pb.Op_Put
	add    pb.AddOp
	opAdd  pb.Op_Add
	absent pb.PutOp_IfAbsent
	equals pb.PutOp_IfValue
}

// wire returns an operation on the wire. It refers to the operation's bytes and to s.
func (s *opScratch) wire(p *operation) pb.Op {
	o := &p.op
	switch o.Kind {
	case msg.OpQuery, msg.OpUpdateGet:
		return pb.Op{Op: &pb.Op_Call{Call: &pb.CallOp{Key: o.Key, Type: string(p.typ), Method: p.method,
			Args: pb.DataOf(o.Args)}}}
	case msg.OpGet:
		if o.Stored {
			return pb.Op{Op: &pb.Op_Dump{Dump: &pb.DumpOp{Key: o.Key}}}
		}
		s.get = pb.GetOp{Key: o.Key, ForUpdate: o.ForUpdate}
		s.opGet.Get = &s.get
		return pb.Op{Op: &s.opGet}
	case msg.OpPut:
		if o.Stored {
			return pb.Op{Op: &pb.Op_Restore{Restore: &pb.RestoreOp{Key: o.Key, Type: pb.DataType(o.Type), Value: o.Value,
				Number: o.Delta, ExpiresAtMs: o.Expiry}}}
		}
		s.put = pb.PutOp{Key: o.Key, Value: o.Value, TtlMs: -o.Expiry}
		s.condition(o)
		s.opPut.Put = &s.put
		return pb.Op{Op: &s.opPut}
	case msg.OpAdd, msg.OpAddGet:
		s.add = pb.AddOp{Key: o.Key, Delta: o.Delta, ReturnValue: o.Kind == msg.OpAddGet}
		s.opAdd.Add = &s.add
		return pb.Op{Op: &s.opAdd}
	}
	return wireRare(p)
}

func (s *opScratch) condition(o *msg.Op) {
	switch o.Expect {
	case msg.ExpectAbsent:
		s.absent.IfAbsent = true
		s.put.Condition = &s.absent
	case msg.ExpectValue:
		s.equals.IfValue = o.ExpectValue
		s.put.Condition = &s.equals
	case msg.ExpectExists:
		s.put.Condition = &pb.PutOp_IfExists{IfExists: true}
	case msg.ExpectVersion:
		s.put.Condition = &pb.PutOp_IfVersion{IfVersion: versionBytes(o.ExpectVersion)}
	}
}

func wireRare(p *operation) pb.Op {
	o := &p.op
	switch o.Kind {
	case msg.OpDelete:
		return pb.Op{Op: &pb.Op_Delete{Delete: wireDelete(p)}}
	case msg.OpRequire:
		return pb.Op{Op: &pb.Op_Require{Require: wireRequire(o)}}
	case msg.OpScan:
		return pb.Op{Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: o.Key, End: o.End, Limit: o.Limit, Reverse: o.Reverse}}}
	case msg.OpExpire:
		if o.Expiry == 0 {
			return pb.Op{Op: &pb.Op_Persist{Persist: &pb.PersistOp{Key: o.Key}}}
		}
		return pb.Op{Op: &pb.Op_Expire{Expire: &pb.ExpireOp{Key: o.Key, TtlMs: -o.Expiry}}}
	case msg.OpDeleteRange:
		return pb.Op{Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: o.Key, End: o.End}}}
	}
	panic("client: an operation of kind " + o.Kind.String() + " has no wire form")
}

func wireDelete(p *operation) *pb.DeleteOp {
	o := &p.op
	d := &pb.DeleteOp{Key: o.Key, ReturnFound: p.returns}
	switch o.Expect {
	case msg.ExpectExists:
		d.Condition = &pb.DeleteOp_IfExists{IfExists: true}
	case msg.ExpectValue:
		d.Condition = &pb.DeleteOp_IfValue{IfValue: o.ExpectValue}
	case msg.ExpectVersion:
		d.Condition = &pb.DeleteOp_IfVersion{IfVersion: versionBytes(o.ExpectVersion)}
	}
	return d
}

func wireRequire(o *msg.Op) *pb.RequireOp {
	r := &pb.RequireOp{Key: o.Key}
	switch o.Expect {
	case msg.ExpectExists:
		r.Condition = &pb.RequireOp_Exists{Exists: true}
	case msg.ExpectAbsent:
		r.Condition = &pb.RequireOp_Absent{Absent: true}
	case msg.ExpectValue:
		r.Condition = &pb.RequireOp_Equals{Equals: o.ExpectValue}
	case msg.ExpectVersion:
		r.Condition = &pb.RequireOp_Version{Version: versionBytes(o.ExpectVersion)}
	}
	return r
}

func versionBytes(v kv.Version) []byte {
	b := make([]byte, v.Size())
	if _, err := v.MarshalTo(b); err != nil {
		panic(err) // a fixed-size encoding into a buffer of that size
	}
	return b
}

// wireOps returns operations on the wire, in buffers of their own.
func wireOps(ops []Op) []pb.Op {
	out := make([]pb.Op, len(ops))
	scratch := make([]opScratch, len(ops))
	for i, op := range ops {
		out[i] = scratch[i].wire(op.part())
	}
	return out
}
