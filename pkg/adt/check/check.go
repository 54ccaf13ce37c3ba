// Package check tries to refute what the declaration of a data type says, above
// all of what commutes. It looks for a counterexample by trying.
//
// It makes up a value, by calls, and up to three transactions on it. It has them
// planned beside each other as a shard would: each looks at the value that is
// visible and at what the others have prepared, and leaves if its locks do not go
// together with theirs. Meanwhile some commit, some are given up, and some are
// answered ahead of their commit. Then it compares, for every outcome and every
// order of those that are left:
//
//   - they make the same value in every order, whichever of them commit;
//   - each was told what it would have been told had it been alone in its place of
//     the order, and no change that was planned fails;
//   - who failed fails whatever becomes of the undecided;
//   - what a reader was told is not altered by changes that its locks go together
//     with;
//   - Combine and the stored form lose nothing, and Apply, Plan and CommitResponse change
//     nothing that they were given.
//
// What is found is made smaller as long as it remains wrong, and put into words.
// The same seed finds the same.
//
// That nothing is found proves nothing, but there are few ways left to be wrong.
// What it cannot find are errors that need more than three transactions, or
// arguments that are hardly ever drawn (adt.MethodSpec.Draw helps), and whatever a
// type does that depends on more than its arguments: a clock, say.
package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Type tries to refute the declaration of a type, installed or not. The error is a
// counterexample in words, made as small as could be.
func Type(t *adt.Type, seed uint64, rounds int) error {
	_, err := Examine(t, seed, rounds)
	return err
}

// Report is what was looked at to find nothing wrong.
type Report struct {
	// Pairs is how often transactions ran beside each other.
	Pairs int
	// Waits is how often locks kept one of them out.
	Waits int
	// Needs lists, by methods in their order, the locks that they were seen to need.
	Needs [][]adt.Kind
	// Strict lists, in words, what the declaration may forbid without need: locks
	// that do not go together although nothing was found to go wrong if they did,
	// and locks for changes where nothing changed. It is no error: two that rarely
	// clash, on values that are rarely drawn, look the same.
	Strict []string
	// Untried lists, in words, what was declared and never came about, so that
	// nothing was found out about it: methods of which every call failed, and locks
	// that go together and were never held beside each other. It is no error, and
	// it is no check either.
	Untried []string
}

// Examine is Type with a report.
func Examine(t *adt.Type, seed uint64, rounds int) (Report, error) {
	c := &checker{t: adt.Bare{Type: t}, lots: lots(seed), seen: map[[2]adt.Kind]*clashes{}, needed: map[[2]uint32]bool{},
		done: map[uint32]bool{}, tried: map[[2]adt.Kind]bool{}}
	for range rounds {
		tr := c.draw()
		r := c.refute(tr)
		if r == nil {
			c.clash(tr)
			r = c.told(tr)
		}
		if r != nil {
			return Report{}, fmt.Errorf("%s", c.shrink(tr, r))
		}
	}
	return Report{Pairs: c.pairs, Waits: c.waits, Needs: c.needs(), Strict: c.strict(), Untried: c.untried()}, nil
}

// checker is one run of Examine.
type checker struct {
	t    adt.Bare
	lots lots
	// seen are the pairs of kinds that do not go together, the lesser first.
	seen   map[[2]adt.Kind]*clashes
	idle   []string
	needed map[[2]uint32]bool // by method and kind
	// done are the methods of which a call did not fail.
	done map[uint32]bool
	// tried are the pairs of kinds, the lesser first, of which both orders were
	// compared, or a reader's answer before and after the change.
	tried        map[[2]adt.Kind]bool
	pairs, waits int
	// drawn are the bytes of a trial so far: half of them come again, so that parts
	// of values meet.
	drawn [][]byte
	// kept are values with their stored form when they were made: nothing may
	// have changed them since.
	kept   []kept
	report *refutation
}

type kept struct {
	state any
	form  string
	from  string
}

// clashes is what was found of two kinds that do not go together.
type clashes struct {
	tried, clashed             int
	triedOthers, clashedOthers int
}

// wrong notes what is wrong, the first time.
func (c *checker) wrong(format string, args ...any) {
	if c.report == nil {
		c.report = &refutation{says: fmt.Sprintf(format, args...)}
	}
}

// told takes what is wrong, nil if nothing is.
func (c *checker) told(tr *trial) *refutation {
	r := c.report
	c.report = nil
	if r != nil {
		r.trial = tr
	}
	return r
}

// form is a value as it is compared: its existence and stored form.
func (c *checker) form(v *entry.Value) string {
	if !v.Exists() {
		return "absent"
	}
	s, err := c.t.State(v)
	if err != nil {
		c.wrong("A stored value cannot be read back: %v.", err)
		return "unreadable"
	}
	return "=" + string(c.t.Encode(s))
}

// keep remembers a value, to find out who changes it.
func (c *checker) keep(v *entry.Value, from string) {
	if v.State != nil {
		c.kept = append(c.kept, kept{v.State, string(c.t.Encode(v.State)), from})
	}
}

// untouched reports who changes values in place.
func (c *checker) untouched() {
	for _, k := range c.kept {
		if string(c.t.Encode(k.state)) != k.form {
			c.wrong("The value %s was altered afterwards: Apply, or a Plan or an Answer, changes in place what it was given, or shares with it what is changed later.", k.from)
			return
		}
	}
}

// roundTrip looks at the stored form of a value, and gives a copy by way of it.
func (c *checker) roundTrip(v *entry.Value, from string) entry.Value {
	if !v.Exists() {
		return entry.Value{}
	}
	s, err := c.t.State(v)
	if err != nil {
		c.wrong("The value %s cannot be read: %v.", from, err)
		return *v
	}
	form := c.t.Encode(s)
	back, err := c.t.Decode(slices.Clone(form))
	if err != nil {
		c.wrong("The value %s is stored as %q, and Decode cannot read that: %v.", from, form, err)
		return *v
	}
	if again := c.t.Encode(back); string(again) != string(form) {
		c.wrong("The value %s is stored as %q, and as %q after it was read back.", from, form, again)
	}
	return entry.Value{Type: c.t.ID, Version: v.Version, Payload: form}
}

// strict lists what the declaration may forbid without need.
func (c *checker) strict() (out []string) {
	name := func(k adt.Kind) string { return c.t.Kinds[k-1].Name }
	for a := adt.Kind(1); int(a) <= len(c.t.Kinds); a++ {
		if !c.isNeeded(a) {
			out = append(out, fmt.Sprintf("no call needed the lock %q", name(a)))
		}
		for b := a; int(b) <= len(c.t.Kinds); b++ {
			s := c.seen[[2]adt.Kind{a, b}]
			switch {
			case s == nil:
			case s.tried >= enough && s.clashed == 0:
				out = append(out, fmt.Sprintf("%q and %q%s do not go together, and nothing was found that would go wrong, in %d tries",
					name(a), name(b), c.samePart(a, b), s.tried))
			case c.t.Relation(a, b) == 0 && s.triedOthers >= enough && s.clashedOthers == 0:
				out = append(out, fmt.Sprintf("%q and %q do not go together on different parts, and nothing was found that would go wrong, in %d tries",
					name(a), name(b), s.triedOthers))
			}
		}
	}
	return append(out, c.idle...)
}

// isNeeded reports whether a call needed a lock, or it stands where the value is not
// known.
func (c *checker) isNeeded(k adt.Kind) bool {
	for _, m := range c.t.Methods {
		if m.Kind == k || c.needed[[2]uint32{m.Number, uint32(k)}] {
			return true
		}
	}
	return false
}

func (c *checker) needs() [][]adt.Kind {
	out := make([][]adt.Kind, len(c.t.Methods))
	for i, m := range c.t.Methods {
		for k := adt.Kind(1); int(k) <= len(c.t.Kinds); k++ {
			if c.needed[[2]uint32{m.Number, uint32(k)}] {
				out[i] = append(out[i], k)
			}
		}
	}
	return out
}

// enough tries without a clash are worth a word. Somewhat arbitrary.
const enough = 100

func (c *checker) samePart(a, b adt.Kind) string {
	if c.t.Relation(a, b) == adt.OtherPart {
		return " on the same part"
	}
	return ""
}
