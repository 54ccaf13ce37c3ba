package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// refutation is a counterexample.
type refutation struct {
	trial  *trial
	all    []*running
	reader *step
	text   string
}

// describe describes a counterexample in words.
//
//	adt: the data type "tags" is not what its declaration says.
//	  Value: absent at first; then add "a"
//	  A: remove "a", under "remove"(61c8864680b583eb): done
//	  B: count, under "count": answered 1
//	  B was answered 1. In this order it would be answered 0: A, then B
func (c *checker) describe(r *refutation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "adt: the data type %q is not what its declaration says.\n", c.t.Name)
	b.WriteString("  Value: absent at first")
	if r.trial != nil && len(r.trial.setup) > 0 {
		b.WriteString("; then " + describeSteps(r.trial.setup))
	}
	b.WriteString("\n")
	for _, s := range r.all {
		fmt.Fprintf(&b, "  %s: %s", s.name(), describeSteps(s.calls))
		if len(s.modes) > 0 {
			fmt.Fprintf(&b, ", under %s", c.describeModes(s.modes))
		}
		if s.ahead {
			b.WriteString(", answered ahead of its commit")
		}
		fmt.Fprintf(&b, ": %s\n", s.outcome.describe())
	}
	if r.all == nil && r.trial != nil {
		for i := range r.trial.txns {
			fmt.Fprintf(&b, "  %s: %s\n", (&running{number: i}).name(), describeSteps(r.trial.txns[i].calls))
		}
	}
	if r.reader != nil {
		fmt.Fprintf(&b, "  The reader: %s\n", *r.reader)
	}
	return b.String() + "  " + r.text
}

// name is a letter.
func (s *running) name() string { return string(rune('A' + s.number)) }

func (s step) String() string {
	out := s.method.Name
	for i := range s.args {
		out += " " + formatDatum(&s.args[i])
	}
	return out
}

func describeSteps(steps []step) string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.String()
	}
	return strings.Join(out, ", ")
}

// formatDatum formats a datum.
func formatDatum(d *msg.Datum) string {
	switch d.Kind {
	case msg.DatumBytes:
		return strconv.Quote(string(d.Bytes))
	case msg.DatumInt:
		return strconv.FormatInt(d.Int, 10)
	case msg.DatumFloat:
		return strconv.FormatFloat(d.Float, 'g', -1, 64)
	case msg.DatumBool:
		return strconv.FormatBool(d.Int != 0)
	}
	return "nothing"
}

// describe describes the outcome of a transaction.
func (o *outcome) describe() string {
	var out []string
	for _, a := range o.answers {
		if len(a) == 0 {
			continue
		}
		var data []string
		for i := range a {
			data = append(data, formatDatum(&a[i]))
		}
		out = append(out, strings.Join(data, " "))
	}
	text := "done"
	if len(out) > 0 {
		text = "answered " + strings.Join(out, ", then ")
	}
	if o.err != nil {
		return "refused (" + o.err.Error() + ")"
	}
	return text
}

func (c *checker) describeCalls(calls []msg.Call) string {
	out := make([]string, len(calls))
	for i := range calls {
		if m := c.t.Method(calls[i].Method); m != nil {
			out[i] = step{m, calls[i].Args}.String()
		}
	}
	return strings.Join(out, ", ")
}

// describeModes lists locks: the kind, and the part as a hash.
func (c *checker) describeModes(modes []adt.Mode) string {
	var out []string
	for _, m := range modes {
		s := fmt.Sprintf("kind %d", m.Kind())
		if c.t.Has(m.Kind()) {
			s = strconv.Quote(c.t.Kinds[m.Kind()-1].Name)
		}
		if m.Part() != 0 {
			s += fmt.Sprintf("(%x)", m.Part())
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return "no lock"
	}
	return strings.Join(out, " and ")
}

// describeOrder returns "A, then B".
func describeOrder(order []*running) string {
	if len(order) == 0 {
		return "nothing"
	}
	out := make([]string, len(order))
	for i, s := range order {
		out[i] = s.name()
	}
	return strings.Join(out, ", then ")
}

func describeTxns(some []*running, verb string) string {
	if len(some) == 0 {
		return "no operation " + verb
	}
	out := make([]string, len(some))
	for i, s := range some {
		out[i] = s.name()
	}
	return strings.Join(out, " and ") + " " + verb
}

func describeCommits(order []*running) string {
	if len(order) == 0 {
		return "none commit"
	}
	return "the commits are " + describeOrder(order)
}
