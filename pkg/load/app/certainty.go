package app

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// certainty is what is known about something that was to be done.
type certainty uint8

const (
	no certainty = iota
	// perhaps: the outcome is not known, and may still change.
	perhaps
	sure
)

// or is c after the same was tried once more.
func (c certainty) or(o workload.Outcome) certainty {
	switch o {
	case workload.Committed:
		return sure
	case workload.Unknown:
		return max(c, perhaps)
	}
	return c
}

// count counts what is sure, and what is perhaps.
func count[K comparable](m map[K]certainty) (sures, perhapses int) {
	for _, c := range m {
		switch c {
		case sure:
			sures++
		case perhaps:
			perhapses++
		}
	}
	return sures, perhapses
}

// between says how many there were.
func between(sures, perhapses int) string {
	if perhapses == 0 {
		return fmt.Sprint(sures)
	}
	return fmt.Sprintf("%d to %d", sures, sures+perhapses)
}

// sameMembers expects each of the members that are sure, once, and no others
// than those that are sure or perhaps.
func (f *finding) sameMembers(what string, found []string, want map[string]certainty) {
	there := make(map[string]bool, len(found))
	var mistakes []string
	for _, m := range found {
		switch {
		case there[m]:
			mistakes = append(mistakes, fmt.Sprintf("%q is there twice", m))
		case want[m] == no:
			mistakes = append(mistakes, fmt.Sprintf("%q is there, and was not acknowledged", m))
		}
		there[m] = true
	}
	for m, c := range want {
		if c == sure && !there[m] {
			mistakes = append(mistakes, fmt.Sprintf("%q was acknowledged, and is not there", m))
		}
	}
	slices.Sort(mistakes)
	f.expect(len(mistakes) == 0, "%s: %s", what, some(mistakes))
}

// some is the first of several mistakes.
func some(mistakes []string) string {
	if len(mistakes) == 0 {
		return ""
	}
	if len(mistakes) == 1 {
		return mistakes[0]
	}
	return fmt.Sprintf("%s, and %d more", mistakes[0], len(mistakes)-1)
}

// merge adds what another has found.
func (f *finding) merge(o finding) {
	f.compared += o.compared
	f.wrong += o.wrong
	f.examples = append(f.examples, o.examples[:min(len(o.examples), maxExamples-len(f.examples))]...)
}
