package adt

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Method names an operation in contention receipts: what a transaction did with a key. The lock
// mode is not enough, since put and get-for-update share one. Methods are in messages and reach
// clients: numbers are never reused.
type Method uint8

const (
	// MethodNone stands for an unknown operation.
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
	// MethodMove moves a key to another shard.
	MethodMove
	// MethodView reads in a read-only transaction, which takes no locks.
	MethodView
	// MethodOpenView is a registered read-only transaction, as a conflicting update sees it.
	MethodOpenView
	// MethodReadSnapshot reads at a snapshot.
	MethodReadSnapshot
	// MethodQuery, MethodUpdate and MethodUpdateGet call a method of a data type; the lock's mode
	// contains which.
	MethodQuery
	MethodUpdate
	MethodUpdateGet
	// MethodExpire changes the deadline of the key.
	MethodExpire
	numMethods
)

// Methods is the set of methods of one transaction on one key.
//
//	bits  0-22  methods
//	      23    Interactive
//	      24-31 data type of the called methods, 0 if none is called
//	      32-63 numbers of the called methods, from 1; numbers above 32 are not recorded
//
// Sets are in messages: bits are never reused.
type Methods uint64

const (
	// Interactive: the transaction is not one-shot, and holds its locks across network round trips
	// and its client's think time.
	Interactive Methods = 1 << 23
	// genericBits are the bits of methods for keys of any type.
	genericBits Methods = 1<<23 - 1
	typeShift           = 24
	callShift           = 32
	callBits            = ^(Methods(1)<<typeShift - 1)
)

// methodDecl describes a method and the methods that it can replace. The advice in receipts follows
// from it and from the compatibility of modes.
//
// Example of an advice: T1 "get n; put n+1" waits for T2 "add n 1". The receipt says that T1's get and put conflict
// with T2's add, and that an add would not, if the key is only incremented.
type methodDecl struct {
	// name is the short name; noun follows an article.
	name, noun string
	// op is the simplest operation of the method; its mode is the method's.
	op *msg.Op
	// mode is the method's mode if there is no such operation.
	mode Mode
	// substitutes are the sets that the method can replace; reason explains why it conflicts with
	// nothing, if its mode is none.
	substitutes []substitution
	reason      string
}

// substitution is a set of methods whose work another method can do. All methods of the transaction
// on the key must be in replaces, and at least one in anyOf.
type substitution struct {
	replaces, anyOf Methods
	// condition follows an "if".
	condition string
}

// methodSet returns a set of methods.
func methodSet(ms ...Method) (out Methods) {
	for _, m := range ms {
		out |= 1 << m
	}
	return out
}

var (
	addMethods     = methodSet(MethodAdd, MethodAddGet)
	counterMethods = addMethods | methodSet(MethodGet, MethodGetForUpdate, MethodPut)
)

// substituteOrder are the methods that can replace others, most preferred first. After
// get-for-update a write usually follows, so get comes after add.
var substituteOrder = [...]Method{MethodAdd, MethodGet, MethodScan, MethodReadSnapshot}

// methods are the declarations of all methods.
var methods = [numMethods]methodDecl{
	MethodNone: {name: "none", noun: "operation", mode: ModeWrite},
	MethodGet: {name: "get", noun: "get", op: &msg.Op{Kind: msg.OpGet},
		substitutes: []substitution{{methodSet(MethodGet, MethodGetForUpdate), methodSet(MethodGetForUpdate),
			"the key is not written later"}}},
	MethodGetForUpdate: {name: "get-for-update", noun: "get for update", op: &msg.Op{Kind: msg.OpGet, ForUpdate: true}},
	MethodRequire:      {name: "require", noun: "require", op: &msg.Op{Kind: msg.OpRequire, Expect: msg.ExpectExists}},
	MethodPut:          {name: "put", noun: "put", op: &msg.Op{Kind: msg.OpPut}},
	MethodDelete:       {name: "delete", noun: "delete", op: &msg.Op{Kind: msg.OpDelete}},
	MethodAdd: {name: "add", noun: "add", op: &msg.Op{Kind: msg.OpAdd},
		substitutes: []substitution{
			{addMethods, methodSet(MethodAddGet), "the sum is not needed"},
			{counterMethods, methodSet(MethodGetForUpdate, MethodPut), "the key is only incremented"},
		}},
	MethodAddGet: {name: "add-get", noun: "add that returns the sum", op: &msg.Op{Kind: msg.OpAddGet}},
	MethodScan: {name: "scan", noun: "scan", op: &msg.Op{Kind: msg.OpScan},
		substitutes: []substitution{{methodSet(MethodScan, MethodScanForUpdate), methodSet(MethodScanForUpdate),
			"the range is not written later"}}},
	MethodScanForUpdate: {name: "scan-for-update", noun: "scan for update",
		op: &msg.Op{Kind: msg.OpScan, ForUpdate: true}},
	MethodDeleteRange: {name: "delete-range", noun: "range delete", op: &msg.Op{Kind: msg.OpDeleteRange}},
	MethodMove:        {name: "move", noun: "move to another shard", op: &msg.Op{Kind: msg.OpMoveOut}},
	MethodView:        {name: "view", noun: "read-only transaction (View)", mode: ModeNone, reason: "it takes no locks"},
	MethodOpenView:    {name: "open-view", noun: "read-only transaction", mode: ModeRead},
	MethodReadSnapshot: {name: "read-snapshot", noun: "snapshot read", mode: ModeNone,
		reason: "snapshot reads do not block writers",
		substitutes: []substitution{{methodSet(MethodOpenView), methodSet(MethodOpenView),
			"it may read a slightly older state"}}},
	MethodQuery:     {name: "query", noun: "query of a data type", op: &msg.Op{Kind: msg.OpQuery}},
	MethodUpdate:    {name: "update", noun: "update of a data type", op: &msg.Op{Kind: msg.OpUpdate}},
	MethodUpdateGet: {name: "update-get", noun: "update of a data type with a result", op: &msg.Op{Kind: msg.OpUpdateGet}},
	MethodExpire:    {name: "expire", noun: "change of the time to live", op: &msg.Op{Kind: msg.OpExpire}},
}

// String returns the method's short name.
func (m Method) String() string {
	if m < numMethods {
		return methods[m].name
	}
	return "newer"
}

// Mode returns the mode that the method needs on its key or range.
//
// A method that this program does not know is treated as a write, so no advice suggests it.
func (m Method) Mode() Mode {
	switch {
	case m >= numMethods:
		return ModeWrite
	case methods[m].op != nil:
		return ModeOf(methods[m].op)
	}
	return methods[m].mode
}

// WhyCompatible explains why two sets of methods with compatible modes do not conflict.
func WhyCompatible(a, b Methods) string {
	for _, m := range append(a.Each(), b.Each()...) {
		if m < numMethods && methods[m].reason != "" {
			return methods[m].reason
		}
	}
	x, y := Methods(0).Noun(a.Mode()), Methods(0).Noun(b.Mode())
	if x == y {
		return x + "s commute"
	}
	return x + "s commute with " + y + "s"
}

// MethodOf returns the method of an operation.
//
// An expired key is deleted by the system (OpDeleteExpired); in receipts that is a delete. Reads for update are
// methods of their own, since the advice about them differs.
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
	if int(op.Kind) < len(methodByKind) {
		return methodByKind[op.Kind]
	}
	return MethodNone
}

// methodByKind is the method of each kind of operation that has only one.
var methodByKind = [...]Method{msg.OpPut: MethodPut, msg.OpDelete: MethodDelete, msg.OpAdd: MethodAdd,
	msg.OpAddGet: MethodAddGet, msg.OpDeleteRange: MethodDeleteRange, msg.OpMoveOut: MethodMove, msg.OpMoveIn: MethodMove,
	msg.OpQuery: MethodQuery, msg.OpUpdate: MethodUpdate, msg.OpUpdateGet: MethodUpdateGet, msg.OpExpire: MethodExpire,
	msg.OpDeleteExpired: MethodDelete}

// OperationOf encodes an operation for its result: bits 0-4 the method, 5-12 the data type, 13 and
// above the number of the type's method. It is in logs, so bits are never reused. Operations that
// call no data type take one byte.
func OperationOf(op *msg.Op) uint32 {
	did := uint32(MethodOf(op))
	if op.IsCall() {
		did |= op.Type<<5 | op.Method<<13
	}
	return did
}

// OperationName names what OperationOf encoded: "put", "set.contains". It is empty for 0; a method
// of an unknown data type is "query", "update" or "update-get".
//
// Records of operations outlive the program that wrote them: an unknown type or method must still have a name.
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

// MethodsOf returns the methods of an operation. A read that is made for another operation has the
// methods of that one (Op.Methods).
func MethodsOf(op *msg.Op) Methods {
	if op.Methods != 0 {
		return Methods(op.Methods)
	}
	s := MethodOf(op).Set()
	if op.IsCall() {
		s |= callSet(entry.Type(op.Type), op.Method)
	}
	return s
}

// callSet returns the set of one method of a data type.
func callSet(t entry.Type, method uint32) Methods {
	s := Methods(t) << typeShift
	if method > 0 && method <= 32 {
		s |= 1 << (callShift + method - 1)
	}
	return s
}

// With returns the union. If the key had another data type before, the calls of the latter type
// remain.
//
// A key has one type at a time, so the field for the type has room for one. If a transaction deletes a set and creates
// a map, the receipt names the calls of the map.
func (s Methods) With(o Methods) Methods {
	if t := o.dataType(); t != 0 && s.dataType() != t {
		s &^= callBits
	} else if t == 0 {
		o &^= callBits
	}
	return s | o
}

// dataType returns the data type of the called methods, 0 if none is called.
func (s Methods) dataType() entry.Type { return entry.Type(s >> typeShift) }

// Calls returns the names of the called methods that this program knows: "set.contains".
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

// isCall reports whether the method calls one of a data type.
func (m Method) isCall() bool { return m >= MethodQuery && m <= MethodUpdateGet }

// Names returns the names of the methods in messages to other programs: "get-for-update",
// "set.contains". A method of an unknown data type is "query", "update" or "update-get".
func (s Methods) Names() (names []string) {
	called := s.Calls()
	for _, m := range s.Each() {
		if !m.isCall() || len(called) == 0 {
			names = append(names, m.String())
		}
	}
	return append(names, called...)
}

// ParseMethods parses the result of Names, possibly of another program: the set of methods, and the
// names of methods of data types, which count as updates. Unknown names are ignored.
//
// HAZARD: names come from other programs, older and newer. They are data, not identifiers of this program: an unknown
// one must not fail the receipt that contains it.
func ParseMethods(names []string) (set Methods, called []string) {
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

// DescribeCalls returns the phrase for methods of one data type, to follow an article: "contains on a
// set" for "set.contains".
func DescribeCalls(names []string) string {
	var parts []string
	on := ""
	for _, n := range names {
		typ, method, _ := strings.Cut(n, ".")
		on = " on a " + typ
		parts = append(parts, method)
	}
	return joinWords(parts) + on
}

// joinWords joins words: "a, b and c".
func joinWords(words []string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " and " + words[n]
}

// Set returns the set with one element.
func (m Method) Set() Methods {
	if m == MethodNone {
		return 0
	}
	return 1 << m
}

// Each returns the elements in order.
func (s Methods) Each() []Method {
	s &= genericBits
	out := make([]Method, 0, bits.OnesCount64(uint64(s)))
	for m := MethodNone + 1; genericBits>>m != 0; m++ {
		if s&(1<<m) != 0 {
			out = append(out, m)
		}
	}
	return out
}

// Mode returns the mode that all of the methods together need.
func (s Methods) Mode() Mode {
	mode := ModeNone
	for _, m := range s.Each() {
		mode, _ = Join(mode, m.Mode())
	}
	return mode
}

// Noun returns the phrase for the methods, to follow "the": "get and put". If the methods are not
// known, it is derived from mode.
func (s Methods) Noun(mode Mode) string { return s.describe(mode, s.describeTyped(mode), "") }

// Phrase is Noun with articles: "a get and an add".
func (s Methods) Phrase(mode Mode) string { return s.describe(mode, s.describeTyped(mode), "a ") }

// describeTyped returns the phrase for the calls of a data type: the called methods, or if these
// are not known, the kind of lock.
func (s Methods) describeTyped(mode Mode) string {
	if names := s.Calls(); len(names) > 0 {
		return DescribeCalls(names)
	}
	return mode.Describe()
}

// NounOf is Noun if the phrase for the calls is known but not the type, which is another program's.
func (s Methods) NounOf(typed string) string { return s.describe(ModeNone, typed, "") }

// PhraseOf is Phrase in the same case as NounOf.
func (s Methods) PhraseOf(typed string) string { return s.describe(ModeNone, typed, "a ") }

// describe builds the phrase of Noun and Phrase. Unknown methods are described by their mode: a
// newer node may report methods that this program does not know.
//
//	{get, put}, ModeWrite               "get and put", "a get and a put"
//	{update}, "add on a set"            "add on a set", "an add on a set"
//	{}, ModeAdd                         "add", "an add"
func (s Methods) describe(mode Mode, typed, article string) string {
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
		nouns = []string{article + modeNouns[min(mode, numModes)]}
	}
	if article != "" {
		for i, n := range nouns {
			if strings.ContainsRune("aeio", rune(n[2])) {
				nouns[i] = "an " + n[2:]
			}
		}
	}
	return joinWords(nouns)
}

// Describe returns the phrase for a mode of a data type, to follow an article: "add on a set". It is
// empty for other modes.
func (m Mode) Describe() string {
	t, typed := m.Type()
	if !typed || !m.Valid() {
		return ""
	}
	return DescribeKind(Lookup(t).Name, Lookup(t).Kinds[m.Kind()-1].Name)
}

// DescribeKind returns the phrase for a kind of lock: the methods that need it if the value is not
// known, or the kind's name if there are none because their need depends on the value.
func DescribeKind(typeName, kind string) string {
	t := TypeByName(typeName)
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

// modeNouns are the words for a lock of which only the mode is known.
var modeNouns = [numModes + 1]string{"operation", "read", "add", "write", "operation"}

// ChangeOf returns the modes that an effect holds on its key, appended to buf, and its methods.
//
// The effect, not the operation, is what the log has of a prepared transaction. After a restart its locks are taken
// again from here, and must not be weaker than before: an effect that sets a deadline holds ModeWrite although it may
// also add, since deadlines do not commute.
func ChangeOf(buf []Mode, e *entry.Effect) ([]Mode, Methods) {
	if e.Kind == entry.EffectExpire || e.Expires != 0 && (e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange) {
		return append(buf, ModeWrite), MethodExpire.Set()
	}
	switch e.Kind {
	case entry.EffectAdd:
		return append(buf, ModeAdd), MethodAdd.Set()
	case entry.EffectDelete:
		return append(buf, ModeWrite), MethodDelete.Set()
	case entry.EffectMoveOut, entry.EffectMoveIn:
		return append(buf, ModeWrite), MethodMove.Set()
	case entry.EffectChange:
		s := MethodUpdate.Set()
		for i := range e.Calls {
			s |= callSet(entry.Type(e.Type), e.Calls[i].Method)
		}
		return ChangeModes(buf, entry.Type(e.Type), e.Calls), s
	}
	return append(buf, ModeWrite), MethodPut.Set()
}
