package client

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Op is an operation, to be run by Execute. The functions and methods whose names end in Op return
// them. Most are a *[Result], which Execute fills.
//
// An Op refers to the values that it was made from: they must not change until Execute has returned.
// An Op is in one call at a time, and can be used again after that.
type Op interface {
	// Key returns the key. Of an operation on a range it is the start.
	Key() string
	// ReadOnly reports whether the operation cannot change anything.
	ReadOnly() bool
	// String returns the operation in the language of "linchpin txn".
	String() string
	// Err returns the error of the last Execute if this operation made it fail, else nil.
	Err() error

	// part returns what is sent. The interface is sealed.
	part() *operation
	// reset forgets the result of the last call.
	reset()
	// fill takes the result.
	fill(*pb.Result) error
}

// operation is what all operations have.
type operation struct {
	op msg.Op
	// typ and method are those of a call, on the wire.
	typ    Type
	method string
	// wrong is what is wrong with how the operation was made.
	wrong *kv.Error
	err   error
	// returns: there is a result that the caller reads.
	returns bool
}

// Key implements [Op].
func (o *operation) Key() string { return stringOf(o.op.Key) }

// ReadOnly implements [Op].
func (o *operation) ReadOnly() bool { return !o.op.Writes() }

// Err implements [Op].
func (o *operation) Err() error { return o.err }

func (o *operation) part() *operation { return o }

// writes reports whether the operation is known to write. Of a method of a type of the cluster's own
// only the node knows.
func (o *operation) writes() bool {
	if !o.op.IsCall() {
		return o.op.Writes()
	}
	m, err := adt.FindNamed(string(o.typ), o.method)
	return err == nil && m.Changes
}

// name names the operation as receipts and errors do: "put", "set.add".
func (o *operation) name() string {
	if o.op.IsCall() {
		return string(o.typ) + "." + o.method
	}
	return adt.MethodOf(&o.op).String()
}

// about names the operation that an error is about.
func (e *Error) about(o *operation) {
	e.Operation = o.name()
	if e.Key == "" && o.op.Kind != msg.OpScan && o.op.Kind != msg.OpDeleteRange {
		e.Key = o.Key()
	}
}

// inArguments completes an error about one of the operations.
func (e *Error) inArguments(ops []Op) {
	if e.Op < 0 || e.Op >= len(ops) || ops[e.Op] == nil {
		return
	}
	o := ops[e.Op].part()
	e.about(o)
	o.err = e
}

// reset forgets the results of the operations' last calls.
func reset(ops []Op) {
	for _, op := range ops {
		if op != nil {
			op.reset()
		}
	}
}

func readOnly(ops []Op) bool {
	for _, op := range ops {
		if !op.ReadOnly() {
			return false
		}
	}
	return true
}

// own makes the operation share no bytes with the caller's.
func (o *operation) own() {
	o.op.Value, o.op.ExpectValue = bytes.Clone(o.op.Value), bytes.Clone(o.op.ExpectValue)
	o.op.Args = slices.Clone(o.op.Args)
	for i := range o.op.Args {
		o.op.Args[i].Bytes = bytes.Clone(o.op.Args[i].Bytes)
	}
}

// command is an operation without a result.
type command struct{ operation }

func (c *command) reset() { c.err = nil }

func (c *command) fill(*pb.Result) error { return nil }

// Result is an operation with its result, which a successful Execute fills.
type Result[T any] struct {
	operation
	value  T
	found  bool
	decode func(r *Result[T], p *pb.Result) error
}

// Value returns the result. It is the zero T unless the last Execute has returned nil.
func (r *Result[T]) Value() T { return r.value }

// Found reports whether there was a value: the key, the field, the member or the element exists.
func (r *Result[T]) Found() bool { return r.found }

func (r *Result[T]) reset() {
	var zero T
	r.value, r.found, r.err = zero, false, nil
}

func (r *Result[T]) fill(p *pb.Result) error { return r.decode(r, p) }

// keyed makes an operation on a key.
func keyed(key string, kind msg.OpKind) operation {
	return operation{op: msg.Op{Kind: kind, Key: bytesOf(key)}, returns: true}
}

// bytesOf returns the bytes of a string, which are only read.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// stringOf returns the string that bytesOf was called with.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// GetOp returns an operation that reads the value of a key. A key of another type than [TypeValue]
// fails it with [KindWrongType].
func GetOp(key string) *Result[[]byte] {
	return &Result[[]byte]{operation: keyed(key, msg.OpGet), decode: decodeValue}
}

// GetForUpdateOp is GetOp that takes the lock which a later write of the key in the same
// transaction needs.
func GetForUpdateOp(key string) *Result[[]byte] {
	r := GetOp(key)
	r.op.ForUpdate = true
	return r
}

// EntryOp returns an operation that reads a key of any type.
func EntryOp(key string) *Result[Entry] {
	return &Result[Entry]{operation: keyed(key, msg.OpGet), decode: decodeEntry}
}

// PutOp returns an operation that writes a value. Without [TTL] the key does not expire, whether
// it did before or not. A key of another type than [TypeValue] fails it with [KindWrongType].
func PutOp(key string, value []byte, opts ...PutOption) *Result[Version] {
	r := &Result[Version]{operation: keyed(key, msg.OpPut), decode: decodeVersion}
	r.op.Value = value
	for _, o := range opts {
		o.put(&r.operation)
	}
	return r
}

// DeleteOp returns an operation that deletes a key of any type. The result reports whether the key
// existed. In a [Tx] it reads the key, if the transaction has not done so; [Tx.Delete] does not.
func DeleteOp(key string, opts ...DeleteOption) *Result[bool] {
	r := &Result[bool]{operation: keyed(key, msg.OpDelete), decode: decodeFound}
	for _, o := range opts {
		o.delete(&r.operation)
	}
	return r
}

// RequireOp returns an operation that fails the transaction with [KindConditionFailed] unless the
// condition holds. It changes nothing.
func RequireOp(key string, c Condition) Op {
	o := &command{keyed(key, msg.OpRequire)}
	o.returns = false
	if c == nil {
		o.wrong = &kv.Error{Kind: kv.KindInvalid, Text: "the condition is nil", Key: o.op.Key,
			Hint: "use IfExists, IfAbsent, IfValue or IfVersion"}
		return o
	}
	c.put(&o.operation)
	return o
}

// ScanOp returns an operation that reads the first keys of a range, or the last ones with [Reverse], at
// most limit of them: 1 to 10,000, or 0 for 10,000.
func ScanOp(r Range, limit int, opts ...ScanOpOption) *Result[Page] {
	x := &Result[Page]{operation: keyed(r.Start, msg.OpScan), decode: decodePage}
	x.op.End = bytesOf(r.End)
	if limit < 0 || limit > kv.MaxScanLimit {
		limit = kv.MaxScanLimit + 1 // refused as such by check
	}
	x.op.Limit = uint32(limit)
	for _, o := range opts {
		o.scanOp(&x.operation)
	}
	return x
}

// DeleteRangeOp returns an operation that deletes the keys of a range, 10,000 at most, and returns
// their number. It refuses Range{}.
func DeleteRangeOp(r Range) *Result[int] {
	x := &Result[int]{operation: keyed(r.Start, msg.OpDeleteRange), decode: decodeCount}
	x.op.End = bytesOf(r.End)
	return x
}

// DumpOp returns an operation that reads a key of any type in its stored form. It is for Execute of
// a [DB] or a [Snapshot].
func DumpOp(key string) *Result[Dump] {
	r := &Result[Dump]{operation: keyed(key, msg.OpGet), decode: decodeDump}
	r.op.Stored = true
	return r
}

// RestoreOp returns an operation that sets a key to what [DumpOp] has read, whatever the key holds.
// It is for Execute of a [DB].
func RestoreOp(key string, d Dump) *Result[Version] {
	r := &Result[Version]{operation: keyed(key, msg.OpPut), decode: decodeVersion}
	r.op.Stored, r.op.Type, r.op.Value, r.op.Delta, r.op.Expiry = true, uint32(d.typ), d.value, d.number, d.expires
	if !d.found {
		r.wrong = &kv.Error{Kind: kv.KindInvalid, Text: "the dump is that of a key that did not exist", Key: r.op.Key,
			Hint: "delete the key"}
	}
	return r
}

func decodeValue(r *Result[[]byte], p *pb.Result) error {
	if p.Found && p.Type != pb.DataType_VALUE {
		return wrongType(&r.operation, typeOf(p.Type, p.TypeName), "a value")
	}
	r.found = p.Found
	if p.Found {
		r.value = written(p.Type, p.Value)
	}
	return nil
}

func decodeEntry(r *Result[Entry], p *pb.Result) error {
	r.value, r.found = entryOf(r.Key(), p), p.Found
	return nil
}

func decodeVersion(r *Result[Version], p *pb.Result) error {
	r.value, r.found = Version{p.Version}, true
	return nil
}

func decodeFound(r *Result[bool], p *pb.Result) error {
	r.value, r.found = p.Found, p.Found
	return nil
}

func decodeCount(r *Result[int], p *pb.Result) error {
	r.value, r.found = int(p.Count), p.Count > 0
	return nil
}

func decodePage(r *Result[Page], p *pb.Result) error {
	r.found = len(p.Entries) > 0
	r.value.Entries = make([]Entry, len(p.Entries))
	for i := range p.Entries {
		r.value.Entries[i] = entryOfPair(&p.Entries[i])
	}
	switch {
	case len(p.Resume) == 0:
	case r.op.Reverse:
		r.value.More, r.value.Rest = true, Range{Start: string(r.op.Key), End: string(p.Resume)}
	default:
		r.value.More, r.value.Rest = true, Range{Start: string(p.Resume), End: string(r.op.End)}
	}
	return nil
}

func decodeDump(r *Result[Dump], p *pb.Result) error {
	r.value, r.found = dumpOf(p), p.Found
	return nil
}

// wrongType is the error of a result that is not what the caller asked for.
func wrongType(o *operation, is Type, want string) error {
	e := errorf(KindWrongType, nil, "the key holds a %s, not %s", is, want)
	e.Key, e.Operation = o.Key(), o.name()
	return e
}
