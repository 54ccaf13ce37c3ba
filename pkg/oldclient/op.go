package client

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Op is one operation of a transaction, made by one of the functions below.
// An Op refers to the keys and values it was made from until the call that it
// is passed to has returned; they must not change before that.
type Op struct {
	op msg.Op
	// called is there for a Call.
	called *called
}

// called is what a Call calls, by its names, and what is wrong with how an operation
// was made. It stands apart since most operations have none.
type called struct {
	typ, method string
	wrong       *kv.Error
}

// Get reads a key.
func Get(key []byte) Op { return Op{op: msg.Op{Kind: msg.OpGet, Key: key}} }

// GetForUpdate reads a key and takes the lock that writing it needs, so that
// no other transaction can come between the read and a later write.
func GetForUpdate(key []byte) Op {
	return Op{op: msg.Op{Kind: msg.OpGet, Key: key, ForUpdate: true}}
}

// Put sets a key to a value. On a counter it fails with kv.KindWrongType.
func Put(key, value []byte) Op { return Op{op: msg.Op{Kind: msg.OpPut, Key: key, Value: value}} }

// Dump reads a key in its stored form, whatever data type it has: Result.Type is
// that, and Result.Value what Restore takes; of a counter it is Result.Number. It is
// for transactions in one call. What is stored by one version of linchpin can be
// read by later ones.
func Dump(key []byte) Op { return Op{op: msg.Op{Kind: msg.OpGet, Key: key, Stored: true}} }

// Restore sets a key to a value that Dump has read, whatever it holds: value, or
// number if it is a counter. The server refuses what it could not read with
// kv.KindInvalid. It is for transactions in one call.
func Restore(key []byte, typ Type, value []byte, number int64) Op {
	return Op{op: msg.Op{Kind: msg.OpPut, Key: key, Stored: true, Type: uint32(typ), Value: value, Delta: number}}
}

// Expire has a key that exists expire, whatever it holds: it is deleted ttl after the
// operation is executed, or soon after that. Result.Found says whether it exists. A
// ttl that is not from kv.MinTTL to kv.MaxTTL is kv.KindInvalid.
func Expire(key []byte, ttl time.Duration) Op {
	return Op{op: msg.Op{Kind: msg.OpExpire, Key: key}}.expiring(ttl)
}

// Persist has a key not expire. Result.Found says whether it exists.
func Persist(key []byte) Op { return Op{op: msg.Op{Kind: msg.OpExpire, Key: key}} }

// WithTTL has the key of a Put expire after ttl, as with Expire. Without it the key
// does not expire, whether it did before or not.
func (o Op) WithTTL(ttl time.Duration) Op {
	if o.op.Kind != msg.OpPut || o.op.Stored {
		return o.misused("only put takes a time to live", "put an expire after the operation")
	}
	return o.expiring(ttl)
}

// misused has the operation fail when it is executed.
func (o Op) misused(text, hint string) Op {
	o.called = &called{wrong: &kv.Error{Kind: kv.KindInvalid, Text: text, Key: o.op.Key, Hint: hint}}
	return o
}

// expiring notes a time to live, in milliseconds, rounded up.
func (o Op) expiring(ttl time.Duration) Op {
	if err := kv.CheckTTL(ttl); err != nil {
		wrong := *err.(*kv.Error)
		wrong.Key = o.op.Key
		o.called = &called{wrong: &wrong}
		return o
	}
	o.op.Expiry = -int64((ttl + time.Millisecond - 1) / time.Millisecond)
	return o
}

// At has the key of a Restore expire at a time; the zero time is never.
func (o Op) At(expires time.Time) Op {
	if o.op.Kind != msg.OpPut || !o.op.Stored {
		return o.misused("only restore takes a time of expiry", "give a put a time to live")
	}
	o.op.Expiry = 0
	if !expires.IsZero() {
		o.op.Expiry = max(expires.UnixMilli(), 1)
	}
	return o
}

// Delete removes a key; its Result says whether there was one.
func Delete(key []byte) Op { return Op{op: msg.Op{Kind: msg.OpDelete, Key: key}} }

// PutIfAbsent sets a key that does not exist. If it does, the whole
// transaction fails with kv.KindConditionFailed.
func PutIfAbsent(key, value []byte) Op { return Put(key, value).IfAbsent() }

// CompareAndSet replaces a key's value, which must be equal to old. If it is
// not, the whole transaction fails with kv.KindConditionFailed.
func CompareAndSet(key, old, value []byte) Op { return Put(key, value).IfValue(old) }

// CompareVersionAndSet replaces a key's value, which must be the one that the
// write named by version made. If it is not, the whole transaction fails with
// kv.KindConditionFailed.
func CompareVersionAndSet(key []byte, version kv.Version, value []byte) Op {
	return Put(key, value).IfVersion(version)
}

// RequireExists fails the whole transaction with kv.KindConditionFailed unless the
// key exists. It changes nothing.
func RequireExists(key []byte) Op { return requiring(key).IfExists() }

// RequireAbsent fails the whole transaction with kv.KindConditionFailed if the key
// exists. It changes nothing.
func RequireAbsent(key []byte) Op { return requiring(key).IfAbsent() }

// RequireEquals fails the whole transaction with kv.KindConditionFailed unless the
// key has this value. It changes nothing.
func RequireEquals(key, value []byte) Op { return requiring(key).IfValue(value) }

// RequireVersion fails the whole transaction with kv.KindConditionFailed unless the
// key's value is the one that the write named by version made.
func RequireVersion(key []byte, version kv.Version) Op { return requiring(key).IfVersion(version) }

// Add adds delta to a counter without telling the sum, so that any number of
// transactions can add to the same counter at the same time. An absent key
// becomes a counter; a key that holds anything else is kv.KindWrongType, and a
// sum outside the range of int64 is kv.KindOutOfRange.
func Add(key []byte, delta int64) Op {
	return Op{op: msg.Op{Kind: msg.OpAdd, Key: key, Delta: delta}}
}

// AddGet is Add which returns the sum in Result.Number. Knowing the sum has a
// price: transactions that do this to one counter go one after the other.
func AddGet(key []byte, delta int64) Op {
	return Op{op: msg.Op{Kind: msg.OpAddGet, Key: key, Delta: delta}}
}

// ScanRange reads the keys from start up to but without end, in order, at most
// limit of them. An empty end means to the last key; a limit of 0 means
// kv.MaxScanLimit, which is also the greatest. When the limit was met,
// Result.Resume is where to go on.
func ScanRange(start, end []byte, limit int) Op {
	if limit < 0 || limit > kv.MaxScanLimit {
		limit = kv.MaxScanLimit + 1 // refused as such by check
	}
	return Op{op: msg.Op{Kind: msg.OpScan, Key: start, End: end, Limit: uint32(limit)}}
}

// DeleteRange removes the keys from start up to but without end; an empty end
// means to the last key, but one of them must be there. Result.Count says how
// many keys there were; more than kv.MaxTxnOps are refused with
// kv.KindInvalid.
func DeleteRange(start, end []byte) Op {
	return Op{op: msg.Op{Kind: msg.OpDeleteRange, Key: start, End: end}}
}

func requiring(key []byte) Op { return Op{op: msg.Op{Kind: msg.OpRequire, Key: key}} }

// IfExists makes a Put or Delete conditional: unless the key exists, the whole
// transaction fails with kv.KindConditionFailed. A later If… replaces an earlier.
func (o Op) IfExists() Op { return o.expecting(msg.ExpectExists, nil, kv.Version{}) }

// IfAbsent is as IfExists, for a key that must not exist. A Delete does not
// take it.
func (o Op) IfAbsent() Op { return o.expecting(msg.ExpectAbsent, nil, kv.Version{}) }

// IfValue is as IfExists, for a key that must have this value.
func (o Op) IfValue(value []byte) Op { return o.expecting(msg.ExpectValue, value, kv.Version{}) }

// IfVersion is as IfExists, for a key whose value must be from this write.
func (o Op) IfVersion(v kv.Version) Op { return o.expecting(msg.ExpectVersion, nil, v) }

func (o Op) expecting(e msg.Expect, value []byte, version kv.Version) Op {
	o.op.Expect, o.op.ExpectValue, o.op.ExpectVersion = e, value, version
	return o
}

// ReadOnly reports whether the operation cannot change anything.
func (o Op) ReadOnly() bool { return !o.op.Writes() }

// String writes the operation in the line language of `linchpin txn`
// (docs/cli.md), which can read it back; of Dump and Restore, which that has not,
// only what it does and to which key.
func (o Op) String() string {
	return strings.Join(append(o.verb(), o.condition()...), " ")
}

// verb are the words for what it does.
func (o Op) verb() []string {
	key, end := strconv.Quote(string(o.op.Key)), strconv.Quote(string(o.op.End))
	switch o.op.Kind {
	case msg.OpGet:
		switch {
		case o.op.Stored:
			return []string{"dump", key}
		case o.op.ForUpdate:
			return []string{"get", key, "for", "update"}
		}
		return []string{"get", key}
	case msg.OpPut:
		switch {
		case o.op.Stored:
			return []string{"restore", key}
		case o.op.Expiry < 0:
			return []string{"put", key, strconv.Quote(string(o.op.Value)), "ttl", o.ttl()}
		}
		return []string{"put", key, strconv.Quote(string(o.op.Value))}
	case msg.OpExpire:
		if o.op.Expiry == 0 {
			return []string{"persist", key}
		}
		return []string{"expire", key, o.ttl()}
	case msg.OpDelete:
		return []string{"del", key}
	case msg.OpRequire:
		return []string{"require", key}
	case msg.OpAdd:
		return []string{"add", key, strconv.FormatInt(o.op.Delta, 10)}
	case msg.OpAddGet:
		return []string{"incr", key, strconv.FormatInt(o.op.Delta, 10)}
	case msg.OpScan:
		if o.op.Limit > 0 {
			return []string{"scan", key, end, "limit", strconv.FormatUint(uint64(o.op.Limit), 10)}
		}
		return []string{"scan", key, end}
	case msg.OpDeleteRange:
		return []string{"delrange", key, end}
	case msg.OpQuery, msg.OpUpdateGet:
		return append([]string{"call", key, o.called.typ + "." + o.called.method}, argumentTexts(o.op.Args)...)
	}
	return nil
}

// condition are the words for what it expects of the key.
func (o Op) condition() (words []string) {
	if o.op.Expect != msg.ExpectNothing && o.op.Kind != msg.OpRequire {
		words = append(words, "if")
	}
	switch o.op.Expect {
	case msg.ExpectExists:
		return append(words, "exists")
	case msg.ExpectAbsent:
		return append(words, "absent")
	case msg.ExpectValue:
		return append(words, "value", strconv.Quote(string(o.op.ExpectValue)))
	case msg.ExpectVersion:
		return append(words, "version", o.op.ExpectVersion.String())
	}
	return words
}

// ttl is the time to live as the line language has it.
func (o Op) ttl() string { return (time.Duration(-o.op.Expiry) * time.Millisecond).String() }

// clone copies the keys and values.
func (o Op) clone() Op {
	o.op.Key, o.op.End = bytes.Clone(o.op.Key), bytes.Clone(o.op.End)
	o.op.Value, o.op.ExpectValue = bytes.Clone(o.op.Value), bytes.Clone(o.op.ExpectValue)
	o.op.Args = slices.Clone(o.op.Args)
	for i := range o.op.Args {
		o.op.Args[i].Bytes = bytes.Clone(o.op.Args[i].Bytes)
	}
	return o
}
