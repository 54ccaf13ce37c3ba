package history

import (
	"crypto/sha256"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// intervalText formats an interval, in time since the clock's zero.
func intervalText(start, end int64) string {
	if end == Never {
		return fmt.Sprintf("%v to unknown", time.Duration(start))
	}
	return fmt.Sprintf("%v to %v", time.Duration(start), time.Duration(end))
}

// describeTxn formats a transaction: its id, its client and its interval.
func describeTxn(t *Txn) string {
	return fmt.Sprintf("%s (client %d, %s)", idText(t.ID), t.Client, intervalText(t.Start, t.End))
}

// idText formats an opaque id: as text if it is printable, otherwise as hexadecimal digits.
func idText(s string) string {
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

// quote formats a value, a long one by its beginning.
func quote(v string) string {
	if len(v) > verbatimBytes {
		return fmt.Sprintf("%q...", v[:digestBytes-sha256.Size])
	}
	return fmt.Sprintf("%q", v)
}
