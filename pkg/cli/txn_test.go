package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func TestTxnShowsAResultPerOperation(t *testing.T) {
	n := start(t)
	out := n.runWith(t, `
# everything at once
put a 1; put "b b" "x\n"
get a
get gone
incr n 5
add n 2
require n exists
scan a c limit 1
del a; del a
delrange b c
`, "txn").ok(t)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	require.Regexp(t, `^committed [0-9a-f]{32}, attempt 1$`, lines[len(lines)-1])
	require.Equal(t, []string{
		`    OPERATION             RESULT                     VERSION`,
		`1   put "a" "1"           done                       0.0.1`,
		`2   put "b b" "x\n"       done                       0.0.2`,
		`3   get "a"               1                          0.0.1`,
		`4   get "gone"            (absent)                   0.0.0`,
		`5   incr "n" 5            5                          0.0.3`,
		`6   add "n" 2             done                       0.0.4`,
		`7   require "n" exists    holds                      0.0.4`,
		`8   scan "a" "c" limit 1  1 key, more from b b       `,
		`      a                   1                          0.0.1`,
		`9   del "a"               deleted                    0.0.5`,
		`10  del "a"               did not exist              0.0.6`,
		`11  delrange "b" "c"      deleted 1 key              0.0.7`,
	}, normalise(lines[:len(lines)-1]))
}

// normalise makes the widths of the columns those of the table above, which
// leaves some room.
func normalise(lines []string) []string {
	at := strings.Index(lines[0], "VERSION")
	for i, l := range lines {
		l += strings.Repeat(" ", max(0, at-len(l)))
		lines[i] = l[:at] + strings.Repeat(" ", max(0, 53-at)) + l[at:]
	}
	return lines
}

func TestTxnAsJSON(t *testing.T) {
	n := start(t)
	out := n.run(t, "txn", "-o", "json", "put a 1; get a; get gone; incr n; add n 1", "scan a b limit 1", "del a",
		"delrange b c").ok(t)
	got := objects(t, out)
	require.Len(t, got, 1)
	require.Len(t, got[0]["txn_id"], 32)
	rs := got[0]["results"].([]any)
	require.Equal(t, []any{
		map[string]any{"op": "put", "version": "0.0.1"},
		map[string]any{"op": "get", "found": true, "type": "value", "value": "1", "version": "0.0.1"},
		map[string]any{"op": "get", "found": false, "version": "0.0.0"},
		map[string]any{"op": "incr", "type": "counter", "number": float64(1), "version": "0.0.2"},
		map[string]any{"op": "add", "version": "0.0.3"},
		map[string]any{"op": "scan", "pairs": []any{map[string]any{"key": "a", "type": "value", "value": "1",
			"version": "0.0.1"}}},
		map[string]any{"op": "del", "found": true, "version": "0.0.4"},
		map[string]any{"op": "delrange", "removed": float64(0)},
	}, rs)
}

func TestMistakesInATxnNameTheirPlace(t *testing.T) {
	// There is no server: a mistake is found before one is needed.
	run(t, "", "txn", "get a", "put b").fails(t, 2, "line 2, column 6: expected a value, found the end of the operation")
	run(t, "fetch\n", "txn").fails(t, 2, "line 1, column 1: expected")
	run(t, "# nothing", "txn", "-").fails(t, 2, "no operations")
}

func TestAFailedOperationOfATxnIsNamed(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v").ok(t)
	n.run(t, "txn", "put a 1", "put b 2; put k w if absent").
		fails(t, 3, `operation 3, on line 2 (put "k" "w" if absent): `+
			`ConditionFailed: the key exists (key "k"); the key holds "v", version 0.0.1`)
	n.run(t, "get", "a").fails(t, 1, "does not exist")
}

func TestATxnThatWaitedSaysForWhom(t *testing.T) {
	n := start(t)
	slow := func(req gateway.Request, done func(gateway.Response)) {
		n.Store.Submit(req, func(r gateway.Response) {
			r.Receipt = waitedFor(7_000_000, msg.CauseLock, adt.MethodAdd)
			done(r)
		})
	}
	n.submit.Store(&slow)
	const why = `Waited 7 ms for key "k": the put conflicts with an add of transaction 00000000000000010000000000000002. ` +
		`Replace the put with an add if the key is only incremented: adds commute.`
	require.Contains(t, n.run(t, "txn", "put k v").ok(t), why+"\n")
	waited := map[string]any{"us": float64(7000), "cause": "lock", "key": "k", "operations": []any{"put"}, "lock": "write",
		"holder":            "00000000000000010000000000000002",
		"holder_operations": []any{"add"}, "holder_lock": "add", "others": float64(2),
		"advice": map[string]any{"instead": "add"}}
	why2 := strings.Replace(why, "000002.", "000002, and with 2 more.", 1)
	slow = func(req gateway.Request, done func(gateway.Response)) {
		n.Store.Submit(req, func(r gateway.Response) {
			r.Receipt = waitedFor(7_000_000, msg.CauseLock, adt.MethodAdd)
			r.Receipt.Others = 2
			done(r)
		})
	}
	for _, args := range [][]string{{"txn", "put k v"}, {"put", "k", "v"}, {"get", "k"}, {"incr", "n"},
		{"incr", "n", "--blind"}, {"del", "k"}} {
		got := objects(t, n.run(t, append(args, "-o", "json")...).ok(t))
		require.Equal(t, waited, got[0]["waited"], "%v", args)
		require.Equal(t, why2, got[0]["why"])
		if args[0] == "del" {
			n.run(t, "put", "k", "v")
		}
		if args[0] != "txn" {
			require.Contains(t, n.run(t, args...).errs, why2, "what a command prints besides its answer")
		}
	}
}

// waitedFor is a receipt of a put of k.
func waitedFor(nanos int64, cause msg.Cause, theirs adt.Method) msg.Receipt {
	r := msg.Receipt{WaitedNanos: nanos, Key: []byte("k"), Cause: cause, Mode: uint64(adt.ModeWrite),
		Methods:    uint64(adt.MethodPut.Set()),
		HolderMode: uint64(theirs.Mode()), HolderMethods: uint64(theirs.Set())}
	r.Holder.TxnID = kv.TxnID{Time: 1, Rand: 2}
	return r
}

// TestAFailureSaysWhy: on a line of its own, and in JSON with all that is known.
func TestAFailureSaysWhy(t *testing.T) {
	n := start(t)
	late := func(req gateway.Request, done func(gateway.Response)) {
		r := gateway.Response{ID: req.ID, Attempts: 2,
			Err: &kv.Error{Kind: kv.KindDeadlineExceeded, Text: "the deadline passed", Op: -1, Hint: "use a longer timeout"}}
		r.Receipt = waitedFor(300_000_000, msg.CauseLock, adt.MethodDelete)
		r.Receipt.Open = true
		by := waitedFor(0, msg.CauseWound, adt.MethodDelete)
		r.Ended.Count, r.Ended.Reason, r.Ended.By = 1, msg.ReasonWounded, &by
		done(r)
	}
	n.submit.Store(&late)
	r := n.run(t, "put", "k", "v")
	require.Equal(t, "linchpin: DeadlineExceeded: the deadline passed\nhint: use a longer timeout\n"+
		`why: Still waiting after 300 ms for key "k": the put conflicts with a delete of transaction 00000000000000010000000000000002. `+
		`1 attempt was aborted because transaction 00000000000000010000000000000002, which is older, needed key "k" for a delete, which conflicts with a put of this transaction. `+
		"A put and a delete do not commute: keep the transactions short.\n", r.errs)
	got := objects(t, n.run(t, "put", "k", "v", "-o", "json").errs)[0]
	require.Equal(t, true, got["waited"].(map[string]any)["waiting"])
	aborted := got["aborted"].(map[string]any)
	require.Equal(t, []any{float64(1), "wounded", "wound", "k"},
		[]any{aborted["attempts"], aborted["reason"], aborted["cause"], aborted["key"]})
}

func TestLostResultsHaveAnExitCode(t *testing.T) {
	n := start(t)
	lost := func(req gateway.Request, done func(gateway.Response)) {
		n.Store.Submit(req, func(r gateway.Response) {
			r.Results, r.ResultsLost = nil, true
			done(r)
		})
	}
	n.submit.Store(&lost)
	for _, args := range [][]string{{"put", "k", "v"}, {"del", "k"}, {"incr", "n"}, {"txn", "put k v"},
		{"sadd", "s", "a"}} {
		r := n.run(t, args...)
		require.Equal(t, cli.ExitOutput, r.code)
		require.Empty(t, r.errs)
		require.Regexp(t, `^committed [0-9a-f]{32}; .* no longer known\n$`, r.out)
		r = n.run(t, append(args, "-o", "json")...)
		require.Equal(t, cli.ExitOutput, r.code)
		o := objects(t, r.out)[0]
		require.Equal(t, true, o["results_lost"])
		require.EqualValues(t, 1, o["attempts"])
	}
}

func TestOutcome(t *testing.T) {
	n := start(t)
	id := objects(t, n.run(t, "txn", "-o", "json", "put k v; incr n; get k").ok(t))[0]["txn_id"].(string)
	require.Equal(t, "Committed\n   OPERATION  FOUND  VALUE  VERSION\n1  put        false         0.0.1\n2  add-get    false  1      0.0.2\n3  get        true   v      0.0.1\n",
		n.run(t, "outcome", id).ok(t))
	got := objects(t, n.run(t, "outcome", id, "-o", "json").ok(t))[0]
	require.Equal(t, true, got["committed"])
	require.Len(t, got["results"], 3)
	require.Equal(t, "add-get", got["results"].([]any)[1].(map[string]any)["op"])
	other := "0000000000000001" + "0000000000000002"
	require.Equal(t, ran{6, "Aborted: nothing was applied\n", ""}, n.run(t, "outcome", other))
	require.Equal(t, ran{6, `{"txn_id":"` + other + `","committed":false}` + "\n", ""},
		n.run(t, "outcome", other, "-o", "json"))
	called := objects(t, n.run(t, "txn", "-o", "json",
		"call z sorted-set.increment m 2.5; call z sorted-set.score m").ok(t))[0]["txn_id"].(string)
	require.Regexp(t, `(?m)^2 +sorted-set.score +true +2.5 `, n.run(t, "outcome", called).ok(t), "the result of a method")
	n.run(t, "outcome", "ffffffffffffffff0000000000000001").fails(t, 2, "the id is an alias")
	old := n.run(t, "outcome", "0000010000000000"+"0000000000000001")
	require.Equal(t, 5, old.code)
	require.Equal(t, "Unknown\n", old.out)
	require.Contains(t, old.errs, "TooOld")
	n.run(t, "outcome", "17").fails(t, 2, "32 hexadecimal digits")
}
