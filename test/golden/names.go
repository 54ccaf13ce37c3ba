package golden

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Txn parses the name of an attempt: a capital letter, and /n for the n-th attempt of the same transaction. The letters
// are in the order of age.
func Txn(name string) (kv.TxnRef, error) {
	letter, number, more := strings.Cut(name, "/")
	r := kv.TxnRef{Attempt: 1}
	if len(letter) != 1 || letter[0] < 'A' || letter[0] > 'Z' {
		return r, fmt.Errorf("%q is not the name of a transaction", name)
	}
	r.Time = int64(letter[0]-'A') + 1
	if more {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return r, err
		}
		r.Attempt = uint32(n)
	}
	return r, nil
}

// Name formats an attempt as Txn reads it.
func Name(r kv.TxnRef) string {
	switch {
	case r.IsZero():
		return "none"
	case r.Attempt == 0 || r.Attempt == 1:
		return NameID(r.TxnID)
	}
	return NameID(r.TxnID) + "/" + strconv.Itoa(int(r.Attempt))
}

// NameID formats the name of a transaction, without its attempt.
func NameID(id kv.TxnID) string {
	if id.Time < 1 || id.Time > 26 || id.Rand != 0 {
		return id.String()
	}
	return string(rune('A' + id.Time - 1))
}

var hexID = regexp.MustCompile(`[0-9a-f]{32}`)

// Names replaces the ids in a text by names.
func Names(text string) string {
	return hexID.ReplaceAllStringFunc(text, func(s string) string {
		if b, err := hex.DecodeString(s); err == nil {
			var id kv.TxnID
			if id.Unmarshal(b) == nil {
				return NameID(id)
			}
		}
		return s
	})
}

// Span parses a key, or a range as [a,c) or [a,), which has no end.
func Span(s string) (kv.Span, error) {
	if !strings.HasPrefix(s, "[") {
		return kv.Point([]byte(s)), kv.CheckKey([]byte(s))
	}
	start, end, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "["), ")"), ",")
	if !ok || !strings.HasSuffix(s, ")") {
		return kv.Span{}, fmt.Errorf("%q is no range, want [start,end)", s)
	}
	return kv.Range([]byte(start), []byte(end)), nil
}

// SpanName formats a span as Span reads it.
func SpanName(s kv.Span) string {
	if s.IsPoint() {
		return Key(s.Start)
	}
	return "[" + Key(s.Start) + "," + Key(s.End) + ")"
}

// Key formats a key; the least key after k is k+.
func Key(k []byte) string {
	if n := len(k); n > 0 && k[n-1] == 0 {
		return Key(k[:n-1]) + "+"
	}
	return string(k)
}

// Shard parses the name of a shard, as in s3.
func Shard(s string) (kv.ShardID, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "s"), 10, 16)
	if err != nil || !strings.HasPrefix(s, "s") {
		return 0, fmt.Errorf("%q is no shard", s)
	}
	return kv.ShardID(n), nil
}

// Time formats an instant of virtual time.
func Time(nanos int64) string {
	if nanos == math.MaxInt64 {
		return "never"
	}
	return time.Duration(nanos).String()
}
