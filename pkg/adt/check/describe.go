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
	all    []*standing
	reader *step
	says   string
}

// describe puts it into words.
func (c *checker) describe(r *refutation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "adt: the data type %q is not what its declaration says.\n", c.t.Name)
	b.WriteString("  Value: absent at first")
	if r.trial != nil && len(r.trial.setup) > 0 {
		b.WriteString("; then " + list(r.trial.setup))
	}
	b.WriteString("\n")
	for _, s := range r.all {
		fmt.Fprintf(&b, "  %s: %s", s.name(), list(s.calls))
		if len(s.modes) > 0 {
			fmt.Fprintf(&b, ", under %s", c.names(s.modes))
		}
		if s.ahead {
			b.WriteString(", answered ahead of its commit")
		}
		fmt.Fprintf(&b, ": %s\n", s.outcome.words())
	}
	if r.all == nil && r.trial != nil {
		for i := range r.trial.txns {
			fmt.Fprintf(&b, "  %s: %s\n", (&standing{number: i}).name(), list(r.trial.txns[i].calls))
		}
	}
	if r.reader != nil {
		fmt.Fprintf(&b, "  The reader: %s\n", *r.reader)
	}
	return b.String() + "  " + r.says
}

// name is a letter.
func (s *standing) name() string { return string(rune('A' + s.number)) }

func (s step) String() string {
	out := s.method.Name
	for i := range s.args {
		out += " " + literal(&s.args[i])
	}
	return out
}

func list(steps []step) string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.String()
	}
	return strings.Join(out, ", ")
}

// literal is a datum in words.
func literal(d *msg.Datum) string {
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

// words tells what a transaction came to.
func (o *outcome) words() string {
	var out []string
	for _, a := range o.answers {
		if len(a) == 0 {
			continue
		}
		var data []string
		for i := range a {
			data = append(data, literal(&a[i]))
		}
		out = append(out, strings.Join(data, " "))
	}
	says := "done"
	if len(out) > 0 {
		says = "answered " + strings.Join(out, ", then ")
	}
	if o.err != nil {
		return "refused (" + o.err.Error() + ")"
	}
	return says
}

func (c *checker) words(calls []msg.Call) string {
	out := make([]string, len(calls))
	for i := range calls {
		if m := c.t.Method(calls[i].Method); m != nil {
			out[i] = step{m, calls[i].Args}.String()
		}
	}
	return strings.Join(out, ", ")
}

// names lists locks: kind, and part as a hash.
func (c *checker) names(modes []adt.Mode) string {
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

// sequence is "A, then B".
func sequence(order []*standing) string {
	if len(order) == 0 {
		return "nothing"
	}
	out := make([]string, len(order))
	for i, s := range order {
		out[i] = s.name()
	}
	return strings.Join(out, ", then ")
}

func names(some []*standing, verb string) string {
	if len(some) == 0 {
		return "no operation " + verb
	}
	out := make([]string, len(some))
	for i, s := range some {
		out[i] = s.name()
	}
	return strings.Join(out, " and ") + " " + verb
}

func committing(order []*standing) string {
	if len(order) == 0 {
		return "none commit"
	}
	return "the commits are " + sequence(order)
}
