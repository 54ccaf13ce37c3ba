package manual

import (
	"fmt"
	"regexp"
	"strings"
)

// forms are what is different each time, and what stands for it.
var forms = []struct {
	pattern *regexp.Regexp
	form    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "<time>"},
	{regexp.MustCompile(`@[0-9a-f]{8}-\d+`), "<snapshot>"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "<transaction>"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "<cluster>"},
	{regexp.MustCompile(`\blinchpin_[A-Za-z0-9_-]{43}`), "<token>"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\b`), "<version>"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ns|µs|ms|s|m|h))+\b`), "<duration>"},
	{regexp.MustCompile(`\b\d+(\.\d+)? (µs|ms|s)\b`), "<duration>"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// form replaces what is different each time.
func form(line string) string {
	for _, f := range forms {
		line = f.pattern.ReplaceAllString(line, f.form)
	}
	return strings.TrimRight(line, " ")
}

// anything stands for any text within a line, and alone for any number of lines.
const anything = "..."

// Same holds an output against what a page says of it.
func Same(want, got string) error {
	w, g := split(want), split(got)
	if !linesFit(w, g) {
		return fmt.Errorf("the page says\n%s\nand it is\n%s", strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n"))
	}
	return nil
}

func split(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func linesFit(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == anything {
		for skip := 0; skip <= len(got); skip++ {
			if linesFit(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && lineFits(want[0], got[0]) && linesFit(want[1:], got[1:])
}

func lineFits(want, got string) bool {
	parts := strings.Split(form(want), anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(form(got))
}
