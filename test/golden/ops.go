package golden

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Ops parses operations, separated by semicolons:
//
//	get a | get! a                  with ! for update
//	put a x [if CONDITION]          del a [found] [if CONDITION]
//	require a CONDITION             exists | absent | value x | version 0.1.7
//	add a 5 | incr a 5              incr returns the sum
//	scan [a,c) [limit 2] [reverse]  delrange [a,c)
//	scan! …                         with ! for update
//	moveout a to s2 [tombstone]     leaves a move tombstone, or a deletion tombstone
//	movein a x@0.0.1                or deleted, or deleted@0.0.1
//	get a redirected                at a snapshot: redirected by the home shard
//	set.add a x y                   calls a method of a data type
//	put a 1 ttl 30 | expire a 30    expires after 30 ms; expire a 0: never
//	delexpired a 5030               deletes it if its deadline is that time
func Ops(text string) ([]msg.Op, error) {
	var ops []msg.Op
	for i, part := range strings.Split(text, ";") {
		words := strings.Fields(part)
		if len(words) < 2 {
			return nil, fmt.Errorf("%q is no operation", part)
		}
		op, err := parseOp(words)
		if err != nil {
			return nil, err
		}
		op.Seq = uint32(i)
		ops = append(ops, op)
	}
	return ops, nil
}

var opNames = map[string]msg.OpKind{
	"get": msg.OpGet, "put": msg.OpPut, "del": msg.OpDelete, "require": msg.OpRequire, "add": msg.OpAdd,
	"incr": msg.OpAddGet, "scan": msg.OpScan, "delrange": msg.OpDeleteRange,
	"moveout": msg.OpMoveOut, "movein": msg.OpMoveIn, "expire": msg.OpExpire, "delexpired": msg.OpDeleteExpired,
}

func parseOp(words []string) (op msg.Op, err error) {
	if strings.Contains(words[0], ".") {
		return parseCall(words)
	}
	if words[0] == "stored" && len(words) > 2 {
		op, err := parseOp(words[1:])
		op.Stored = true
		return op, err
	}
	name, forUpdate := strings.CutSuffix(words[0], "!")
	kind, ok := opNames[name]
	if !ok {
		return op, fmt.Errorf("no operation %q", name)
	}
	op = msg.Op{Kind: kind, Key: []byte(words[1]), ForUpdate: forUpdate}
	rest := words[2:]
	if op.IsRange() {
		span, err := Span(words[1])
		if err == nil && span.IsPoint() {
			err = fmt.Errorf("%q is no range, want [start,end)", words[1])
		}
		op.Key, op.End = span.Start, span.End
		if n := len(rest) - 1; n >= 0 && rest[n] == "reverse" {
			op.Reverse, rest = true, rest[:n]
		}
		if len(rest) == 2 && err == nil {
			n, bad := strconv.ParseUint(rest[1], 10, 32)
			op.Limit, err = uint32(n), bad
		}
		return op, err
	}
	switch kind {
	case msg.OpAdd, msg.OpAddGet:
		op.Delta, err = strconv.ParseInt(rest[0], 10, 64)
		return op, err
	case msg.OpPut:
		op.Value, rest = []byte(rest[0]), rest[1:]
		if len(rest) > 1 && rest[0] == "ttl" {
			op.Expiry, err = strconv.ParseInt("-"+rest[1], 10, 64)
			rest = rest[2:]
		}
	case msg.OpExpire, msg.OpDeleteExpired:
		op.Expiry, err = strconv.ParseInt(rest[0], 10, 64)
		rest = rest[1:]
		if kind == msg.OpExpire {
			op.Expiry = -op.Expiry
		}
	case msg.OpMoveOut, msg.OpMoveIn:
		return op, parseMove(&op, rest)
	}
	if len(rest) > 0 && rest[0] == "redirected" {
		op.Redirected, rest = true, rest[1:]
	}
	if len(rest) > 0 && rest[0] == "found" {
		op.ReturnFound, rest = true, rest[1:]
	}
	if len(rest) > 0 && rest[0] == "if" {
		rest = rest[1:]
	}
	return op, errors.Join(err, parseCondition(&op, rest))
}

// parseMove parses the words after the key of a move.
func parseMove(op *msg.Op, words []string) (err error) {
	switch {
	case op.Kind == msg.OpMoveOut && len(words) >= 2 && words[0] == "to":
		op.Type = uint32(entry.TypeMoved)
		if len(words) > 2 {
			op.Type = uint32(entry.TypeDeleted)
		}
		op.To, err = Shard(words[1])
		return err
	case op.Kind == msg.OpMoveIn && len(words) == 1:
		value, version, written := strings.Cut(words[0], "@")
		op.Type, op.Value = uint32(adt.Value), []byte(value)
		if value == "deleted" {
			op.Type, op.Value = uint32(entry.TypeDeleted), nil
		}
		if written {
			op.Version, err = kv.ParseVersion(version)
		}
		return err
	}
	return fmt.Errorf("what is %q?", words)
}

func parseCondition(op *msg.Op, words []string) (err error) {
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "exists":
		op.Expect = msg.ExpectExists
	case "absent":
		op.Expect = msg.ExpectAbsent
	case "value":
		op.Expect, op.ExpectValue = msg.ExpectValue, []byte(words[1])
	case "version":
		op.Expect = msg.ExpectVersion
		op.ExpectVersion, err = kv.ParseVersion(words[1])
	default:
		err = fmt.Errorf("no condition %q", words[0])
	}
	return err
}

// OpText formats an operation as Ops reads it.
func OpText(op *msg.Op) string {
	if op.IsCall() {
		return formatCall(op)
	}
	out := ""
	for name, kind := range opNames {
		if kind == op.Kind {
			out = name
		}
	}
	if op.Stored {
		out = "stored " + out
	}
	if op.ForUpdate {
		out += "!"
	}
	out += " " + SpanName(op.Span())
	switch op.Kind {
	case msg.OpPut:
		out += " " + string(op.Value) + when(op.Expiry < 0, fmt.Sprintf(" ttl %d", -op.Expiry))
	case msg.OpExpire:
		out += fmt.Sprintf(" %d", -op.Expiry)
	case msg.OpDeleteExpired:
		out += fmt.Sprintf(" %d", op.Expiry)
	case msg.OpAdd, msg.OpAddGet:
		out += " " + strconv.FormatInt(op.Delta, 10)
	case msg.OpMoveOut:
		out += fmt.Sprintf(" to %v", op.To) + when(entry.Type(op.Type) == entry.TypeDeleted, " tombstone")
	case msg.OpMoveIn:
		out += " " + Value(entry.Type(op.Type), op.Value) + versionText(op.Version) + expiresText(op.Expiry)
	}
	out += when(op.Redirected, " redirected") + when(op.ReturnFound, " found")
	if op.Limit > 0 {
		out += fmt.Sprintf(" limit %d", op.Limit)
	}
	out += when(op.Reverse, " reverse")
	if op.Expect != msg.ExpectNothing {
		out += " if " + strings.ToLower(strings.TrimPrefix(op.Expect.String(), "Expect"))
		switch op.Expect {
		case msg.ExpectValue:
			out += " " + string(op.ExpectValue)
		case msg.ExpectVersion:
			out += " " + op.ExpectVersion.String()
		}
	}
	return out
}

func opsText(ops []msg.Op) string {
	out := make([]string, len(ops))
	for i := range ops {
		out[i] = OpText(&ops[i])
	}
	return strings.Join(out, "; ")
}

// Value formats a value: a counter's number, a register's text.
func Value(typ entry.Type, payload []byte) string {
	if typ == entry.TypeDeleted {
		return "deleted"
	}
	if to, is := (entry.Value{Type: typ, Payload: payload}).MovedTo(); is {
		return "moved to " + to.String()
	}
	if n, err := adt.DecodeCounter(payload); typ == adt.Counter && err == nil {
		return strconv.FormatInt(n, 10)
	}
	if t := adt.Lookup(typ); t != nil {
		return fmt.Sprintf("a %s of %d bytes", t.Name, len(payload))
	}
	return string(payload)
}

// Result formats an operation's result, after its number.
func Result(r *msg.Result) string {
	var out []string
	switch {
	case len(r.Pairs) > 0 || len(r.Resume) > 0:
		for _, p := range r.Pairs {
			out = append(out, Key(p.Key)+"="+Value(entry.Type(p.Type), p.Value)+versionText(p.Version))
		}
		if len(r.Resume) > 0 {
			out = append(out, "more from "+Key(r.Resume))
		}
	case len(r.Data) > 0:
		out = append(out, "returns"+dataText(r.Data)+versionText(r.Version))
	case r.Count > 0:
		out = append(out, fmt.Sprintf("%d removed", r.Count))
	case r.Value == nil && r.Found && adt.Lookup(entry.Type(r.Type)) != nil:
		out = append(out, "a "+adt.TypeName(entry.Type(r.Type))+versionText(r.Version))
	case r.Value != nil || r.Found && r.Type != 0:
		out = append(out, Value(entry.Type(r.Type), r.Value)+versionText(r.Version))
	case !r.Version.IsZero():
		was := "new"
		if r.Found {
			was = "existed"
		}
		out = append(out, "written"+versionText(r.Version)+" ("+was+")")
	case r.Found:
		out = append(out, "found")
	default:
		out = append(out, "-")
	}
	if r.Expires != 0 {
		out = append(out, fmt.Sprintf("expires %d, %d ms from now", r.Expires, r.TtlMillis))
	}
	return fmt.Sprintf("%d: %s", r.Seq, strings.Join(out, " "))
}

func versionText(v kv.Version) string {
	if v.IsZero() {
		return ""
	}
	return "@" + v.String()
}

// Results formats several results.
func Results(rs []msg.Result) string {
	out := make([]string, len(rs))
	for i := range rs {
		out[i] = Result(&rs[i])
	}
	return strings.Join(out, ", ")
}
