package shard_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// apply applies a transaction to the model.
func (w *chainWorld) apply(txn kv.TxnRef, at kv.CSN) {
	ops, known := w.pending[txn]
	if !known {
		return
	}
	delete(w.pending, txn)
	next := maps.Clone(w.state)
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case msg.OpDelete:
			delete(next, string(op.Key))
			continue
		case msg.OpDeleteRange:
			clear(next)
			continue
		}
		v := maps.Clone(next[string(op.Key)])
		if v == nil {
			v = map[string]string{}
		}
		change(v, op, string(op.Key))
		next[string(op.Key)] = v
		if len(v) == 0 {
			delete(next, string(op.Key))
		}
	}
	w.state = next
	w.history[at] = next
}

func change(v map[string]string, op *msg.Op, key string) {
	switch name := methodName(op); name {
	case "add":
		if key[0] == 'z' {
			for i := 0; i < len(op.Args); i += 2 {
				v[string(op.Args[i+1].Bytes)] = fmt.Sprint(op.Args[i].Float)
			}
			return
		}
		for _, a := range op.Args {
			v[string(a.Bytes)] = ""
		}
	case "remove", "delete":
		for _, a := range op.Args {
			delete(v, string(a.Bytes))
		}
	case "set":
		for i := 0; i < len(op.Args); i += 2 {
			v[string(op.Args[i].Bytes)] = string(op.Args[i+1].Bytes)
		}
	case "increment":
		var n int64
		_, _ = fmt.Sscan(v[string(op.Args[0].Bytes)], &n)
		v[string(op.Args[0].Bytes)] = fmt.Sprint(n + op.Args[1].Int + int64(op.Args[1].Float))
	default:
		panic(name)
	}
}

// compare compares the results of a reader with the model.
func (w *chainWorld) compare(r *msg.ReadResponse) {
	ops, known := w.readers[r.Reader]
	delete(w.readers, r.Reader)
	if !known {
		return
	}
	require.Nil(w.t, r.Failure, "%v", r.Failure)
	if ops == nil { // it has fixed the CSN
		w.numbers++
		w.snapshots = append(w.snapshots, fixedSnapshot{w.numbers, r.CSN})
		w.safePoint = r.CSN
		return
	}
	for i := range ops {
		k := string(ops[i].Key)
		require.Equal(w.t, expected(w.at(r.CSN)[k], &ops[i]), answered(r.Results[i].Data, &ops[i]), "%s of %s at %d",
			methodName(&ops[i]), k, r.CSN)
	}
}

func methodName(op *msg.Op) string { return adt.Lookup(entry.Type(op.Type)).Method(op.Method).Name }

// expected returns the result of a query in the model, as text.
func expected(v map[string]string, op *msg.Op) string {
	member := ""
	if len(op.Args) > 0 {
		member = string(op.Args[0].Bytes)
	}
	value, there := v[member]
	before := 0
	for m, score := range v {
		a, b := number(score), number(value)
		if a < b || a == b && m < member {
			before++
		}
	}
	switch name := methodName(op); {
	case name == "len":
		return fmt.Sprint(len(v))
	case name == "contains" || name == "has":
		return fmt.Sprint(there)
	case name == "members" || name == "all" || name == "range-by-rank":
		return printed(v)
	case !there:
		return "nothing"
	case name == "rank":
		return fmt.Sprint(before)
	case name == "rev-rank":
		return fmt.Sprint(len(v) - 1 - before)
	}
	return value
}

func number(s string) (f float64) {
	_, _ = fmt.Sscan(s, &f)
	return f
}

// at returns the state at a CSN: the newest at or below it.
func (w *chainWorld) at(i kv.CSN) map[string]map[string]string {
	for ; ; i-- {
		if s, ok := w.history[i]; ok {
			return s
		}
	}
}

func printed(v map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "%s=%s;", k, v[k])
	}
	return b.String()
}

// answered returns a result as text.
func answered(a []msg.Datum, op *msg.Op) string {
	v := map[string]string{}
	switch methodName(op) {
	case "members":
		for _, d := range a {
			v[string(d.Bytes)] = ""
		}
		return printed(v)
	case "all", "range-by-rank":
		for i := 0; i < len(a); i += 2 {
			v[string(a[i].Bytes)] = datum(a[i+1])
		}
		return printed(v)
	}
	return datum(a[0])
}

func datum(d msg.Datum) string {
	switch d.Kind {
	case msg.DatumBytes:
		return string(d.Bytes)
	case msg.DatumInt:
		return fmt.Sprint(d.Int)
	case msg.DatumFloat:
		return fmt.Sprint(d.Float)
	case msg.DatumBool:
		return fmt.Sprint(d.Int == 1)
	}
	return "nothing"
}
