package server

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// incoming is a call as the pipeline handles it.
type incoming struct {
	number    uint64
	timeoutMs uint32
	id        kv.TxnID
	// ops are for the backend, which owns them.
	ops  []msg.Op
	used budget
	// at, token and plan say how to read.
	at    *pb.At
	token []byte
	plan  pb.ReadPlan
	// maxResponse is the request's max_response_bytes.
	maxResponse uint32
	// alone: the message has no other call.
	alone bool
	// traceparent is the caller's trace, empty if it has none.
	traceparent string
	// err is what is wrong with the request; ops are not complete then.
	err *kv.Error
	// message is the length of the message that has the call.
	message int
	// began and refused are the result of its admission, before it was decoded (decoder.begin).
	began   admission
	refused *kv.Error
}

// decoder reads a pb.PipelineRequest call by call, straight to what a backend
// is given. The generated decoder builds calls, operations and what they wrap
// first, which doubles the allocations of a one-shot; and it makes hundreds of
// megabytes of a message of two million empty calls, which has four.
//
// A fuzz target holds it against the generated decoder.
type decoder struct {
	// call is handed each call and reports whether to go on. It must not keep
	// the pointer.
	call func(*incoming, time.Time) bool
	// begin is asked before the operations of a large call are decoded, of which so
	// many bytes will be made, and reports whether they are to be. Nil is always.
	begin func(*incoming, int64) bool
	// refuse is handed the number of a call that there is no memory to receive for, and
	// why, and reports whether to go on.
	refuse func(number uint64, err *kv.Error) bool
	// stopped: call has reported false.
	stopped bool

	next incoming
	// One of these is in use while an operation is converted.
	get     pb.GetOp
	put     pb.PutOp
	del     pb.DeleteOp
	req     pb.RequireOp
	add     pb.AddOp
	scan    pb.ScanOp
	delSpan pb.DeleteRangeOp
	named   pb.CallOp
}

// fields passes each field of a message: its number, and its value if it is
// length-delimited (raw) or a varint (n). Others are skipped.
func fields(b []byte, each func(num protowire.Number, raw []byte, n uint64) error) error {
	for len(b) > 0 {
		num, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var raw []byte
		var n uint64
		switch typ {
		case protowire.BytesType:
			raw, size = protowire.ConsumeBytes(b)
			if raw == nil {
				raw = []byte{}
			}
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		default:
			num, size = 0, protowire.ConsumeFieldValue(num, typ, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := each(num, raw, n); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// maxFrame is how much a message may have beside its only call: a tag of one
// byte, and a length.
const maxFrame = 5

// Unmarshal implements codec.Decoder: it passes on the calls of a message.
func (d *decoder) Unmarshal(b []byte) error {
	now := time.Now()
	return fields(b, func(num protowire.Number, raw []byte, _ uint64) error {
		if num != 1 || raw == nil || d.stopped {
			return nil
		}
		d.next = incoming{alone: len(b)-len(raw) <= maxFrame, message: len(b)}
		if err := d.oneCall(raw); err != nil {
			return err
		}
		if d.next.used.ops == 0 && d.next.err == nil && d.next.refused == nil {
			d.next.err = d.next.used.count(0)
		}
		d.stopped = !d.call(&d.next, now)
		d.next = incoming{}
		return nil
	})
}

func (d *decoder) oneCall(b []byte) error {
	return fields(b, func(num protowire.Number, raw []byte, n uint64) error {
		switch {
		case num == 1 && raw == nil:
			d.next.number = n
		case num == 2 && raw == nil:
			d.next.timeoutMs = uint32(n)
		case num == 3 && raw != nil:
			return d.request(raw)
		case num == 4 && len(raw) <= maxTraceparent:
			d.next.traceparent = string(raw)
		}
		return nil
	})
}

// maxTraceparent bounds what is read of a traceparent; the standard has 55 bytes, and
// leaves room for later versions.
const maxTraceparent = 256

// request reads a pb.ExecuteRequest: first how many operations there are, then
// the operations.
func (d *decoder) request(b []byte) error {
	c := &d.next
	n := 0
	err := fields(b, func(num protowire.Number, raw []byte, v uint64) error {
		switch {
		case num == 3 && raw != nil:
			c.token = append([]byte(nil), raw...)
		case num == 4 && raw != nil:
			if c.at == nil {
				c.at = &pb.At{}
			}
			return c.at.Unmarshal(raw)
		case num == 5 && raw == nil:
			c.plan = pb.ReadPlan(v)
		case num == 6 && raw == nil:
			c.maxResponse = uint32(v)
		case num == 1 && raw != nil:
			n++
		case num == 2 && raw != nil:
			if err := c.id.Unmarshal(raw); err != nil && c.err == nil {
				c.err = invalid(err.Error(), "an id has 16 bytes: 8 of time and 8 random; if it is omitted, the node creates one")
			}
		}
		return nil
	})
	if err != nil || n == 0 || c.err != nil {
		return err
	}
	c.err = c.used.count(n)
	if c.err != nil {
		return nil
	}
	bytes := int64(len(b)) + int64(n)*opCost
	if bytes > smallMessage && d.begin != nil && !d.begin(c, bytes) {
		return nil
	}
	if c.ops == nil {
		c.ops = make([]msg.Op, 0, n)
	}
	return fields(b, func(num protowire.Number, raw []byte, _ uint64) error {
		if num != 1 || raw == nil || c.err != nil {
			return nil
		}
		c.ops = append(c.ops, msg.Op{})
		i := len(c.ops) - 1
		kerr, err := d.operation(raw, &c.ops[i])
		if err != nil {
			return err
		}
		c.err = c.used.spend(&c.ops[i], i, kerr)
		return nil
	})
}

// lastOpField is the last field of pb.Op, which has no gaps.
const lastOpField protowire.Number = 12

// operation reads a pb.Op. If it has several kinds, the last one counts.
func (d *decoder) operation(b []byte, out *msg.Op) (*kv.Error, error) {
	var kind protowire.Number
	var body []byte
	newer := false
	err := fields(b, func(num protowire.Number, raw []byte, _ uint64) error {
		if raw != nil && num >= 1 && num <= lastOpField {
			kind, body = num, raw
		} else {
			newer = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if kind != 0 && newer {
		return unknownField(), nil
	}
	switch kind {
	case 1:
		d.get = pb.GetOp{}
		return readOp(&d.get, body, getOperation, out)
	case 2:
		d.put = pb.PutOp{}
		return readOp(&d.put, body, putOperation, out)
	case 3:
		d.del = pb.DeleteOp{}
		return readOp(&d.del, body, deleteOperation, out)
	case 4:
		d.req = pb.RequireOp{}
		return readOp(&d.req, body, requireOperation, out)
	case 5:
		d.add = pb.AddOp{}
		return readOp(&d.add, body, addOperation, out)
	case 6:
		d.scan = pb.ScanOp{}
		return readOp(&d.scan, body, scanOperation, out)
	case 7:
		d.delSpan = pb.DeleteRangeOp{}
		return readOp(&d.delSpan, body, deleteRangeOperation, out)
	case 8:
		d.named = pb.CallOp{}
		return readOp(&d.named, body, callOperation, out)
	case 9:
		return readOp(new(pb.DumpOp), body, dumpOperation, out)
	case 10:
		return readOp(new(pb.RestoreOp), body, restoreOperation, out)
	case 11:
		return readOp(new(pb.ExpireOp), body, expireOperation, out)
	case 12:
		return readOp(new(pb.PersistOp), body, persistOperation, out)
	}
	return unknownOperation(), nil
}

// readOp decodes an operation with its generated method and converts it.
func readOp[T any, P interface {
	*T
	Unmarshal([]byte) error
}](into P, body []byte, convert func(P, *msg.Op) *kv.Error, out *msg.Op) (*kv.Error, error) {
	if err := into.Unmarshal(body); err != nil {
		return nil, err
	}
	kerr := convert(into, out)
	*into = *new(T) // keep no value alive
	return kerr, nil
}
