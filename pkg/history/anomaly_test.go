package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Short forms for hand-written histories. A transaction's time is in
// milliseconds.

func txn(id string, start, end int64, ops ...Op) Txn {
	ms := int64(time.Millisecond)
	return Txn{ID: id, Start: start * ms, End: end * ms, Outcome: Committed, Ops: ops}
}

func failed(t Txn) Txn {
	t.Outcome = Failed
	return t
}

func unknown(t Txn) Txn {
	t.Outcome, t.End = Unknown, Never
	return t
}

func rd(key, value string) Op { return Op{Kind: Read, Saw: SawValue, Key: key, Value: value} }
func none(key string) Op      { return Op{Kind: Read, Saw: SawAbsent, Key: key} }
func exists(key string) Op    { return Op{Kind: Read, Saw: SawExists, Key: key} }
func num(key string, n int64) Op {
	return Op{Kind: Read, Saw: SawNumber, Key: key, Number: n}
}
func wr(key, value string) Op { return Op{Kind: Write, Key: key, Value: value} }
func del(key string) Op       { return Op{Kind: Delete, Key: key} }
func add(key string, n int64) Op {
	return Op{Kind: Add, Key: key, Delta: n}
}
func addGet(key string, n, sum int64) Op {
	return Op{Kind: Add, Saw: SawNumber, Key: key, Delta: n, Number: sum}
}
func scan(start, end string, limit int, keysAndValues ...string) Op {
	op := Op{Kind: Scan, Key: start, End: end, Limit: limit}
	for i := 0; i < len(keysAndValues); i += 2 {
		op.Pairs = append(op.Pairs, Pair{Key: keysAndValues[i], Saw: SawValue, Value: keysAndValues[i+1]})
	}
	return op
}

func TestAnomaliesAreNamed(t *testing.T) {
	type txns []Txn
	for _, tc := range []struct {
		name string
		want Anomaly
		txns txns
	}{
		{"dirty write: each overwrites the other", DirtyWrite, txns{
			txn("a", 0, 9, wr("x", "a"), wr("y", "a")), txn("b", 0, 9, wr("x", "b"), wr("y", "b")),
			txn("r", 10, 12, rd("x", "a"), rd("y", "b"))}},
		{"dirty write, legal: one overwrites the other", "", txns{
			txn("a", 0, 9, wr("x", "a"), wr("y", "a")), txn("b", 0, 9, wr("x", "b"), wr("y", "b")),
			txn("r", 10, 12, rd("x", "a"), rd("y", "a"))}},

		{"dirty read: of a failed transaction", DirtyRead, txns{failed(txn("a", 0, 9, wr("x", "a"))),
			txn("r", 0, 9, rd("x", "a"))}},
		{"dirty read, legal: of an unknown one", "", txns{unknown(txn("a", 0, 9, wr("x", "a"))),
			txn("r", 0, 9, rd("x", "a"))}},
		{"dirty read, legal: the failed one is not seen", "", txns{failed(txn("a", 0, 9, wr("x", "a"))),
			txn("r", 0, 9, none("x"))}},

		{"intermediate read", IntermediateRead, txns{txn("a", 0, 9, wr("x", "1"), wr("x", "2")),
			txn("r", 0, 9, rd("x", "1"))}},
		{"intermediate read, legal: of the last", "", txns{txn("a", 0, 9, wr("x", "1"), wr("x", "2")),
			txn("r", 0, 9, rd("x", "2"))}},
		{"intermediate read, legal: its own", "", txns{txn("a", 0, 9, wr("x", "1"), rd("x", "1"), wr("x", "2"))}},

		{"a value from nowhere", GarbageRead, txns{txn("r", 0, 9, rd("x", "1"))}},
		{"a value from the future of the same transaction", GarbageRead, txns{txn("r", 0, 9, rd("x", "1"), wr("x", "1"))}},

		{"lost update", LostUpdate, txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 9, rd("x", "0"), wr("x", "a")),
			txn("b", 2, 9, rd("x", "0"), wr("x", "b"))}},
		{"lost update, legal: the second read the first", "", txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 9, rd("x", "0"), wr("x", "a")),
			txn("b", 2, 9, rd("x", "a"), wr("x", "b"))}},
		{"lost update of an absent key", LostUpdate, txns{
			txn("a", 2, 9, none("x"), wr("x", "a")), txn("b", 2, 9, none("x"), wr("x", "b"))}},
		{"lost update of a counter", LostUpdate, txns{
			txn("a", 0, 9, addGet("n", 1, 1)), txn("b", 0, 9, addGet("n", 1, 1))}},
		{"lost update of a counter, legal", "", txns{
			txn("a", 0, 9, addGet("n", 1, 1)), txn("b", 0, 9, addGet("n", 1, 2))}},
		{"lost update of a counter without sums", WrongSum, txns{
			txn("a", 0, 2, add("n", 1)), txn("b", 0, 2, add("n", 1)), txn("r", 3, 4, num("n", 1))}},
		{"a counter without sums, legal", "", txns{
			txn("a", 0, 2, add("n", 1)), txn("b", 0, 5, add("n", 1)), txn("r", 3, 4, num("n", 1))}},
		{"a sum that includes a failed increment", WrongSum, txns{
			failed(txn("a", 0, 2, add("n", 1))), txn("b", 0, 2, add("n", 1)), txn("r", 3, 4, num("n", 2))}},
		{"a sum that includes an unknown increment, legal", "", txns{
			unknown(txn("a", 0, 2, add("n", 1))), txn("b", 0, 2, add("n", 1)), txn("r", 3, 4, num("n", 2))}},

		{"read skew", ReadSkew, txns{
			txn("0", 0, 1, wr("x", "0"), wr("y", "0")), txn("a", 2, 9, wr("x", "a"), wr("y", "a")),
			txn("r", 2, 9, rd("x", "0"), rd("y", "a"))}},
		{"read skew, legal: all before", "", txns{
			txn("0", 0, 1, wr("x", "0"), wr("y", "0")), txn("a", 2, 9, wr("x", "a"), wr("y", "a")),
			txn("r", 2, 9, rd("x", "0"), rd("y", "0"))}},

		{"write skew", WriteSkew, txns{
			txn("0", 0, 1, wr("x", "0"), wr("y", "0")),
			txn("a", 2, 9, rd("x", "0"), rd("y", "0"), wr("x", "a")), txn("b", 2, 9, rd("x", "0"), rd("y", "0"), wr("y", "b"))}},
		{"write skew, legal: b saw a", "", txns{
			txn("0", 0, 1, wr("x", "0"), wr("y", "0")),
			txn("a", 2, 9, rd("x", "0"), rd("y", "0"), wr("x", "a")), txn("b", 2, 9, rd("x", "a"), rd("y", "0"), wr("y", "b"))}},

		{"phantom", Phantom, txns{
			txn("a", 0, 9, scan("a", "z", 0), wr("k", "a")), txn("b", 0, 9, scan("a", "z", 0), wr("m", "b"))}},
		{"phantom, legal: b saw a's", "", txns{
			txn("a", 0, 9, scan("a", "z", 0), wr("k", "a")), txn("b", 0, 9, scan("a", "z", 0, "k", "a"), wr("m", "b"))}},
		{"phantom, legal: behind the limit", "", txns{
			txn("0", 0, 1, wr("c", "0")),
			txn("a", 2, 9, scan("a", "z", 1, "c", "0"), wr("k", "a")),
			txn("b", 2, 9, scan("a", "z", 1, "c", "0"), wr("m", "b"))}},
		{"a scan out of order", BadScan, txns{
			txn("0", 0, 1, wr("c", "0"), wr("d", "0")), txn("a", 2, 9, scan("a", "z", 0, "d", "0", "c", "0"))}},
		{"a scan that returned more than its limit", BadScan, txns{
			txn("0", 0, 1, wr("c", "0"), wr("d", "0")), txn("a", 2, 9, scan("a", "z", 1, "c", "0", "d", "0"))}},
		{"a scan that returned a key twice", BadScan, txns{
			txn("0", 0, 1, wr("c", "0")), txn("a", 2, 9, scan("a", "z", 0, "c", "0", "c", "0"))}},

		{"long fork", LongFork, txns{
			txn("a", 0, 9, wr("x", "a")), txn("b", 0, 9, wr("y", "b")),
			txn("r", 0, 9, rd("x", "a"), none("y")), txn("s", 0, 9, none("x"), rd("y", "b"))}},
		{"long fork, legal: one order", "", txns{
			txn("a", 0, 9, wr("x", "a")), txn("b", 0, 9, wr("y", "b")),
			txn("r", 0, 9, rd("x", "a"), none("y")), txn("s", 0, 9, rd("x", "a"), rd("y", "b"))}},
		{"long fork of counters", LongFork, txns{
			txn("a", 0, 9, add("x", 1)), txn("b", 0, 9, add("y", 1)),
			txn("r", 0, 9, num("x", 1), none("y")), txn("s", 0, 9, none("x"), num("y", 1))}},

		{"stale read", RealTimeInversion, txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 4, wr("x", "a")), txn("r", 5, 9, rd("x", "0"))}},
		{"stale read, legal: still concurrent", "", txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 6, wr("x", "a")), txn("r", 5, 9, rd("x", "0"))}},
		{"stale read of the initial state", RealTimeInversion, txns{
			txn("a", 2, 4, wr("x", "a")), txn("r", 5, 9, none("x"))}},
		{"stale read of a counter", WrongSum, txns{
			txn("a", 2, 4, add("x", 1)), txn("c", 2, 4, add("x", 1)), txn("r", 5, 9, num("x", 1))}},
		{"two reads go back in time", RealTimeInversion, txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 20, wr("x", "a")),
			txn("r", 3, 4, rd("x", "a")), txn("s", 5, 6, rd("x", "0"))}},
		{"a counter goes back in time", RealTimeInversion, txns{
			txn("a", 2, 20, add("x", 1)), txn("b", 2, 20, add("x", 1)),
			txn("r", 3, 4, num("x", 2)), txn("s", 5, 6, num("x", 1))}},

		{"non-repeatable read", NonRepeatableRead, txns{
			txn("a", 0, 9, wr("x", "a")), txn("r", 0, 9, none("x"), rd("x", "a"))}},
		{"non-repeatable read by a scan", NonRepeatableRead, txns{
			txn("a", 0, 9, wr("x", "a")), txn("r", 0, 9, rd("x", "a"), scan("a", "", 0))}},
		{"repeated read, legal", "", txns{
			txn("a", 0, 9, wr("x", "a")), txn("r", 0, 9, rd("x", "a"), scan("a", "", 0, "x", "a"), rd("x", "a"))}},
		{"its own write is not seen", OwnWriteMissed, txns{txn("a", 0, 9, wr("x", "a"), none("x"))}},
		{"its own deletion is not seen", OwnWriteMissed, txns{
			txn("0", 0, 9, wr("x", "0")), txn("a", 0, 9, del("x"), scan("a", "", 0, "x", "0"))}},
		{"its own increment is not seen", OwnWriteMissed, txns{txn("a", 0, 9, addGet("n", 1, 1), num("n", 0))}},
		{"its own writes are seen, legal", "", txns{
			txn("a", 0, 9, wr("x", "a"), rd("x", "a"), del("x"), none("x"), add("n", 2), num("n", 2))}},
		{"an unknown transaction by itself is wrong, legal", "", txns{unknown(txn("a", 0, 9, wr("x", "a"), none("x")))}},
		{"an unknown transaction by itself is wrong, and was seen", OwnWriteMissed, txns{
			unknown(txn("a", 0, 9, wr("x", "a"), none("x"))), txn("r", 0, 9, rd("x", "a"))}},

		{"circular information flow", CircularFlow, txns{
			txn("a", 0, 9, rd("x", "b"), wr("y", "a")), txn("b", 0, 9, rd("y", "a"), wr("x", "b"))}},
		{"information flows one way, legal", "", txns{
			txn("a", 0, 9, none("x"), wr("y", "a")), txn("b", 0, 9, rd("y", "a"), wr("x", "b"))}},

		{"an absence behind a deletion, legal", "", txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 2, 3, del("x")), txn("b", 4, 9, wr("x", "b")), txn("r", 4, 9, none("x"))}},
		{"an absence with no deletion before it", ImpossibleAbsence, txns{
			txn("0", 0, 1, wr("x", "0")), txn("a", 10, 11, del("x")), txn("r", 4, 9, none("x"))}},
		{"a key that existed without a write", ImpossibleAbsence, txns{txn("r", 0, 9, exists("x"))}},
		{"a key that existed after one, legal", "", txns{txn("a", 0, 9, wr("x", "a")), txn("r", 0, 9, exists("x"))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &History{Txns: tc.txns}
			require.Equal(t, tc.want == "", refAccepts(h), "the reference model")
			v := Check(h)
			require.Equal(t, tc.want, v.Anomaly(), "%v", v)
			require.Equal(t, tc.want == "", v.Exact)
			require.Equal(t, tc.want, CheckWith(h, Options{SearchSteps: -1}).Anomaly(), "by inference alone")
		})
	}
}

func TestExplanations(t *testing.T) {
	a := txn("al", 2, 4, wr("x", "a"))
	a.Client = 3
	v := Check(&History{Txns: []Txn{txn("zero", 0, 1, wr("x", "0")), a, txn("\x01\x02", 5, 9, rd("x", "0"))}})
	require.Equal(t, `real-time inversion
  These transactions form a cycle:
  0102 (client 0, 5ms to 9ms) saw "0" at "x", by zero (client 0, 0s to 1ms), before al (client 3, 2ms to 4ms) wrote "a".
  al (client 3, 2ms to 4ms) ended before 0102 (client 0, 5ms to 9ms) started.
NOT strictly serializable
checked 3 transactions, 1 keys and 1 dependencies, in 1 rounds of inference`, v.String())
}

// TestZeroCounterIsNotAbsent distinguishes a counter at zero from an absent one. Sums do not; only the search does.
func TestZeroCounterIsNotAbsent(t *testing.T) {
	zero := txn("zero", 0, 9, add("n", 0))
	for _, tc := range []struct {
		name string
		want Anomaly
		txns []Txn
	}{
		{"no writer", NotSerializable, []Txn{txn("a", 0, 9, num("n", 0))}},
		{"no writer, and it existed before a sum", NotSerializable, []Txn{txn("a", 0, 9, exists("n"), addGet("n", 1, 1))}},
		{"no writer, and it existed before an addition that was read", NotSerializable, []Txn{
			txn("a", 0, 9, exists("n"), add("n", 1), num("n", 1))}},
		{"a writer", "", []Txn{zero, txn("a", 0, 9, exists("n"), addGet("n", 1, 1))}},
		{"no writer, and it was absent", "", []Txn{txn("a", 0, 9, none("n"), addGet("n", 1, 1))}},
		{"no writer, and its existence was not read", "", []Txn{txn("a", 0, 9, addGet("n", 1, 1))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &History{Txns: tc.txns}
			require.Equal(t, tc.want == "", refAccepts(h), "the reference model")
			require.Equal(t, tc.want, Check(h).Anomaly())
		})
	}
}

func TestUnknownInitialState(t *testing.T) {
	for _, tc := range []struct {
		name string
		want Anomaly
		txns []Txn
	}{
		{"one value from before", "", []Txn{txn("a", 0, 9, rd("x", "old")), txn("b", 0, 9, rd("x", "old"), wr("x", "b"))}},
		{"two values from before", GarbageRead, []Txn{txn("a", 0, 9, rd("x", "old")), txn("b", 0, 9, rd("x", "older"))}},
		{"a value from before, and an absence", ImpossibleAbsence, []Txn{txn("a", 0, 9, rd("x", "old")),
			txn("b", 0, 9, none("x"))}},
		{"a value from before, a deletion and an absence", "", []Txn{
			txn("a", 0, 9, rd("x", "old")), txn("d", 0, 9, del("x")), txn("b", 0, 9, none("x"))}},
		{"a value from before, read too late", RealTimeInversion, []Txn{txn("a", 0, 2, wr("x", "a")),
			txn("b", 3, 9, rd("x", "old"))}},
		{"a counter from before", "", []Txn{txn("a", 0, 9, addGet("n", 1, 8)), txn("b", 0, 9, addGet("n", 1, 9)),
			txn("r", 10, 11, num("n", 9))}},
		{"a counter from before at zero", "", []Txn{txn("a", 0, 9, num("n", 0), add("n", 2)), txn("b", 0, 9, exists("n"))}},
		{"no counter from before", "", []Txn{txn("a", 0, 9, none("n"), add("n", 2)), txn("b", 0, 9, addGet("n", 1, 3))}},
		{"no counter from before, and two add to nothing", LostUpdate, []Txn{
			txn("a", 0, 9, none("n"), add("n", 2)), txn("b", 0, 9, addGet("n", 1, 1))}},
		{"no counter from before, found missing too late", RealTimeInversion, []Txn{
			txn("a", 0, 2, add("n", 2)), txn("b", 3, 9, none("n"))}},
		{"a counter from before at zero that was not there", NotSerializable, []Txn{
			txn("a", 0, 9, num("n", 0)), txn("b", 0, 9, none("n")), txn("r", 10, 11, num("n", 0))}},
		{"a counter from before that fits nothing", WrongSum, []Txn{txn("a", 0, 1, addGet("n", 1, 8)),
			txn("b", 2, 3, add("n", 1)), txn("r", 10, 11, num("n", 11))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Check(&History{Meta: Meta{InitialUnknown: true}, Txns: tc.txns})
			require.Equal(t, tc.want, v.Anomaly(), "%v", v)
			require.Equal(t, tc.want == "", v.Exact)
		})
	}
}

func TestMissingTransactionsAreNoAnomaly(t *testing.T) {
	lost := []Txn{txn("a", 0, 9, rd("x", "lost"), none("y")), txn("b", 0, 1, wr("y", "b")),
		txn("c", 10, 12, none("y"), addGet("n", 1, 7))}
	v := Check(&History{Txns: lost, Incomplete: true})
	require.True(t, v.OK(), "%v", v)
	require.False(t, v.Exact)
	stale := append(lost, txn("d", 20, 21, wr("y", "d")), txn("e", 22, 23, rd("y", "b")))
	require.Equal(t, RealTimeInversion, Check(&History{Txns: stale, Incomplete: true}).Anomaly())
}

func TestRepeatedValuesOnlyWeakenTheVerdict(t *testing.T) {
	h := &History{Txns: []Txn{
		txn("a", 0, 1, wr("x", "same")), txn("b", 2, 3, wr("x", "other")), txn("c", 4, 5, wr("x", "same")),
		txn("r", 6, 7, rd("x", "same"))}}
	require.True(t, Check(h).Exact)
	h.Txns = append(h.Txns, txn("s", 8, 9, rd("x", "other")))
	require.Equal(t, RealTimeInversion, Check(h).Anomaly())
}

func TestInexactVerdictIsReported(t *testing.T) {
	var txns []Txn
	for i := range 10 {
		txns = append(txns, txn(fmt.Sprint(i), 0, 9, wr("x", fmt.Sprint(i))))
	}
	v := CheckWith(&History{Txns: txns}, Options{SearchSteps: 3})
	require.True(t, v.OK())
	require.False(t, v.Exact)
	require.Contains(t, v.String(), "no violation found")
}
