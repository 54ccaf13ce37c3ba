package detail_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestNumbersAreShared: causes have the same number on a shard and on the wire.
func TestNumbersAreShared(t *testing.T) {
	require.Len(t, pb.Cause_name, len(msg.Cause_name))
	for n, name := range pb.Cause_name {
		require.Equal(t, strings.ToLower(strings.TrimPrefix(name, "CAUSE_")),
			strings.ToLower(strings.TrimPrefix(msg.Cause(n).String(), "Cause")))
	}
}

var holder = kv.TxnID{Time: 7, Rand: 9}

func lock(mine, theirs string) *pb.Conflict {
	c := &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{mine},
		HolderOperations: []string{theirs}}
	did, _ := adt.ParseMethods(c.Operations)
	holderDid, _ := adt.ParseMethods(c.HolderOperations)
	c.Lock, c.HolderLock = did.Mode().Name(), holderDid.Mode().Name()
	return c
}

// operations are the names of all operations.
func operations() (names []string) {
	for m := adt.MethodNone; m.String() != "newer"; m++ {
		names = append(names, m.String())
	}
	return names
}

func TestSentence(t *testing.T) {
	const x = "transaction 00000000000000070000000000000009"
	put, add, get, update := "put", "add", "get", "get-for-update"
	with := func(c *pb.Conflict, change func(c *pb.Conflict)) *pb.Conflict {
		change(c)
		return c
	}
	for _, test := range []struct {
		name    string
		receipt *pb.Receipt
		want    string
	}{
		{"nothing", nil, ""},
		{"no wait", &pb.Receipt{}, ""},
		{"a put behind an add", &pb.Receipt{WaitedUs: 1500, Wait: lock(put, add)},
			`Waited 1.5 ms for key "k": the put conflicts with an add of ` + x + `. ` +
				`Replace the put with an add if the key is only incremented: adds commute.`},
		{"a put behind a put, and others", &pb.Receipt{WaitedUs: 31_999,
			Wait: with(lock(put, put), func(c *pb.Conflict) { c.Others = 3 })},
			`Waited 32 ms for key "k": the put conflicts with a put of ` + x + `, and with 3 more. ` +
				`Replace both with an add if the key is only incremented: adds commute.`},
		{"a read of an update behind a put", &pb.Receipt{WaitedUs: 10_000, Wait: lock(get, put)},
			`Waited 10 ms for key "k": the get conflicts with a put of ` + x + `. ` +
				`A get and a put do not commute: keep the transactions short.`},
		{"two interactive updates", &pb.Receipt{WaitedUs: 10_000,
			Wait: with(lock(update, update), func(c *pb.Conflict) { c.Interactive, c.HolderInteractive = true, true })},
			`Waited 10 ms for key "k": the get for update conflicts with a get for update of ` + x + `. ` +
				`Send both transactions as one-shots, or replace both with an add if the key is only incremented: adds commute.`},
		{"an add behind an interactive update", &pb.Receipt{WaitedUs: 94_071, Wait: with(lock(add, update),
			func(c *pb.Conflict) { c.HolderInteractive = true })},
			`Waited 94.1 ms for key "k": the add conflicts with a get for update of ` + x + `. ` +
				`Send that transaction as a one-shot, or replace its get for update with an add if the key is only ` +
				`incremented: adds commute.`},
		{"a delete behind an interactive update", &pb.Receipt{WaitedUs: 10_000, Wait: with(lock("delete", update),
			func(c *pb.Conflict) { c.HolderInteractive = true })},
			`Waited 10 ms for key "k": the delete conflicts with a get for update of ` + x + `. ` +
				`Send that transaction as a one-shot: a delete and a get for update do not commute.`},
		{"a delete behind a put", &pb.Receipt{WaitedUs: 10_000, Wait: lock("delete", put)},
			`Waited 10 ms for key "k": the delete conflicts with a put of ` + x +
				`. A delete and a put do not commute: keep the transactions short.`},
		{"a lock on a range", &pb.Receipt{WaitedUs: 10_000,
			Wait: with(lock("delete", "delete-range"), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_RANGE })},
			`Waited 10 ms for key "k": the delete conflicts with a range lock of ` + x + `, for a range delete. ` +
				`A delete and a range delete do not commute: keep the transactions short.`},
		{"a reader behind a commit", &pb.Receipt{WaitedUs: 10_000,
			Wait: with(lock("view", put), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_INTENT })},
			`Waited 10 ms for key "k": the read-only transaction (View) is blocked by ` + x + `, which is committing a put. ` +
				`Use a snapshot read if a slightly older state is sufficient: it never waits for a commit.`},
		{"a wait that has not ended, in the queue", &pb.Receipt{WaitedUs: 300_000, Waiting: true, Wait: with(lock("delete",
			put), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_QUEUE })},
			`Still waiting after 300 ms for key "k": the delete is queued behind a put of ` + x + `, which is older. ` +
				`A delete and a put do not commute: keep the transactions short.`},
		{"readers of the key", &pb.Receipt{WaitedUs: 31_999,
			Wait: with(lock(put, "open-view"), func(c *pb.Conflict) { c.Cause, c.Holder = pb.Cause_CAUSE_READERS, kv.TxnID{} })},
			`Waited 32 ms for key "k": the put is blocked by readers: open read-only transactions, or reads of several ` +
				`shards in flight. ` +
				`Replace the other transaction's read-only transaction with a snapshot read if it may read a slightly older ` +
				`state: snapshot reads do not block writers.`},
		{"a snapshot of the history", &pb.Receipt{WaitedUs: 1000, Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_SNAPSHOT,
			Key: []byte("k"), Operations: []string{put}}},
			`Waited 1 ms for key "k": the put is blocked by a snapshot of all shards: of the history (--history-every), ` +
				`for a scan or for a View.`},
		{"less than a millisecond", &pb.Receipt{WaitedUs: 999, Wait: lock(put, put)}, ""},
		{"a bounded counter near its bound", &pb.Receipt{WaitedUs: 10_000,
			Wait: lock("bounded-counter.subtract", "bounded-counter.try-subtract")},
			`Waited 10 ms for key "k": the subtract on a bounded-counter conflicts with a try-subtract on a ` +
				`bounded-counter of ` + x + `. ` +
				`The counter is near its bound: too little is left for both operations, so their order matters.`},
		{"a bounded counter with too little left", &pb.Receipt{WaitedUs: 10_000, Wait: with(
			lock("bounded-counter.subtract", "bounded-counter.subtract"),
			func(c *pb.Conflict) { c.HolderInteractive, c.Shortage = true, &pb.Shortage{Left: 3, Requested: 5} })},
			`Waited 10 ms for key "k": the subtract on a bounded-counter conflicts with a subtract on a bounded-counter of ` +
				x + `. ` +
				`The counter is near its bound: the amount certain to be left was 3, and this transaction requested 5.`},
		{"a bounded counter with too little left for the other one", &pb.Receipt{Aborted: 1, Reason: "wounded", Abort: with(
			lock("bounded-counter.add", "bounded-counter.add"),
			func(c *pb.Conflict) { c.Cause, c.Shortage = pb.Cause_CAUSE_WOUND, &pb.Shortage{Left: 3} })},
			`1 attempt was aborted because ` + x + `, which is older, needed key "k" for an add on a bounded-counter, ` +
				`which conflicts with an add on a bounded-counter of this transaction. ` +
				`The counter is near its bound: the amount certain to be left was 3, and the other transaction requested more.`},
		{"a bounded counter in an interactive transaction", &pb.Receipt{WaitedUs: 10_000, Wait: with(
			lock("bounded-counter.subtract", "bounded-counter.try-subtract"),
			func(c *pb.Conflict) { c.HolderInteractive = true })},
			`Waited 10 ms for key "k": the subtract on a bounded-counter conflicts with a try-subtract on a ` +
				`bounded-counter of ` + x + `. ` +
				`Send that transaction as a one-shot: then the two commute, unless the counter is near its bound.`},
		{"a lock of its own", &pb.Receipt{WaitedUs: 10_000, Waiting: true,
			Wait: with(lock("delete", update), func(c *pb.Conflict) {
				c.HolderInteractive, c.HolderOwn = true, true
			})},
			`Still waiting after 10 ms for key "k": the delete conflicts with a get for update of this client's own ` + x +
				`. ` +
				`Send that transaction as a one-shot: a delete and a get for update do not commute.`},
		{"readers from before a restart", &pb.Receipt{WaitedUs: 12_340_000, Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_RECOVERY,
			Operations: []string{put}}},
			`Waited 12.3 s: after its restart a shard delays writes until the read-only transactions from before have ` +
				`timed out.`},
		{"no cause, and no end", &pb.Receipt{WaitedUs: 400_000, Waiting: true, Wait: &pb.Conflict{}},
			`Timed out after waiting 400 ms; no shard reported the cause.`},
		{"no cause", &pb.Receipt{WaitedUs: 9_999_999, Wait: &pb.Conflict{Key: []byte("k")}},
			`Waited 10000 ms for key "k"; the cause is not known.`},
		{"wounded", &pb.Receipt{Aborted: 1, Reason: "wounded",
			Abort: with(lock(put, "delete"), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_WOUND })},
			`1 attempt was aborted because ` + x +
				`, which is older, needed key "k" for a delete, which conflicts with a put of this transaction. ` +
				`A put and a delete do not commute: keep the transactions short.`},
		{"a stale read", &pb.Receipt{Aborted: 3, Reason: "stale-read", Abort: &pb.Conflict{Cause: pb.Cause_CAUSE_CHANGED,
			Key: []byte("k"), Operations: []string{get}}},
			`3 attempts were aborted, the last one because another transaction changed key "k" after this one had read it.`},
		{"a stale read of an interactive update",
			&pb.Receipt{Aborted: 1, Reason: "stale-read", Abort: &pb.Conflict{Cause: pb.Cause_CAUSE_CHANGED, Key: []byte("k"),
				Operations: []string{get}, Interactive: true}},
			`1 attempt was aborted because another transaction changed key "k" after this one had read it. ` +
				`Send this transaction as a one-shot, or use an add if the key is only incremented.`},
		{"a cause of a newer server", &pb.Receipt{WaitedUs: 12_000,
			Wait: &pb.Conflict{Cause: 99, Key: []byte("k"), Holder: holder}}, `Waited 12 ms for key "k": ` + x + ` was ahead.`},
		{"a lock whose mode alone is known", &pb.Receipt{WaitedUs: 12_000,
			Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{put},
				HolderLock: "read"}},
			`Waited 12 ms for key "k": the put conflicts with a read of ` + x + `.`},
	} {
		require.Equal(t, test.want, detail.Sentence(test.receipt), test.name)
	}
}

// jargon are words that a newcomer cannot know.
var jargon = []string{"wound", "seal", "epoch", "intent", "last agent", "prepare", "incarnation", "park", "grant",
	"tombstone", "mode", "%!", "MISSING", "  ", ".."}

// TestSentencesOfAllPairs: for each pair of operations and each cause there is a sentence with at most one
// advice.
func TestSentencesOfAllPairs(t *testing.T) {
	n := 0
	for _, mine := range operations() {
		for _, theirs := range operations() {
			for cause := range pb.Cause_name {
				for _, open := range [][2]bool{{}, {true, false}, {false, true}, {true, true}} {
					if open != [2]bool{} && cause != int32(pb.Cause_CAUSE_LOCK) && cause != int32(pb.Cause_CAUSE_CHANGED) {
						continue
					}
					c := lock(mine, theirs)
					c.Cause, c.Interactive, c.HolderInteractive = pb.Cause(cause), open[0], open[1]
					for _, r := range []*pb.Receipt{{WaitedUs: 1000, Wait: c}, {WaitedUs: 1000, Waiting: true, Wait: c},
						{Aborted: 2, Reason: "wounded", Abort: c}} {
						s := detail.Sentence(r)
						at := fmt.Sprintf("%v and %v, %v, interactive %v: %s", mine, theirs, c.Cause, open, s)
						require.True(t, strings.HasSuffix(s, "."), at)
						for _, word := range jargon {
							require.NotContains(t, strings.ToLower(s), strings.ToLower(word), at)
						}
						checkAdvice(t, s, c, at)
						n++
					}
				}
			}
		}
	}
	require.Greater(t, n, 2000)
}

// checkAdvice checks the advice of a sentence against the lock table: what it proposes commutes. An
// interactive update is to be sent as a one-shot; a View, which writes nothing, is never proposed for it.
func checkAdvice(t *testing.T, s string, c *pb.Conflict, at string) {
	t.Helper()
	mine, _ := adt.ParseMethods(c.Operations)
	theirs, _ := adt.ParseMethods(c.HolderOperations)
	first := strings.Count(s, "Replace ") + strings.Count(s, "Send ") + strings.Count(s, "Use ") + strings.Count(s,
		": keep the transactions short")
	if c.Cause == pb.Cause_CAUSE_SNAPSHOT && !strings.Contains(s, "aborted") {
		require.Zero(t, first, "no operation is the cause: %s", at)
		return
	}
	if mine == 0 || theirs == 0 || c.Cause == pb.Cause_CAUSE_SNAPSHOT {
		require.LessOrEqual(t, first, 1, at)
		return
	}
	require.Equal(t, 1, first, "one advice: %s", at)
	require.Equal(t, 2, strings.Count(s+" ", ". "), "the cause, and the advice: %s", at)
	require.NotContains(t, s[strings.Index(s, ". ")+2:], "with a read-only transaction (View)", at)
	if c.Cause == pb.Cause_CAUSE_INTENT {
		require.Contains(t, s, "Use a snapshot read", at)
		return
	}
	if c.Interactive || c.HolderInteractive {
		require.Regexp(t, "as (a one-shot|one-shots)", s, at)
	}
	if c.Cause == pb.Cause_CAUSE_CHANGED && c.Interactive {
		return
	}
	a, ok := adt.Advise(mine, theirs)
	require.Equal(t, ok, strings.Contains(s, "Replace ") || strings.Contains(s, "or replace "), at)
	if !ok {
		return
	}
	m, h := a.Of(mine, theirs)
	require.True(t, adt.Compatible(m.Mode(), h.Mode()), at)
	for _, x := range []adt.Method{a.Mine, a.Theirs} {
		if x != adt.MethodNone {
			require.Contains(t, s, "with "+x.Set().Phrase(adt.ModeNone), at)
		}
	}
	require.Contains(t, s, a.IfMine, at)
	require.Contains(t, s, a.IfTheirs, at)
}

// TestMethodsOfDataTypesAreNamed: a sentence names the methods that ran, not all that need the same lock.
func TestMethodsOfDataTypesAreNamed(t *testing.T) {
	c := &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{"set.add"},
		Lock:             "set.add",
		HolderOperations: []string{"set.len"}, HolderLock: "set.all",
		Advice: &pb.Advice{HolderInstead: "set.contains", Apart: true}}
	require.Equal(t, `Waited 10 ms for key "k": the add on a set conflicts with a len on a set of transaction `+
		`00000000000000070000000000000009. `+
		`Replace the other transaction's len on a set with contains if that is sufficient and concerns another part `+
		`of the set.`, detail.Sentence(&pb.Receipt{WaitedUs: 10_000, Wait: c}))
	c.Advice, c.HolderInteractive = &pb.Advice{Apart: true}, true
	require.Equal(t, "Send that transaction as a one-shot, or use different parts of the set, which commute.",
		detail.Advice(c))
	c.Operations, c.HolderOperations = nil, nil
	require.Contains(t, detail.Sentence(&pb.Receipt{WaitedUs: 10_000, Wait: c}), "len or members on a set",
		"the methods are not known")
	c.Advice, c.HolderInteractive = nil, false
	require.Empty(t, detail.Advice(c))
}

func TestALongKeyIsCut(t *testing.T) {
	c := lock("put", "put")
	c.Key = []byte(strings.Repeat("x", 5000))
	require.Less(t, len(detail.Sentence(&pb.Receipt{WaitedUs: 5, Wait: c})), 500)
}

func TestDurationHasThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                         "0 µs",
		999 * time.Nanosecond:     "0 µs",
		999 * time.Microsecond:    "999 µs",
		time.Millisecond:          "1 ms",
		1574 * time.Microsecond:   "1.57 ms",
		94071 * time.Microsecond:  "94.1 ms",
		2344 * time.Millisecond:   "2344 ms",
		12_345 * time.Millisecond: "12.3 s",
		90 * time.Second:          "90 s",
		250 * time.Second:         "250 s",
	} {
		require.Equal(t, want, detail.Duration(d))
	}
}
