package kv

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format formats a key or value, unambiguously: as it is if it is printable UTF-8 that does not begin
// with a double quote and has no leading or trailing space, otherwise as a quoted Go string.
func Format(b []byte) string {
	s := string(b)
	if s == "" || s[0] == '"' || strings.TrimSpace(s) != s || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// FormatBytes formats a number of bytes in MiB, or from 10 GiB in GiB.
func FormatBytes(n uint64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
