package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// String implements [Op]. Of a dump and a restore, which "linchpin txn" does not have, it returns
// only the verb and the key.
func (o *operation) String() string {
	return strings.Join(append(o.verb(), o.condition()...), " ")
}

// verb returns the words for what it does.
func (o *operation) verb() []string {
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
		words := []string{"scan", key, end}
		if o.op.Limit > 0 {
			words = append(words, "limit", strconv.FormatUint(uint64(o.op.Limit), 10))
		}
		if o.op.Reverse {
			words = append(words, "reverse")
		}
		return words
	case msg.OpDeleteRange:
		return []string{"delrange", key, end}
	case msg.OpQuery, msg.OpUpdateGet:
		return append([]string{"call", key, string(o.typ) + "." + o.method}, argumentTexts(o.op.Args)...)
	}
	return nil
}

// condition returns the words for what it expects of the key.
func (o *operation) condition() (words []string) {
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

// ttl is the time to live in words.
func (o *operation) ttl() string { return (time.Duration(-o.op.Expiry) * time.Millisecond).String() }

// argumentTexts are arguments in words.
func argumentTexts(args []msg.Datum) (out []string) {
	for i := range args {
		switch d := &args[i]; d.Kind {
		case msg.DatumBytes:
			out = append(out, strconv.Quote(string(d.Bytes)))
		default:
			out = append(out, Datum{*d}.String())
		}
	}
	return out
}
