package msg

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Envelope is a message with its sender and recipient. Its encoding is that of the message Envelope in msg.proto. It
// is written by hand, so that the message is one field here, not one of 44 pointers of which all but one are nil.
type Envelope struct {
	// From is the node that sent it; the transport sets it.
	From kv.NodeID
	// Gateway is the node to whose gateway it is sent; 0 if it is sent to Shard.
	Gateway kv.NodeID
	Shard   kv.ShardID
	// Forwarded: a node that does not lead the shard has sent it on. That happens once (R4.4).
	Forwarded bool
	// Trace is set if the message belongs to a transaction that is traced.
	Trace *Trace
	// Body is the message, nil in an empty envelope.
	Body Body
}

// As returns the message of an envelope if it is of type T, or else nil.
func As[T any](e *Envelope) *T {
	b, _ := e.Body.(any).(*T)
	return b
}

// Is reports whether the message of an envelope is of type T.
func Is[T any](e *Envelope) bool { return As[T](e) != nil }

// ToShard addresses an envelope to a shard.
func ToShard(s kv.ShardID) *Envelope { return &Envelope{Shard: s} }

// ToGateway addresses an envelope to a node's gateway.
func ToGateway(n kv.NodeID) *Envelope { return &Envelope{Gateway: n} }

// row is the row of the message's kind, an empty one without a message.
func (m *Envelope) row() *Row {
	if m.Body == nil {
		return &rows[0]
	}
	return &rows[m.Body.Kind()]
}

// About is what the message is about.
func (m *Envelope) About() About {
	if m.Body == nil {
		return About{}
	}
	return m.row().about(m.Body)
}

// Ends is [Row].Ends. A repeated vote is a query: if it was delivered before the transaction's CommitRequest, the
// attempt would be aborted.
func (m *Envelope) Ends() bool {
	if v, ok := m.Body.(*Vote); ok && v.Repeated {
		return false
	}
	return m.row().Ends
}

// Attempt is the attempt, or the reader, that a traced message is about. ok is false for others.
func (m *Envelope) Attempt() (ref kv.TxnRef, ok bool) {
	if !m.row().Traced {
		return ref, false
	}
	return m.About().Txn, true
}

// Name is the message's name in traces, as in msg.proto.
func (m *Envelope) Name() string {
	if m.Body == nil {
		return "Empty"
	}
	return m.row().Name
}

// String is for traces: from, to, name and content.
func (m *Envelope) String() string {
	to := m.Shard.String()
	if m.Gateway != 0 {
		to = "g" + m.Gateway.String()
	}
	body := ""
	if m.Body != nil {
		body = m.Body.String()
	}
	return fmt.Sprintf("%v->%s %s{%s}", m.From, to, m.Name(), body)
}

// The numbers of the fields of Envelope that are not messages.
const (
	fieldFrom = iota + 1
	fieldGateway
	fieldShard
	fieldTrace
	fieldForwarded
)

// Size is the size of the encoding in bytes.
func (m *Envelope) Size() (n int) {
	if m == nil {
		return 0
	}
	for _, v := range [...]uint64{uint64(m.From), uint64(m.Gateway), uint64(m.Shard)} {
		if v != 0 {
			n += 1 + protowire.SizeVarint(v)
		}
	}
	if m.Trace != nil {
		l := m.Trace.Size()
		n += 1 + protowire.SizeVarint(uint64(l)) + l
	}
	if m.Forwarded {
		n += 2
	}
	if m.Body != nil {
		l := m.Body.Size()
		n += protowire.SizeVarint(uint64(m.Body.Kind())<<3) + protowire.SizeVarint(uint64(l)) + l
	}
	return n
}

// Marshal encodes the envelope.
func (m *Envelope) Marshal() ([]byte, error) {
	b := make([]byte, m.Size())
	n, err := m.MarshalToSizedBuffer(b)
	return b[len(b)-n:], err
}

// MarshalToSizedBuffer encodes the envelope at the end of b, and returns the number of bytes.
func (m *Envelope) MarshalToSizedBuffer(b []byte) (int, error) {
	w := backwards{b: b, i: len(b)}
	if m.Body != nil {
		w.message(int(m.Body.Kind()), m.Body)
	}
	if m.Forwarded {
		w.number(fieldForwarded, 1)
	}
	if m.Trace != nil {
		w.message(fieldTrace, m.Trace)
	}
	w.number(fieldShard, uint64(m.Shard))
	w.number(fieldGateway, uint64(m.Gateway))
	w.number(fieldFrom, uint64(m.From))
	return len(b) - w.i, w.err
}

// backwards writes fields into b in front of b[i:].
type backwards struct {
	b   []byte
	i   int
	err error
}

func (w *backwards) uvarint(v uint64) {
	w.i -= protowire.SizeVarint(v)
	binary.PutUvarint(w.b[w.i:], v)
}

// number writes a field, unless it is 0.
func (w *backwards) number(field int, v uint64) {
	if v != 0 && w.err == nil {
		w.uvarint(v)
		w.uvarint(uint64(field)<<3 | uint64(protowire.VarintType))
	}
}

func (w *backwards) message(field int, x interface {
	MarshalToSizedBuffer([]byte) (int, error)
}) {
	n, err := x.MarshalToSizedBuffer(w.b[:w.i])
	if err != nil {
		w.err = err
		return
	}
	w.i -= n
	w.uvarint(uint64(n))
	w.uvarint(uint64(field)<<3 | uint64(protowire.BytesType))
}

// Unmarshal decodes an envelope. Of several messages the last one counts. Fields that this version
// does not know are skipped.
func (m *Envelope) Unmarshal(b []byte) error {
	*m = Envelope{}
	for len(b) > 0 {
		field, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		n, err := m.decode(field, wire, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// decode sets a field to the value at the beginning of b, and returns the value's size.
func (m *Envelope) decode(field protowire.Number, wire protowire.Type, b []byte) (int, error) {
	var x interface{ Unmarshal([]byte) error }
	switch {
	case field >= fieldFrom && field <= fieldForwarded && field != fieldTrace && wire == protowire.VarintType:
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		m.setNumber(field, v)
		return n, nil
	case field == fieldTrace && wire == protowire.BytesType:
		m.Trace = new(Trace)
		x = m.Trace
	case int(field) < len(rows) && rows[field].New != nil && wire == protowire.BytesType:
		m.Body = rows[field].New()
		x = m.Body
	case field <= fieldForwarded, int(field) < len(rows) && rows[field].New != nil:
		return 0, fmt.Errorf("msg: field %d of an envelope has wire type %d", field, wire)
	default:
		n := protowire.ConsumeFieldValue(field, wire, b)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		return n, nil
	}
	content, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return 0, protowire.ParseError(n)
	}
	return n, x.Unmarshal(content)
}

func (m *Envelope) setNumber(field protowire.Number, v uint64) {
	switch field {
	case fieldFrom:
		m.From = kv.NodeID(v)
	case fieldGateway:
		m.Gateway = kv.NodeID(v)
	case fieldShard:
		m.Shard = kv.ShardID(v)
	case fieldForwarded:
		m.Forwarded = v != 0
	}
}
