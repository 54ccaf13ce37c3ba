package client

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Range is a range of keys: from Start on, up to but without End. An empty bound is no bound, so
// Range{} has all keys.
type Range struct{ Start, End string }

// Prefix returns the range of the keys that begin with p.
func Prefix(p string) Range {
	end := []byte(p)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return Range{Start: p, End: string(end)}
}

// Entry is a key with what it holds.
type Entry struct {
	Key string
	// Type is the data type, empty if the key does not exist.
	Type Type
	// Value is the value of a key of [TypeValue], empty and not nil if it has no bytes. Other types
	// are read with their methods.
	Value []byte
	// Number is the value of a key of [TypeCounter].
	Number int64
	// Version identifies the write that made it.
	Version Version
	// Expires is when the key expires, by the clock of its shard; zero if it does not.
	Expires time.Time
}

// Page is a part of a range, as [ScanOp] reads it.
type Page struct {
	// Entries are in ascending order of keys, or in descending order with [Reverse].
	Entries []Entry
	// More reports whether the limit ended the page. Rest is the rest of the range then.
	Rest Range
	More bool
}

// Dump is what a key of any type holds, in its stored form. Later versions of linchpin can restore
// it.
type Dump struct {
	typ     pb.DataType
	name    string
	value   []byte
	number  int64
	expires int64
	found   bool
}

// Type returns the data type, empty if the key did not exist.
func (d Dump) Type() Type {
	if !d.found {
		return ""
	}
	return typeOf(d.typ, d.name)
}

func dumpOf(p *pb.Result) Dump {
	return Dump{typ: p.Type, name: p.TypeName, value: p.Value, number: p.Number, expires: p.ExpiresAtMs, found: p.Found}
}

func entryOf(key string, p *pb.Result) Entry {
	if !p.Found {
		return Entry{Key: key}
	}
	return Entry{Key: key, Type: typeOf(p.Type, p.TypeName), Value: written(p.Type, p.Value), Number: p.Number,
		Version: Version{p.Version}, Expires: expires(p.ExpiresAtMs)}
}

func entryOfPair(p *pb.Entry) Entry {
	return Entry{Key: string(p.Key), Type: typeOf(p.Type, p.TypeName), Value: written(p.Type, p.Value), Number: p.Number,
		Version: Version{p.Version}, Expires: expires(p.ExpiresAtMs)}
}

// written returns a value as it was written: an empty one is not on the wire.
func written(t pb.DataType, value []byte) []byte {
	if value == nil && t == pb.DataType_VALUE {
		return []byte{}
	}
	return value
}

func expires(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// checkTTL is kv.CheckTTL for a key.
func checkTTL(key string, ttl time.Duration) *kv.Error {
	err := kv.CheckTTL(ttl)
	if err == nil {
		return nil
	}
	wrong := *err.(*kv.Error)
	wrong.Key = []byte(key)
	return &wrong
}
