package main

import (
	"regexp"
	"strings"
)

// emptyMember matches the code that gogo generates for a oneof member of type bytes: it
// encodes nothing if the slice is nil. No other field has this code in a proto3 file.
var emptyMember = regexp.MustCompile(`(?m)^\tif m\.\w+ != nil \{\n((?:\t\ti -= len|\t\tl = ` +
	`len)\(m\.\w+\)\n(?:\t\t.*\n)*?)\t\}\n`)

// encodePresent has a oneof member that is set encoded also if its bytes are nil. A
// member is set or not by its wrapper; without this, the condition "the value is empty",
// built from a nil slice, does not reach the server, and the write is unconditional.
func encodePresent(code string) string {
	return emptyMember.ReplaceAllStringFunc(code, func(block string) string {
		body := emptyMember.FindStringSubmatch(block)[1]
		return strings.TrimPrefix(strings.ReplaceAll("\n"+body, "\n\t\t", "\n\t"), "\n")
	})
}
