package detail_test

import (
	"fmt"
	"strings"
	"testing"

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
		require.Equal(t, strings.ToLower(strings.TrimPrefix(name, "CAUSE_")), strings.ToLower(strings.TrimPrefix(msg.Cause(n).String(), "Cause")))
	}
}

var holder = kv.TxnID{Time: 7, Rand: 9}

func lock(mine, theirs string) *pb.Conflict {
	c := &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{mine}, HolderOperations: []string{theirs}}
	did, _ := adt.MethodsNamed(c.Operations)
	holderDid, _ := adt.MethodsNamed(c.HolderOperations)
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
			`Waited 1500 us for key "k": the put had to wait for ` + x + `, which had locked it for an add. ` +
				`Use an add in the place of the put if all that is done with the key is to count: adds do not conflict with each other.`},
		{"a put behind a put, and others", &pb.Receipt{WaitedUs: 31_999, Wait: with(lock(put, put), func(c *pb.Conflict) { c.Others = 3 })},
			`Waited 31 ms for key "k": the put had to wait for ` + x + `, which had locked it for a put, and for 3 more. ` +
				`Use an add in the place of both if all that is done with the key is to count: adds do not conflict with each other.`},
		{"a read of an update behind a put", &pb.Receipt{WaitedUs: 10_000, Wait: lock(get, put)},
			`Waited 10 ms for key "k": the get had to wait for ` + x + `, which had locked it for a put. ` +
				`Nothing that does the same would have commuted: a get and a put exclude each other, so the shorter the transactions, the shorter the wait.`},
		{"two that read, think, and write", &pb.Receipt{WaitedUs: 10_000, Wait: with(lock(update, update), func(c *pb.Conflict) { c.Interactive, c.HolderInteractive = true, true })},
			`Waited 10 ms for key "k": the get for update had to wait for ` + x + `, which had locked it for a get for update. ` +
				`Send each of them as one request, or use an add in the place of both if all that is done with the key is to count: adds do not conflict with each other.`},
		{"an add behind one that reads, thinks, and writes", &pb.Receipt{WaitedUs: 10_000, Wait: with(lock(add, update), func(c *pb.Conflict) { c.HolderInteractive = true })},
			`Waited 10 ms for key "k": the add had to wait for ` + x + `, which had locked it for a get for update. ` +
				`Send the other one as one request, or use an add in the place of its get for update if all that is done with the key is to count: adds do not conflict with each other.`},
		{"a delete behind one that reads, thinks, and writes", &pb.Receipt{WaitedUs: 10_000, Wait: with(lock("delete", update), func(c *pb.Conflict) { c.HolderInteractive = true })},
			`Waited 10 ms for key "k": the delete had to wait for ` + x + `, which had locked it for a get for update. ` +
				`Send the other one as one request: a delete and a get for update exclude each other.`},
		{"a delete behind a put", &pb.Receipt{WaitedUs: 10_000, Wait: lock("delete", put)},
			`Waited 10 ms for key "k": the delete had to wait for ` + x + `, which had locked it for a put. ` +
				`Nothing that does the same would have commuted: a delete and a put exclude each other, so the shorter the transactions, the shorter the wait.`},
		{"a wait that lasts, in the queue", &pb.Receipt{WaitedUs: 300_000, Waiting: true, Wait: with(lock("delete", put), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_QUEUE })},
			`Was still waiting after 300 ms for key "k": the delete has to wait until ` + x + `, which is older and came first in the queue, was through with a put. ` +
				`Nothing that does the same would have commuted: a delete and a put exclude each other, so the shorter the transactions, the shorter the wait.`},
		{"readers in the way of an update", &pb.Receipt{WaitedUs: 31_999, Wait: with(lock(put, "open-view"), func(c *pb.Conflict) { c.Cause, c.Holder = pb.Cause_CAUSE_READERS, kv.TxnID{} })},
			`Waited 31 ms for key "k": the put had to wait for its readers, which are read-only transactions that are open, or scans and snapshots that begin. ` +
				`Use a read in the past in the place of the other one's read-only transaction if it may see what was the case a moment ago: what is past stays as it is, whoever writes.`},
		{"a snapshot of the history", &pb.Receipt{WaitedUs: 1000, Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_SNAPSHOT, Key: []byte("k"), Operations: []string{put}}},
			`Waited 1000 us for key "k": the put had to wait for a snapshot of the history, or one that a scan or a View reads.`},
		{"less than a millisecond", &pb.Receipt{WaitedUs: 999, Wait: lock(put, put)}, ""},
		{"a bounded counter near its bound", &pb.Receipt{WaitedUs: 10_000, Wait: lock("bounded-counter.subtract", "bounded-counter.try-subtract")}, `Waited 10 ms for key "k": the subtract on a bounded-counter had to wait for ` + x + `, which had locked it for a try-subtract on a bounded-counter. ` +
			`Too little is left before the bound for both, so the order matters.`},
		{"readers that are forgotten", &pb.Receipt{WaitedUs: 2_000_000, Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_RECOVERY, Operations: []string{put}}},
			`Waited 2000 ms: a shard had restarted, and lets nobody write until the read-only transactions that may have been open before have ended.`},
		{"nobody knows", &pb.Receipt{WaitedUs: 400_000, Waiting: true, Wait: &pb.Conflict{}},
			`The time was over after 400 ms; no shard has told what the transaction waited for.`},
		{"who had to give way", &pb.Receipt{Aborted: 1, Reason: "wounded", Abort: with(lock(put, "delete"), func(c *pb.Conflict) { c.Cause = pb.Cause_CAUSE_WOUND })},
			`1 attempt was given up because ` + x + `, which is older and so goes first, needed key "k" for a delete, and this one had it locked for a put. ` +
				`Nothing that does the same would have commuted: a put and a delete exclude each other, so the shorter the transactions, the shorter the wait.`},
		{"who read what has changed", &pb.Receipt{Aborted: 3, Reason: "stale-read", Abort: &pb.Conflict{Cause: pb.Cause_CAUSE_CHANGED, Key: []byte("k"), Operations: []string{get}}},
			`3 attempts were given up, the last one because another transaction changed key "k" after this one had read it.`},
		{"who read it in order to write it", &pb.Receipt{Aborted: 1, Reason: "stale-read", Abort: &pb.Conflict{Cause: pb.Cause_CAUSE_CHANGED, Key: []byte("k"), Operations: []string{get}, Interactive: true}},
			`1 attempt was given up because another transaction changed key "k" after this one had read it. ` +
				`Send it as one request, or use an add if all that is done with the key is to count.`},
		{"a cause of a newer server", &pb.Receipt{WaitedUs: 12_000, Wait: &pb.Conflict{Cause: 99, Key: []byte("k"), Holder: holder}}, `Waited 12 ms for key "k", behind ` + x + `.`},
		{"a lock of which the mode is known alone", &pb.Receipt{WaitedUs: 12_000, Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{put}, HolderLock: "read"}},
			`Waited 12 ms for key "k": the put had to wait for ` + x + `, which had locked it for a read.`},
	} {
		require.Equal(t, test.want, detail.Sentence(test.receipt), test.name)
	}
}

// jargon are words that a newcomer cannot know.
var jargon = []string{"wound", "seal", "epoch", "intent", "last agent", "prepare", "mark", "incarnation", "park", "grant", "tombstone", "mode", "%!", "MISSING", "  ", ".."}

// TestSentencesOfAllPairs: of whatever two kinds of operations meet, in whatever
// way, there is something to say, and one advice in one sentence.
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
					for _, r := range []*pb.Receipt{{WaitedUs: 1000, Wait: c}, {WaitedUs: 1000, Waiting: true, Wait: c}, {Aborted: 2, Reason: "wounded", Abort: c}} {
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

// checkAdvice holds what a sentence claims against the relation between modes: what is to
// be used goes together with what it would meet. Who reads in order to write is told to send
// one request, and never to use a View, which writes nothing.
func checkAdvice(t *testing.T, s string, c *pb.Conflict, at string) {
	t.Helper()
	mine, _ := adt.MethodsNamed(c.Operations)
	theirs, _ := adt.MethodsNamed(c.HolderOperations)
	first := strings.Count(s, "Use ") + strings.Count(s, "Send ") + strings.Count(s, "Nothing that does the same")
	if c.Cause == pb.Cause_CAUSE_SNAPSHOT && !strings.Contains(s, "given up") {
		require.Zero(t, first, "no operation is at fault: %s", at)
		return
	}
	if mine == 0 || theirs == 0 || c.Cause == pb.Cause_CAUSE_SNAPSHOT {
		require.LessOrEqual(t, first, 1, at)
		return
	}
	require.Equal(t, 1, first, "one advice: %s", at)
	require.Equal(t, 2, strings.Count(s+" ", ". "), "what it waited for, and the advice: %s", at)
	require.NotContains(t, s[strings.Index(s, ". ")+2:], "View) in the place", at)
	if c.Interactive || c.HolderInteractive {
		require.Contains(t, s, "as one request", at)
	}
	if c.Cause == pb.Cause_CAUSE_CHANGED && c.Interactive {
		return
	}
	a, ok := adt.Advise(mine, theirs)
	require.Equal(t, ok, strings.Contains(s, "Use a") || strings.Contains(s, "or use a"), at)
	if !ok {
		return
	}
	m, h := a.Of(mine, theirs)
	require.True(t, adt.Compatible(m.Mode(), h.Mode()), at)
	for _, x := range []adt.Method{a.Mine, a.Theirs} {
		if x != adt.MethodNone {
			require.Contains(t, s, x.Set().Phrase(adt.ModeNone)+" in the place of", at)
		}
	}
	require.Contains(t, s, a.IfMine, at)
	require.Contains(t, s, a.IfTheirs, at)
}

// TestMethodsOfDataTypesAreNamed: those that ran, and not all that need the same lock.
func TestMethodsOfDataTypesAreNamed(t *testing.T) {
	c := &pb.Conflict{Cause: pb.Cause_CAUSE_LOCK, Key: []byte("k"), Holder: holder, Operations: []string{"set.add"}, Lock: "set.add",
		HolderOperations: []string{"set.len"}, HolderLock: "set.all", Advice: &pb.Advice{HolderInstead: "set.contains", Apart: true}}
	require.Equal(t, `Waited 10 ms for key "k": the add on a set had to wait for transaction 00000000000000070000000000000009, which had locked it for a len on a set. `+
		`Use contains in the place of the other one's len on a set if that is enough and about another part of the set.`, detail.Sentence(&pb.Receipt{WaitedUs: 10_000, Wait: c}))
	c.Advice, c.HolderInteractive = &pb.Advice{Apart: true}, true
	require.Equal(t, "Send the other one as one request, or let the two be about different parts of the set, which commute.", detail.Advice(c))
	c.Operations, c.HolderOperations = nil, nil
	require.Contains(t, detail.Sentence(&pb.Receipt{WaitedUs: 10_000, Wait: c}), "len or members on a set", "of a node that does not tell")
	c.Advice, c.HolderInteractive = nil, false
	require.Empty(t, detail.Advice(c))
}

func TestALongKeyIsCut(t *testing.T) {
	c := lock("put", "put")
	c.Key = []byte(strings.Repeat("x", 5000))
	require.Less(t, len(detail.Sentence(&pb.Receipt{WaitedUs: 5, Wait: c})), 500)
}
