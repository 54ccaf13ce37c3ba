package adt

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Method is an operation as people know it, for contention receipts: what a
// transaction wanted to do with a key. The mode alone does not tell a put from a
// get for update. Methods travel in messages and to clients: numbers are never
// used again.
type Method uint8

const (
	// MethodNone is nothing that is known.
	MethodNone Method = iota
	MethodGet
	MethodGetForUpdate
	MethodRequire
	MethodPut
	MethodDelete
	MethodAdd
	MethodAddGet
	MethodScan
	MethodScanForUpdate
	MethodDeleteRange
	// MethodMove takes a key to another shard.
	MethodMove
	// MethodView reads in a read-only transaction, which takes no locks.
	MethodView
	// MethodOpenView is a read-only transaction that is registered, as those
	// meet it who are about to change what it has read.
	MethodOpenView
	// MethodReadSnapshot reads in the past.
	MethodReadSnapshot
	// MethodQuery, MethodUpdate and MethodUpdateGet call a method of a data type;
	// which, the lock's mode tells.
	MethodQuery
	MethodUpdate
	MethodUpdateGet
	// MethodExpire changes when the key expires.
	MethodExpire
	numMethods
)

// Methods is a set of them: what one transaction does with one key.
//
//	bits  0-22  methods
//	      23    Interactive
//	      24-31 data type of the methods that it calls, 0 if it calls none
//	      32-63 which of the type's methods they are, by number from 1; those above
//	            32 are not told apart
//
// Sets are in messages: their bits are never used again.
type Methods uint64

const (
	// Interactive: the transaction is not sent as one request, and keeps what it has locked while
	// messages travel and its client thinks.
	Interactive Methods = 1 << 23
	// anyKey are the bits that methods for a key of whatever type have.
	anyKey    Methods = 1<<23 - 1
	typeShift         = 24
	callShift         = 32
	calls             = ^(Methods(1)<<typeShift - 1)
)

// declaration is what a method is, in words, and in whose place it can stand.
// All that receipts say about what would have commuted follows from these and
// from the relation between modes.
type declaration struct {
	// name is short, and noun follows an "a" or "the".
	name, noun string
	// op is the least operation of the kind, whose mode is the method's.
	op *msg.Op
	// mode is the method's if there is no such operation.
	mode Mode
	// stands says in place of what it would do, merit why nobody minds it if its
	// mode is none.
	stands []stand
	merit  string
}

// stand is a set of methods that another one can do the work of. All that a
// transaction does with the key must be of the set, and one at least be needed.
type stand struct {
	of, needs Methods
	// provided is the condition, after an "if".
	provided string
}

func set(ms ...Method) (out Methods) {
	for _, m := range ms {
		out |= 1 << m
	}
	return out
}

var (
	adding  = set(MethodAdd, MethodAddGet)
	counted = adding | set(MethodGet, MethodGetForUpdate, MethodPut)
)

// suggested are the methods that stand in the place of others, in the order of preference:
// who reads for update mostly writes, so that a get is no help.
var suggested = [...]Method{MethodAdd, MethodGet, MethodScan, MethodReadSnapshot}

// methods are all there are.
var methods = [numMethods]declaration{
	MethodNone: {name: "none", noun: "operation", mode: ModeWrite},
	MethodGet: {name: "get", noun: "get", op: &msg.Op{Kind: msg.OpGet},
		stands: []stand{{set(MethodGet, MethodGetForUpdate), set(MethodGetForUpdate), "the key is not written later"}}},
	MethodGetForUpdate: {name: "get-for-update", noun: "get for update", op: &msg.Op{Kind: msg.OpGet, ForUpdate: true}},
	MethodRequire:      {name: "require", noun: "require", op: &msg.Op{Kind: msg.OpRequire, Expect: msg.ExpectExists}},
	MethodPut:          {name: "put", noun: "put", op: &msg.Op{Kind: msg.OpPut}},
	MethodDelete:       {name: "delete", noun: "delete", op: &msg.Op{Kind: msg.OpDelete}},
	MethodAdd: {name: "add", noun: "add", op: &msg.Op{Kind: msg.OpAdd},
		stands: []stand{
			{adding, set(MethodAddGet), "the sum is not needed"},
			{counted, set(MethodGetForUpdate, MethodPut), "the key is only incremented"},
		}},
	MethodAddGet: {name: "add-get", noun: "add that returns the sum", op: &msg.Op{Kind: msg.OpAddGet}},
	MethodScan: {name: "scan", noun: "scan", op: &msg.Op{Kind: msg.OpScan},
		stands: []stand{{set(MethodScan, MethodScanForUpdate), set(MethodScanForUpdate), "the range is not written later"}}},
	MethodScanForUpdate: {name: "scan-for-update", noun: "scan for update", op: &msg.Op{Kind: msg.OpScan, ForUpdate: true}},
	MethodDeleteRange:   {name: "delete-range", noun: "range delete", op: &msg.Op{Kind: msg.OpDeleteRange}},
	MethodMove:          {name: "move", noun: "move to another shard", op: &msg.Op{Kind: msg.OpMoveOut}},
	MethodView:          {name: "view", noun: "read-only transaction (View)", mode: ModeNone, merit: "it takes no locks"},
	MethodOpenView:      {name: "open-view", noun: "read-only transaction", mode: ModeRead},
	MethodReadSnapshot: {name: "read-snapshot", noun: "snapshot read", mode: ModeNone, merit: "snapshot reads do not block writers",
		stands: []stand{{set(MethodOpenView), set(MethodOpenView), "it may read a slightly older state"}}},
	MethodQuery:     {name: "query", noun: "query of a data type", op: &msg.Op{Kind: msg.OpQuery}},
	MethodUpdate:    {name: "update", noun: "update of a data type", op: &msg.Op{Kind: msg.OpUpdate}},
	MethodUpdateGet: {name: "update-get", noun: "update of a data type with a result", op: &msg.Op{Kind: msg.OpUpdateGet}},
	MethodExpire:    {name: "expire", noun: "change of the time to live", op: &msg.Op{Kind: msg.OpExpire}},
}

// String is the method's short name.
func (m Method) String() string {
	if m < numMethods {
		return methods[m].name
	}
	return "newer"
}

// Mode is what the method needs of its key or range.
func (m Method) Mode() Mode {
	switch {
	case m >= numMethods:
		return ModeWrite
	case methods[m].op != nil:
		return ModeOf(methods[m].op)
	}
	return methods[m].mode
}

// Together says why two methods go together whose modes do.
func Together(a, b Methods) string {
	for _, m := range append(a.Each(), b.Each()...) {
		if m < numMethods && methods[m].merit != "" {
			return methods[m].merit
		}
	}
	x, y := Methods(0).Noun(a.Mode()), Methods(0).Noun(b.Mode())
	if x == y {
		return x + "s commute"
	}
	return x + "s commute with " + y + "s"
}

// MethodOf is what an operation is.
func MethodOf(op *msg.Op) Method {
	switch op.Kind {
	case msg.OpRequire:
		if op.ForUpdate {
			return MethodGetForUpdate
		}
		return MethodRequire
	case msg.OpGet:
		if op.ForUpdate {
			return MethodGetForUpdate
		}
		return MethodGet
	case msg.OpScan:
		if op.ForUpdate {
			return MethodScanForUpdate
		}
		return MethodScan
	}
	if int(op.Kind) < len(ofKind) {
		return ofKind[op.Kind]
	}
	return MethodNone
}

// ofKind are the methods of the kinds that are one method each.
var ofKind = [...]Method{msg.OpPut: MethodPut, msg.OpDelete: MethodDelete, msg.OpAdd: MethodAdd,
	msg.OpAddGet: MethodAddGet, msg.OpDeleteRange: MethodDeleteRange, msg.OpMoveOut: MethodMove, msg.OpMoveIn: MethodMove,
	msg.OpQuery: MethodQuery, msg.OpUpdate: MethodUpdate, msg.OpUpdateGet: MethodUpdateGet, msg.OpExpire: MethodExpire, msg.OpDeleteExpired: MethodDelete}

// OperationOf is what an operation is, as its result remembers it: the method, and of a
// data type's the type and its number there. It is in logs, so that its bits are never
// used again: 0-4 the method, 5-12 the type, 13 and above the type's method. That of all
// but data types' takes one byte.
func OperationOf(op *msg.Op) uint32 {
	did := uint32(MethodOf(op))
	if op.IsCall() {
		did |= op.Type<<5 | op.Method<<13
	}
	return did
}

// OperationName names what OperationOf gave: "put", "set.contains". It is empty if
// nothing was noted; a data type that is not known here leaves "ask", "change" or
// "change-ask".
func OperationName(did uint32) string {
	if did == 0 {
		return ""
	}
	t := Lookup(entry.Type(did >> 5))
	if t != nil && did>>13 != 0 {
		for _, m := range t.Methods {
			if m.Number == did>>13 {
				return m.FullName()
			}
		}
	}
	return Method(did & 31).String()
}

// MethodsOf is what an operation is: the method, and of a data type's which one. Of one
// that finds something out for another one it is the other.
func MethodsOf(op *msg.Op) Methods {
	if op.Methods != 0 {
		return Methods(op.Methods)
	}
	s := MethodOf(op).Set()
	if op.IsCall() {
		s |= call(entry.Type(op.Type), op.Method)
	}
	return s
}

// call is a method of a data type, by its number.
func call(t entry.Type, method uint32) Methods {
	s := Methods(t) << typeShift
	if method > 0 && method <= 32 {
		s |= 1 << (callShift + method - 1)
	}
	return s
}

// With is the set of what is in either. A key that was of another data type before is
// of the latter's.
func (s Methods) With(o Methods) Methods {
	if t := o.dataType(); t != 0 && s.dataType() != t {
		s &^= calls
	} else if t == 0 {
		o &^= calls
	}
	return s | o
}

func (s Methods) dataType() entry.Type { return entry.Type(s >> typeShift) }

// Calls are the data type's methods that are called, as far as they are known here:
// "set.contains".
func (s Methods) Calls() (names []string) {
	t := Lookup(s.dataType())
	if t == nil {
		return nil
	}
	for _, m := range t.Methods {
		if m.Number <= 32 && s&(1<<(callShift+m.Number-1)) != 0 {
			names = append(names, m.FullName())
		}
	}
	return names
}

// isCall reports whether it calls a method of a data type.
func (m Method) isCall() bool { return m >= MethodQuery && m <= MethodUpdateGet }

// Names are the methods as messages to other programs name them: "get-for-update", and of a
// data type "set.contains". A method of a data type that is not known here is "query",
// "update" or "update-get".
func (s Methods) Names() (names []string) {
	called := s.Calls()
	for _, m := range s.Each() {
		if !m.isCall() || len(called) == 0 {
			names = append(names, m.String())
		}
	}
	return append(names, called...)
}

// MethodsNamed reads what Names wrote, also by another program: the set of the methods, and the
// names of those of data types, which count as updates. Unknown names are left out.
func MethodsNamed(names []string) (set Methods, called []string) {
	for _, name := range names {
		if strings.Contains(name, ".") {
			set, called = set|MethodUpdate.Set(), append(called, name)
			continue
		}
		for m := MethodNone + 1; m < numMethods; m++ {
			if methods[m].name == name {
				set |= m.Set()
			}
		}
	}
	return set, called
}

// CallWords says what methods of one data type are, after an "a" or "the": "contains on
// a set" of "set.contains".
func CallWords(names []string) string {
	var says []string
	on := ""
	for _, n := range names {
		typ, method, _ := strings.Cut(n, ".")
		on = " on a " + typ
		says = append(says, method)
	}
	return and(says) + on
}

// and joins words: "a, b and c".
func and(words []string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " and " + words[n]
}

// Set is the set with one element.
func (m Method) Set() Methods {
	if m == MethodNone {
		return 0
	}
	return 1 << m
}

// Each lists the elements in order.
func (s Methods) Each() []Method {
	s &= anyKey
	out := make([]Method, 0, bits.OnesCount64(uint64(s)))
	for m := MethodNone + 1; anyKey>>m != 0; m++ {
		if s&(1<<m) != 0 {
			out = append(out, m)
		}
	}
	return out
}

// Mode is what a transaction needs that does all of it.
func (s Methods) Mode() Mode {
	mode := ModeNone
	for _, m := range s.Each() {
		mode, _ = Join(mode, m.Mode())
	}
	return mode
}

// Noun says what the methods are, after a "the": "get and put". Of what is not
// known, mode tells at least something.
func (s Methods) Noun(mode Mode) string { return s.words(mode, s.typed(mode), "") }

// Phrase says it with an article: "a get and an add".
func (s Methods) Phrase(mode Mode) string { return s.words(mode, s.typed(mode), "a ") }

// typed says what is done with a data type: which methods are called, or if that is not
// known what the mode tells.
func (s Methods) typed(mode Mode) string {
	if names := s.Calls(); len(names) > 0 {
		return CallWords(names)
	}
	return mode.Words()
}

// NounOf and PhraseOf are Noun and Phrase where what is done with a data type is known
// in words only, "add on a set", since the type is another program's.
func (s Methods) NounOf(typed string) string { return s.words(ModeNone, typed, "") }

// PhraseOf: see NounOf.
func (s Methods) PhraseOf(typed string) string { return s.words(ModeNone, typed, "a ") }

func (s Methods) words(mode Mode, typed, article string) string {
	var nouns []string
	for _, m := range s.Each() {
		switch {
		case m.isCall() && typed != "":
			if !slices.Contains(nouns, article+typed) {
				nouns = append(nouns, article+typed)
			}
		case m < numMethods:
			nouns = append(nouns, article+methods[m].noun)
		}
	}
	switch {
	case len(nouns) == 0 && typed != "":
		nouns = []string{article + typed}
	case len(nouns) == 0:
		nouns = []string{article + unknown[min(mode, numModes)]}
	}
	if article != "" {
		for i, n := range nouns {
			if strings.ContainsRune("aeio", rune(n[2])) {
				nouns[i] = "an " + n[2:]
			}
		}
	}
	return and(nouns)
}

// Words is a mode of a data type in words, after an "a" or "the": "add on a set".
// It is empty for other modes.
func (m Mode) Words() string {
	t, typed := m.Type()
	if !typed || !m.Valid() {
		return ""
	}
	return KindWords(Lookup(t).Name, Lookup(t).Kinds[m.Kind()-1].Name)
}

// KindWords is a kind of lock of a data type in words: the methods that need it
// whatever the value is, or if there are none, since what they need depends on
// that, the kind's name.
func KindWords(typeName, kind string) string {
	t := Named(typeName)
	if t == nil {
		return kind + " on a " + typeName
	}
	var names []string
	for _, m := range t.Methods {
		if t.Kinds[m.Kind-1].Name == kind {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return kind + " on a " + typeName
	}
	return strings.Join(names, " or ") + " on a " + typeName
}

// KindName is the type and the kind of lock of a mode of a data type: "set.add".
func (m Mode) KindName() string {
	t, typed := m.Type()
	if !typed || !m.Valid() {
		return ""
	}
	return Lookup(t).Name + "." + Lookup(t).Kinds[m.Kind()-1].Name
}

// unknown are the words for a lock of which only the mode is known.
var unknown = [numModes + 1]string{"operation", "read", "add", "write", "operation"}

// ChangeOf is what an effect does to its key, as others see it: the modes are
// appended to room.
func ChangeOf(room []Mode, e *entry.Effect) ([]Mode, Methods) {
	if e.Kind == entry.EffectExpire || e.Expires != 0 && (e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange) {
		return append(room, ModeWrite), MethodExpire.Set()
	}
	switch e.Kind {
	case entry.EffectAdd:
		return append(room, ModeAdd), MethodAdd.Set()
	case entry.EffectDelete:
		return append(room, ModeWrite), MethodDelete.Set()
	case entry.EffectMoveOut, entry.EffectMoveIn:
		return append(room, ModeWrite), MethodMove.Set()
	case entry.EffectChange:
		s := MethodUpdate.Set()
		for i := range e.Calls {
			s |= call(entry.Type(e.Type), e.Calls[i].Method)
		}
		return ChangeModes(room, entry.Type(e.Type), e.Calls), s
	}
	return append(room, ModeWrite), MethodPut.Set()
}
