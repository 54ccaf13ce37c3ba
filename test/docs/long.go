package docs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The bounds of what is to be read: lines and columns of README.md, and words of all pages below docs/.
const (
	maxFirstLines   = 150
	maxFirstColumns = 120
	maxWords        = 45_000
)

// Long reports a first page, or pages below docs/, that are too long.
func Long(pages []Page) (bad []string) {
	words := 0
	for _, p := range pages {
		switch {
		case strings.HasPrefix(p.Path, "docs/"):
			words += len(strings.Fields(p.Text))
		case p.Path == "README.md":
			lines := strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n")
			if len(lines) > maxFirstLines {
				bad = append(bad, fmt.Sprintf("README.md has %d lines; at most %d", len(lines), maxFirstLines))
			}
			for i, line := range lines {
				if n := utf8.RuneCountInString(line); n > maxFirstColumns {
					bad = append(bad, fmt.Sprintf("README.md:%d has %d columns; at most %d", i+1, n, maxFirstColumns))
				}
			}
		}
	}
	if words > maxWords {
		bad = append(bad, fmt.Sprintf("docs/ has %d words; at most %d: one page per fact", words, maxWords))
	}
	return bad
}
