package golden

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// parseCall parses a call of a data type's method: "set.add a x y".
func parseCall(words []string) (op msg.Op, err error) {
	name, method, _ := strings.Cut(words[0], ".")
	t := adt.ByName(name)
	if t == nil {
		return op, fmt.Errorf("no data type %q", name)
	}
	m := t.MethodByName(method)
	if m == nil {
		return op, fmt.Errorf("a %s has no method %q", name, method)
	}
	var args adt.Args
	for i, w := range words[2:] {
		d, err := datum(paramKind(m, i), w)
		if err != nil {
			return op, err
		}
		args = append(args, d)
	}
	return m.Op([]byte(words[1]), args...), nil
}

// paramKind returns the kind of argument number i.
func paramKind(m *adt.TypeMethod, i int) msg.DatumKind {
	for p := range m.Params {
		if group := m.Params[p:]; m.Params[p].Many && i >= p {
			return group[(i-p)%len(group)].Kind
		}
	}
	if i < len(m.Params) {
		return m.Params[i].Kind
	}
	return msg.DatumBytes
}

func datum(k msg.DatumKind, word string) (msg.Datum, error) {
	switch k {
	case msg.DatumInt:
		n, err := strconv.ParseInt(word, 10, 64)
		return adt.Int(n), err
	case msg.DatumFloat:
		f, err := strconv.ParseFloat(word, 64)
		return adt.Float(f), err
	case msg.DatumBool:
		return adt.Bool(word == "true"), nil
	}
	return adt.Bytes([]byte(word)), nil
}

// formatCall formats a call as parseCall reads it.
func formatCall(op *msg.Op) string {
	return method(entry.Type(op.Type), op.Method) + " " + Key(op.Key) + dataText(op.Args)
}

func method(id entry.Type, number uint32) string {
	t := adt.Lookup(id)
	if t == nil || t.Method(number) == nil {
		return fmt.Sprintf("type%d.method%d", id, number)
	}
	return t.Name + "." + t.Method(number).Name
}

// dataText formats arguments or a result, each after a blank.
func dataText(ds []msg.Datum) (out string) {
	for i := range ds {
		out += " " + datumText(&ds[i])
	}
	return out
}

func datumText(d *msg.Datum) string {
	switch d.Kind {
	case msg.DatumInt:
		return strconv.FormatInt(d.Int, 10)
	case msg.DatumFloat:
		return strconv.FormatFloat(d.Float, 'g', -1, 64)
	case msg.DatumBool:
		return strconv.FormatBool(d.Int != 0)
	case msg.DatumNil:
		return "nil"
	}
	for _, b := range d.Bytes {
		if b <= ' ' || b > '~' {
			return "0x" + hex.EncodeToString(d.Bytes)
		}
	}
	return string(d.Bytes)
}

// changesText formats the calls of an effect.
func changesText(e *entry.Effect) string {
	return fmt.Sprintf("(%s: %s)", Key(e.Key), callsText(entry.Type(e.Type), e.Calls))
}

func callsText(id entry.Type, calls []msg.Call) string {
	out := make([]string, len(calls))
	for i := range calls {
		out[i] = method(id, calls[i].Method) + dataText(calls[i].Args)
	}
	return strings.Join(out, ", ")
}
