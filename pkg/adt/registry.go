package adt

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Type is a declared data type without the Go type of its values: a value is an any that only the
// type decodes.
//
// HAZARD: a Type is shared by all goroutines and by all simulated nodes of a process. Nothing of it changes after
// Install, and its functions may only use their arguments.
type Type struct {
	ID      entry.Type
	Name    string
	Doc     string
	Kinds   []KindSpec
	Methods []*TypeMethod
	zero    func() any
	encode  func(any) []byte
	decode  func([]byte) (any, error)
	empty   func(any) bool
	size    func(any) int
	// elements is nil if the type does not count them.
	elements func(any) int
	// pages is nil if values are always stored whole.
	pages *Pages[any]
	// relation has the condition for each pair of kinds.
	relation [][]When
	// coverage is derived from relation.
	coverage [][]coverage
}

// TypeMethod is a method of a Type.
type TypeMethod struct {
	Type *Type
	// Number is the method's number in calls, from 1.
	Number  uint32
	Name    string
	Doc     string
	Params  []Param
	Kind    Kind
	Changes bool
	Answers bool
	// Distinct: no two calls return the same.
	Distinct bool
	// hasPlan: the needed lock depends on more than the arguments.
	hasPlan bool
	part    func(Args) [][]byte
	apply   func(any, Args) (any, error)
	plan    func(*View[any], Args) Plan
	combine func(first, then Args) (Args, bool)
	draw    func(func(int) int) Args
}

// types are the declared types, by number.
var types [256]*Type

// Lookup returns the type with a number, or nil.
func Lookup(id entry.Type) *Type { return types[id] }

// ByName returns the type with a name, or nil.
func ByName(name string) *Type {
	for _, t := range types {
		if t != nil && t.Name == name {
			return t
		}
	}
	return nil
}

// TypeByName returns the type with a name, including values and counters, or nil.
func TypeByName(name string) *Type {
	for _, t := range plainTypes {
		if t.Name == name {
			return t
		}
	}
	return ByName(name)
}

// Types returns all declared types, by number.
func Types() (out []*Type) {
	for _, t := range types {
		if t != nil {
			out = append(out, t)
		}
	}
	return out
}

// Install declares a type and registers it. It is called before anything else, from an init
// function or at the start of main. It panics if the declaration is invalid, or its number or name
// is taken. Package check tests whether the declared kinds commute; a server does so when it
// starts.
//
// While a new program is rolled out, nodes of one cluster may have different users' types. A program that does not
// know a type rejects calls of its methods (Find), and takes ModeWrite for logged changes of it (ChangeModes), which
// conflicts with everything.
func Install[S any](s Spec[S]) *Type {
	t, err := Declare(s)
	if err != nil {
		panic(err)
	}
	if types[t.ID] != nil || TypeByName(t.Name) != nil {
		panic(fmt.Sprintf("adt: the number %d or the name %q of a data type is taken", t.ID, t.Name))
	}
	types[t.ID] = t
	return t
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// isValidName reports whether a name of a type or method is valid.
func isValidName(name string) bool {
	return len(name) <= kv.MaxTypeName && namePattern.MatchString(name)
}

// Declare makes a type without registering it, or returns an error if the declaration is invalid.
//
// A number and a kind each have one byte of a [Mode]. The highest numbers are reserved, among others for tombstones
// (entry.TypeDeleted).
func Declare[S any](s Spec[S]) (*Type, error) {
	t := &Type{ID: s.ID, Name: s.Name, Doc: s.Doc, Kinds: s.Kinds}
	wrong := func(format string, args ...any) (*Type, error) {
		return nil, fmt.Errorf("adt: data type %q: %s", s.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case s.ID < 2 || s.ID > 239:
		return wrong("its number is %d; 2 to 127 are linchpin's, 128 to 239 are free", s.ID)
	case !isValidName(s.Name):
		return wrong("a name is of small letters, digits and dashes, at most 64")
	case s.Zero == nil || s.Encode == nil || s.Decode == nil:
		return wrong("it needs Zero, Encode and Decode")
	case len(s.Kinds) == 0 || len(s.Kinds) > 254 || len(s.Methods) == 0:
		return wrong("it needs kinds of lock, at most 254, and methods")
	}
	eraseType(t, &s)
	t.relation = make([][]When, len(s.Kinds))
	for i := range t.relation {
		t.relation[i] = make([]When, len(s.Kinds))
	}
	for _, c := range s.Commute {
		if !t.hasKind(c.A) || !t.hasKind(c.B) || c.When < Always || c.When > OtherPart {
			return wrong("kinds %d and %d commute when %d: there is no such thing", c.A, c.B, c.When)
		}
		t.relation[c.A-1][c.B-1], t.relation[c.B-1][c.A-1] = c.When, c.When
	}
	t.coverage = make([][]coverage, len(s.Kinds))
	for a := range t.coverage {
		for b := range s.Kinds {
			t.coverage[a] = append(t.coverage[a], t.computeCoverage(Kind(a+1), Kind(b+1)))
		}
	}
	for i := range s.Methods {
		if err := t.addMethod(uint32(i+1), eraseMethod(&s.Methods[i], uint32(i+1), s.Kinds)); err != nil {
			return wrong("%v", err)
		}
	}
	return t, nil
}

// hasKind reports whether the type declares a kind of lock.
func (t *Type) hasKind(k Kind) bool { return k > 0 && int(k) <= len(t.Kinds) }

// addMethod validates a method and adds it.
//
// What is rejected here would be silently wrong later: a method that changes the value under a lock for queries is
// compatible with every reader, and none would see a conflict.
func (t *Type) addMethod(number uint32, m *TypeMethod) error {
	m.Type, m.Number = t, number
	switch {
	case !isValidName(m.Name), t.MethodByName(m.Name) != nil:
		return fmt.Errorf("method %q: a name has at most 64 lower-case letters, digits and dashes, and is unique", m.Name)
	case !t.hasKind(m.Kind):
		return fmt.Errorf("method %q needs the kind of lock %d, which is not declared", m.Name, m.Kind)
	case !m.Changes && !m.Answers:
		return fmt.Errorf("method %q has neither an update nor a result", m.Name)
	case m.Changes && !t.Kinds[m.Kind-1].Changes:
		return fmt.Errorf("method %q updates the value under %q, a lock for queries", m.Name, t.Kinds[m.Kind-1].Name)
	case len(m.Params) > 16:
		return fmt.Errorf("method %q has %d parameters; the limit is 16", m.Name, len(m.Params))
	}
	t.Methods = append(t.Methods, m)
	return nil
}

// eraseType wraps the functions of a declaration for values of type any.
//
// The wrappers cost one type assertion and one indirect call each.
func eraseType[S any](t *Type, s *Spec[S]) {
	t.zero = func() any { return s.Zero() }
	t.encode = func(v any) []byte { return s.Encode(v.(S)) }
	t.decode = func(b []byte) (any, error) { return s.Decode(b) }
	t.pages = s.Pages.erased()
	t.empty = func(v any) bool { return s.Empty != nil && s.Empty(v.(S)) }
	if s.Elements != nil {
		t.elements = func(v any) int { return s.Elements(v.(S)) }
	}
	t.size = func(v any) int {
		if s.Size != nil {
			return s.Size(v.(S))
		}
		return len(s.Encode(v.(S)))
	}
}

// eraseMethod wraps the functions of a method for values of type any. A method without Plan gets
// one that always needs Kind.
//
// View.Unique is passed only to Distinct methods: a method that used it without saying so would return different
// results in the attempts of one transaction, and the receivers of shared answers would all get the same one.
func eraseMethod[S any](m *MethodSpec[S], number uint32, kinds []KindSpec) *TypeMethod {
	out := &TypeMethod{Name: m.Name, Doc: m.Doc, Params: m.Params, Kind: m.Kind, Answers: m.Answers || m.Answer != nil,
		Distinct: m.Distinct,
		Changes:  m.Apply != nil || m.Plan != nil && int(m.Kind) <= len(kinds) && m.Kind > 0 && kinds[m.Kind-1].Changes,
		part:     m.Part, combine: m.Combine, draw: m.Draw}
	if m.Apply != nil {
		out.apply = func(v any, a Args) (any, error) { return m.Apply(v.(S), a) }
	}
	if m.Plan != nil {
		out.hasPlan = true
		out.plan = func(v *View[any], a Args) Plan {
			view := View[S]{State: v.State.(S), Exists: v.Exists, Others: v.Others, Ahead: v.Ahead}
			if m.Distinct {
				view.Unique = v.Unique
			}
			return m.Plan(&view, a)
		}
		return out
	}
	out.plan = func(v *View[any], a Args) (p Plan) {
		p.Need = m.Kind
		if m.Answer != nil {
			p.Answer, p.Err = m.Answer(v.State.(S), a)
		}
		if m.Apply != nil {
			p.Calls = []msg.Call{{Method: number, Args: a}}
		}
		return p
	}
	return out
}

// Method returns the method with a number, or nil.
func (t *Type) Method(number uint32) *TypeMethod {
	if number == 0 || int(number) > len(t.Methods) {
		return nil
	}
	return t.Methods[number-1]
}

// MethodByName returns the method with a name, or nil.
func (t *Type) MethodByName(name string) *TypeMethod {
	i := slices.IndexFunc(t.Methods, func(m *TypeMethod) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return t.Methods[i]
}

// areCompatible looks up two modes of the type in its relation.
//
//	add(x) with remove(y)      OtherPart, x and y differ: compatible
//	add(x) with remove(x)      OtherPart, the same part: not compatible
//	add(x) with remove(all)    a call with more than MaxLockedParts members: not compatible
func (t *Type) areCompatible(a, b Mode) bool {
	if t == nil || !t.hasKind(a.Kind()) || !t.hasKind(b.Kind()) {
		return false
	}
	switch t.relation[a.Kind()-1][b.Kind()-1] {
	case Always:
		return true
	// Part 0 is the whole value, which contains every part.
	case OtherPart:
		return a.Part() != 0 && b.Part() != 0 && a.Part() != b.Part()
	}
	return false
}

// Relation returns the condition under which two kinds commute, 0 for never.
//
// Two kinds without changes commute whatever is declared, since neither can alter what the other has read. So
// declarations need not list pairs of queries.
func (t *Type) Relation(a, b Kind) When {
	if !t.Kinds[a-1].Changes && !t.Kinds[b-1].Changes {
		return Always
	}
	return t.relation[a-1][b-1]
}

// MaxLockedParts is the number of parts that one call locks individually. A call with more locks the
// whole value: each lock is compared with every holder. The value is not critical.
const MaxLockedParts = 16

// modes appends the modes that a call needs under a kind of lock.
//
// Example. "add s x y" needs the modes add(x) and add(y), and conflicts with remove(x) but not with remove(z). With 17
// members it needs the mode add on the whole set, and conflicts with remove(z) as well: more waiting, never less.
func (t *Type) modes(buf []Mode, m *TypeMethod, k Kind, a Args) []Mode {
	// A call without parts, such as one with no members, locks the whole value.
	if m.part != nil {
		if parts := m.part(a); len(parts) > 0 && len(parts) <= MaxLockedParts {
			for _, p := range parts {
				buf = append(buf, newMode(t.ID, k, hashPart(p)))
			}
			return buf
		}
	}
	return append(buf, newMode(t.ID, k, 0))
}

// hashPart returns a hash of 48 bits, never 0. Parts with equal hashes share a lock: they wait
// without need, which is safe.
//
// The hash is in the log while a transaction is prepared, and in messages between nodes. Another hash would make two
// nodes disagree about which calls conflict.
func hashPart(part []byte) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range part {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return max(h>>16, 1)
}

// CheckArgs returns an error if the arguments do not match the parameters.
//
// Arguments come from clients and from stored effects. Functions of a declaration may rely on what is checked here:
// they index arguments without looking at their number or kind.
func (m *TypeMethod) CheckArgs(a Args) error {
	bad := func(format string, args ...any) error {
		return kv.Errorf(kv.KindInvalid, "%s of a %s: %s", m.Name, m.Type.Name, fmt.Sprintf(format, args...))
	}
	i := 0
	for p := 0; p < len(m.Params); p++ {
		param := &m.Params[p]
		if param.Many {
			group := m.Params[p:]
			if rest := len(a) - i; rest%len(group) != 0 || rest == 0 && !param.Optional {
				return bad("want %s", m.Usage())
			}
			for ; i < len(a); i++ {
				if err := checkArg(&group[(i-p)%len(group)], &a[i]); err != nil {
					return bad("%v", err)
				}
			}
			return nil
		}
		if i == len(a) {
			if !param.Optional {
				return bad("the argument %s is missing; want %s", param.Name, m.Usage())
			}
			return nil
		}
		if err := checkArg(param, &a[i]); err != nil {
			return bad("%v", err)
		}
		i++
	}
	if i < len(a) {
		return bad("%d arguments are too many; want %s", len(a), m.Usage())
	}
	return nil
}

// checkArg returns an error if an argument does not match its parameter.
//
// NaN and the infinities are excluded for all types: NaN has no position in an order and does not equal itself, and
// a sum that contains an infinity has forgotten all other summands.
func checkArg(p *Param, d *msg.Datum) error {
	switch {
	case d.Kind != p.Kind:
		return fmt.Errorf("%s must be %s", p.Name, KindName(p.Kind))
	case d.Kind == msg.DatumFloat && (math.IsNaN(d.Float) || math.IsInf(d.Float, 0)):
		return fmt.Errorf("%s is not a finite number", p.Name)
	case d.Kind == msg.DatumBytes && len(d.Bytes) > kv.MaxValueBytes:
		return fmt.Errorf("%s has %d bytes; the limit is %d", p.Name, len(d.Bytes), kv.MaxValueBytes)
	}
	return nil
}

// KindName returns the words for a kind of datum.
func KindName(k msg.DatumKind) string {
	names := [...]string{"nothing", "bytes", "a whole number", "a number", "a truth value"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("datum %d", k)
}

// Usage returns the method with its parameters, as on the command line.
//
//	set field value ...      parameters repeat in groups
//	range min max [limit]    limit is optional
func (m *TypeMethod) Usage() string {
	var b bytes.Buffer
	b.WriteString(m.Name)
	closing := ""
	for i := range m.Params {
		p := &m.Params[i]
		b.WriteByte(' ')
		if p.Optional {
			b.WriteByte('[')
			closing = "]" + closing
		}
		b.WriteString(p.Name)
		if p.Many {
			closing = " ..." + closing
		}
	}
	return b.String() + closing
}
