package history

import (
	"crypto/sha256"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// span words an interval, in time since the clock's zero.
func span(start, end int64) string {
	if end == Never {
		return fmt.Sprintf("%v to unknown", time.Duration(start))
	}
	return fmt.Sprintf("%v to %v", time.Duration(start), time.Duration(end))
}

// who words a transaction: its id, its client and its interval.
func who(t *Txn) string {
	return fmt.Sprintf("%s (client %d, %s)", id(t.ID), t.Client, span(t.Start, t.End))
}

// id words an opaque id: as text if it is, else in hexadecimal digits.
func id(s string) string {
	if s == "" {
		return "a transaction"
	}
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Sprintf("%x", s)
		}
	}
	return s
}

// quote words a value, a long one by its beginning.
func quote(v string) string {
	if len(v) > verbatimBytes {
		return fmt.Sprintf("%q...", v[:digestBytes-sha256.Size])
	}
	return fmt.Sprintf("%q", v)
}
