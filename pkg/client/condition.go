package client

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// PutOption is an option of a put: a condition, or [TTL].
type PutOption interface{ put(*operation) }

// DeleteOption is an option of a delete: a condition, except [IfAbsent].
type DeleteOption interface{ delete(*operation) }

// Condition is a condition on one key. If it does not hold when the transaction commits, the whole
// transaction fails with [KindConditionFailed] and [Error].Current has what the key holds. Of
// several conditions of one operation the last counts.
type Condition interface {
	PutOption
	condition()
}

// DeleteCondition is a [Condition] that a delete takes, too.
type DeleteCondition interface {
	Condition
	DeleteOption
}

// IfAbsent is the condition that the key does not exist.
func IfAbsent() Condition { return absent{} }

// IfExists is the condition that the key exists, whatever its type.
func IfExists() DeleteCondition { return exists{} }

// IfValue is the condition that the key has this value.
func IfValue(value []byte) DeleteCondition { return hasValue{value} }

// IfVersion is the condition that the key holds what this write made.
func IfVersion(v Version) DeleteCondition { return hasVersion{v} }

type (
	absent     struct{}
	exists     struct{}
	hasValue   struct{ value []byte }
	hasVersion struct{ version Version }
)

func (absent) condition()     {}
func (exists) condition()     {}
func (hasValue) condition()   {}
func (hasVersion) condition() {}

func (absent) put(o *operation) { o.expect(msg.ExpectAbsent, nil, kv.Version{}) }
func (exists) put(o *operation) { o.expect(msg.ExpectExists, nil, kv.Version{}) }
func (c hasValue) put(o *operation) {
	o.expect(msg.ExpectValue, c.value, kv.Version{})
}
func (c hasVersion) put(o *operation) {
	o.expect(msg.ExpectVersion, nil, c.version.v)
}

func (c exists) delete(o *operation)     { c.put(o) }
func (c hasValue) delete(o *operation)   { c.put(o) }
func (c hasVersion) delete(o *operation) { c.put(o) }

func (o *operation) expect(e msg.Expect, value []byte, version kv.Version) {
	o.op.Expect, o.op.ExpectValue, o.op.ExpectVersion = e, value, version
}

// TTLOption is what [TTL] returns: an option of a put and of [DB.CreateSnapshot].
type TTLOption time.Duration

// TTL is the time to live of the key of a put, 1 ms to ten years, rounded up to milliseconds; or
// that of a snapshot.
func TTL(d time.Duration) TTLOption { return TTLOption(d) }

func (t TTLOption) put(o *operation) { o.expire(time.Duration(t)) }

// expire sets the time to live.
func (o *operation) expire(ttl time.Duration) {
	o.wrong = checkTTL(o.Key(), ttl)
	o.op.Expiry = -int64((ttl + time.Millisecond - 1) / time.Millisecond)
}

// ExpireOp returns an operation that has a key of any type expire: it is deleted ttl, 1 ms to ten
// years, after the operation has run, or soon after that. It takes the write lock of the key. The
// result reports whether the key exists; if it does not, there is no effect.
func ExpireOp(key string, ttl time.Duration) *Result[bool] {
	r := &Result[bool]{operation: keyed(key, msg.OpExpire), decode: decodeFound}
	r.expire(ttl)
	return r
}

// PersistOp returns an operation that removes the time to live of a key of any type. The result
// reports whether the key exists.
func PersistOp(key string) *Result[bool] {
	return &Result[bool]{operation: keyed(key, msg.OpExpire), decode: decodeFound}
}
