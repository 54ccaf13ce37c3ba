package docs

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

var (
	heading = regexp.MustCompile(`(?m)^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$`)
	// What a heading has in [brackets](and a target) is shown as the brackets' text.
	linked = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// Anchors gives the parts of a page that a link can lead to: its headings, named by
// the rules of GitHub. The second heading of a name has "-1" behind it, the third "-2".
func Anchors(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := slug(m[1])
		at := name
		for n := 1; anchors[at]; n++ {
			at = fmt.Sprintf("%s-%d", name, n)
		}
		anchors[at] = true
	}
	return anchors
}

// slug is the name of a heading: letters in lower case, digits, "-" and "_" stay, a
// space becomes "-", and everything else is left out.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, linked.ReplaceAllString(heading, "$1"))
}
