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

// apply does in the model what a transaction has done.
func (w *chainWorld) apply(txn kv.TxnRef, at kv.Index) {
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
		change(v, op)
		if next[string(op.Key)] = v; len(v) == 0 {
			delete(next, string(op.Key))
		}
	}
	w.state = next
	w.history[at] = next
}

func change(v map[string]string, op *msg.Op) {
	switch name := adt.Lookup(entry.Type(op.Type)).Method(op.Method).Name; name {
	case "add":
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
		v[string(op.Args[0].Bytes)] = fmt.Sprint(n + op.Args[1].Int)
	default:
		panic(name)
	}
}

// judge holds what a reader has found against the model.
func (w *chainWorld) judge(r *msg.ReadReply) {
	keys, known := w.readers[r.Reader]
	delete(w.readers, r.Reader)
	if !known {
		return
	}
	require.Nil(w.t, r.Failure, "%v", r.Failure)
	if keys == nil { // it has fixed the index
		w.numbers++
		w.pins = append(w.pins, pin{w.numbers, r.Index})
		w.floor = r.Index
		return
	}
	for i, k := range keys {
		require.Equal(w.t, printed(w.at(r.Index)[k]), answered(r.Results[i].Answer, k), "%s at %d", k, r.Index)
	}
}

// at is the state at an index: the newest at or below it.
func (w *chainWorld) at(i kv.Index) map[string]map[string]string {
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

// answered prints the answer to members, or to all.
func answered(a []msg.Datum, key string) string {
	v := map[string]string{}
	for i := 0; i < len(a); i++ {
		if key[0] == 's' {
			v[string(a[i].Bytes)] = ""
		} else {
			v[string(a[i].Bytes)] = string(a[i+1].Bytes)
			i++
		}
	}
	return printed(v)
}
