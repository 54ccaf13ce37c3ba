package kv

import (
	"bytes"
	"fmt"
)

// Span is a contiguous set of keys: the key Start if End is nil, else all keys from Start to End,
// exclusive. An empty End that is not nil means up to the last key.
type Span struct {
	Start, End []byte
}

// Point returns the span of one key.
func Point(key []byte) Span { return Span{Start: key} }

// Range returns the span of the keys from start to end, exclusive; an empty end means up to the
// last key.
func Range(start, end []byte) Span {
	if end == nil {
		end = []byte{}
	}
	return Span{Start: start, End: end}
}

// IsPoint reports whether s is a single key.
func (s Span) IsPoint() bool { return s.End == nil }

// Contains reports whether key is in s.
func (s Span) Contains(key []byte) bool {
	if s.End == nil {
		return bytes.Equal(s.Start, key)
	}
	return bytes.Compare(s.Start, key) <= 0 && (len(s.End) == 0 || bytes.Compare(key, s.End) < 0)
}

// Overlaps reports whether a key is in both spans.
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

// IsEmpty reports whether no key can be in s.
func (s Span) IsEmpty() bool {
	return len(s.End) > 0 && bytes.Compare(s.Start, s.End) >= 0
}

// Next returns the least key greater than key.
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

// CheckKey returns an error for a key that is empty or too long.
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

// SystemStart is the first system key; all keys from it on are system keys. They are at the end of
// the key space, so that a range of clients' keys remains one range.
const SystemStart = "\xff\xff"

// IsSystem reports whether a key is a system key, which clients can neither read nor write.
func IsSystem(key []byte) bool { return string(key) >= SystemStart }

// CheckClientKey returns an error for a key that clients cannot use.
func CheckClientKey(key []byte) error {
	if IsSystem(key) {
		return systemKey(key)
	}
	return CheckKey(key)
}

// ClientRange returns the range of clients' keys from start to end. It must not start with a system
// key. An empty end means up to the last client key.
func ClientRange(start, end []byte) (Span, error) {
	if IsSystem(start) {
		return Span{}, systemKey(start)
	}
	if len(end) == 0 || IsSystem(end) {
		end = []byte(SystemStart)
	}
	return Range(start, end), nil
}

// systemKey returns the error for a system key.
func systemKey(key []byte) error {
	return &Error{Kind: KindInvalid, Op: -1, Key: key[:min(len(key), 32)], Text: "the key is one of linchpin's own",
		Hint: `choose another; those from "\xff\xff" on are not for clients`}
}

// CheckValue returns an error for a value that is too long.
func CheckValue(key, value []byte) error {
	if len(value) > MaxValueBytes {
		return &Error{Kind: KindInvalid, Text: fmt.Sprintf("the value has %d bytes", len(value)), Op: -1,
			Key: key, Hint: "a value has at most 1048576 bytes; store a larger one in several keys"}
	}
	return nil
}
