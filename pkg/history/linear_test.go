package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

func TestLinearizableKeys(t *testing.T) {
	cas := func(id string, start, end int64, old, new string) Txn {
		return txn(id, start, end, rd("x", old), wr("x", new))
	}
	for _, tc := range []struct {
		name string
		want porcupine.CheckResult
		txns []Txn
	}{
		{"put then get", porcupine.Ok, []Txn{txn("a", 0, 1, wr("x", "1")), txn("b", 2, 3, rd("x", "1"))}},
		{"a stale get", porcupine.Illegal, []Txn{txn("a", 0, 1, wr("x", "1")), txn("b", 2, 3, wr("x", "2")),
			txn("c", 4, 5, rd("x", "1"))}},
		{"a get after a delete", porcupine.Illegal, []Txn{txn("a", 0, 1, wr("x", "1")), txn("b", 2, 3, del("x")),
			txn("c", 4, 5, rd("x", "1"))}},
		{"values need not be unique", porcupine.Ok, []Txn{
			txn("a", 0, 1, wr("x", "1")), txn("b", 2, 3, wr("x", "2")), txn("c", 2, 3, wr("x", "1")),
			txn("d", 4, 5, rd("x", "1"))}},
		{"two compare-and-sets of one value", porcupine.Illegal, []Txn{
			txn("a", 0, 1, wr("x", "1")), cas("b", 2, 9, "1", "2"), cas("c", 2, 9, "1", "3")}},
		{"compare-and-sets in a row", porcupine.Ok, []Txn{
			txn("a", 0, 1, wr("x", "1")), cas("b", 2, 9, "1", "2"), cas("c", 2, 9, "2", "3")}},
		{"an unknown compare-and-set took effect", porcupine.Ok, []Txn{
			txn("a", 0, 1, wr("x", "1")), unknown(cas("b", 2, 9, "1", "2")), txn("c", 20, 21, rd("x", "2"))}},
		{"an unknown compare-and-set did not", porcupine.Ok, []Txn{
			txn("a", 0, 1, wr("x", "1")), unknown(cas("b", 2, 9, "0", "2")), txn("c", 20, 21, rd("x", "1"))}},
		{"an unknown compare-and-set cannot have", porcupine.Illegal, []Txn{
			txn("a", 0, 1, wr("x", "1")), unknown(cas("b", 2, 9, "0", "2")), txn("c", 20, 21, rd("x", "2"))}},
		{"a failed put is seen", porcupine.Illegal, []Txn{failed(txn("a", 0, 1, wr("x", "1"))),
			txn("b", 2, 3, rd("x", "1"))}},
		{"increments", porcupine.Ok, []Txn{txn("a", 0, 9, addGet("x", 1, 2)), txn("b", 0, 9, addGet("x", 1, 1)),
			txn("c", 10, 11, num("x", 2))}},
		{"an increment is lost", porcupine.Illegal, []Txn{txn("a", 0, 9, addGet("x", 1, 1)), txn("b", 0, 9, add("x", 1)),
			txn("c", 10, 11, num("x", 1))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Linearizable(&History{Txns: tc.txns}, time.Minute)
			require.Equal(t, tc.want, v.Result, "%v", v)
			require.Equal(t, 1, v.Keys)
		})
	}
}

func TestLinearizableWithUnknownInitialState(t *testing.T) {
	h := &History{Meta: Meta{InitialUnknown: true}, Txns: []Txn{
		txn("a", 0, 1, rd("x", "old")), txn("b", 0, 1, add("n", 1)), txn("c", 2, 3, addGet("n", 1, 7)),
		txn("d", 4, 5, num("n", 7))}}
	require.True(t, Linearizable(h, time.Minute).OK())
	h.Txns = append(h.Txns, txn("e", 2, 3, rd("x", "older")))
	require.Equal(t, []KeyVerdict{{Key: "x", Result: porcupine.Illegal, Txns: 2}}, Linearizable(h, time.Minute).Bad)
}

func TestLinearizableSkipsKeysOfMultiKeyTransactions(t *testing.T) {
	v := Linearizable(&History{Txns: []Txn{
		txn("a", 0, 1, wr("x", "1"), wr("y", "1")), txn("b", 2, 3, rd("x", "2")), txn("c", 2, 3, none("z"))}}, time.Minute)
	require.True(t, v.OK(), "%v", v)
	require.Equal(t, 1, v.Keys)
	require.Equal(t, 2, v.Skipped)
}

func TestLinearizableReportsTimeout(t *testing.T) {
	var txns []Txn // concurrent blind increments, and a sum that they never yield
	for i := range 40 {
		txns = append(txns, txn(fmt.Sprint(i), 0, 100, add("n", int64(2)<<(i%20))))
	}
	txns = append(txns, txn("r", 0, 100, num("n", 1)))
	v := Linearizable(&History{Txns: txns}, time.Millisecond)
	require.Equal(t, porcupine.Unknown, v.Result)
	require.Contains(t, v.String(), "could not be decided")
}

// TestPorcupineAgreesWithCheck compares the two on histories of one key.
func TestPorcupineAgreesWithCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bad := 0
	for run := range 1500 {
		h := drawHistory(r, opMix{txns: 7, keys: 1, reads: 4, writes: 3, deletes: 1})
		if run%2 == 0 {
			corrupt(r, h)
		}
		v := Linearizable(h, time.Minute)
		require.Equal(t, Check(h).OK(), v.OK(), "run %d: %s", run, dump(h))
		if !v.OK() {
			bad++
		}
	}
	require.Greater(t, bad, 100)
}
