package kv

import (
	"bytes"
	"fmt"
)

// Span is a set of neighbouring keys: the one key Start when End is nil, else
// all keys from Start up to but without End. An End that is empty but not nil
// means "to the last key".
type Span struct {
	Start, End []byte
}

// Point is the span of a single key.
func Point(key []byte) Span { return Span{Start: key} }

// Range is the span of the keys from start up to but without end; an empty
// end means to the last key.
func Range(start, end []byte) Span {
	if end == nil {
		end = []byte{}
	}
	return Span{Start: start, End: end}
}

// IsPoint reports whether s is a single key.
func (s Span) IsPoint() bool { return s.End == nil }

// Contains reports whether key lies in s.
func (s Span) Contains(key []byte) bool {
	if s.End == nil {
		return bytes.Equal(s.Start, key)
	}
	return bytes.Compare(s.Start, key) <= 0 && (len(s.End) == 0 || bytes.Compare(key, s.End) < 0)
}

// Overlaps reports whether some key lies in both.
func (s Span) Overlaps(o Span) bool {
	switch {
	case s.End == nil:
		return o.Contains(s.Start)
	case o.End == nil:
		return s.Contains(o.Start)
	}
	return (len(o.End) == 0 || bytes.Compare(s.Start, o.End) < 0) &&
		(len(s.End) == 0 || bytes.Compare(o.Start, s.End) < 0)
}

// IsEmpty reports whether no key can lie in s.
func (s Span) IsEmpty() bool {
	return len(s.End) > 0 && bytes.Compare(s.Start, s.End) >= 0
}

// Next is the least key greater than key.
func Next(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), key...), 0)
}

func (s Span) String() string {
	if s.End == nil {
		return fmt.Sprintf("%q", s.Start)
	}
	if len(s.End) == 0 {
		return fmt.Sprintf("[%q, end)", s.Start)
	}
	return fmt.Sprintf("[%q, %q)", s.Start, s.End)
}

// CheckKey refuses a key that is empty or too long.
func CheckKey(key []byte) error {
	switch {
	case len(key) == 0:
		return &Error{Kind: KindInvalid, Text: "the key is empty", Op: -1, Hint: "a key has 1 to 4096 bytes"}
	case len(key) > MaxKeyBytes:
		return &Error{Kind: KindInvalid, Text: fmt.Sprintf("the key has %d bytes", len(key)), Op: -1,
			Key: key[:32], Hint: "a key has 1 to 4096 bytes"}
	}
	return nil
}

// SystemStart is the first of the keys that are linchpin's own: all from it on.
// They are at the end of all keys, so that a range of clients' keys stays one
// range without them.
const SystemStart = "\xff\xff"

// IsSystem reports whether a key is one of linchpin's own, which clients can
// neither read nor write.
func IsSystem(key []byte) bool { return string(key) >= SystemStart }

// CheckClientKey refuses a key that clients cannot use.
func CheckClientKey(key []byte) error {
	if IsSystem(key) {
		return systemKey(key)
	}
	return CheckKey(key)
}

// ClientRange is a range of clients' keys: up to those of linchpin's own, of
// which it must not consist. An empty end means to the last of the clients'.
func ClientRange(start, end []byte) (Span, error) {
	if IsSystem(start) {
		return Span{}, systemKey(start)
	}
	if len(end) == 0 || IsSystem(end) {
		end = []byte(SystemStart)
	}
	return Range(start, end), nil
}

func systemKey(key []byte) error {
	return &Error{Kind: KindInvalid, Op: -1, Key: key[:min(len(key), 32)], Text: "the key is one of linchpin's own",
		Hint: `choose another; those from "\xff\xff" on are not for clients`}
}

// CheckValue refuses a value that is too long.
func CheckValue(key, value []byte) error {
	if len(value) > MaxValueBytes {
		return &Error{Kind: KindInvalid, Text: fmt.Sprintf("the value has %d bytes", len(value)), Op: -1,
			Key: key, Hint: "a value has at most 1048576 bytes; store a larger one in several keys"}
	}
	return nil
}
