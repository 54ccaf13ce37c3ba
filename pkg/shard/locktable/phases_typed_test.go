package locktable

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// ofSet is a request for a call of a set, by a transaction whose age is its number:
// 1 is the oldest.
func ofSet(txn int64, attempt uint32, method string, members ...string) *Request {
	var args adt.Args
	for _, m := range members {
		args = append(args, adt.Bytes([]byte(m)))
	}
	op := adt.Lookup(adt.Set).MethodByName(method).Op([]byte("k"), args...)
	r := &Request{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: txn}, Attempt: attempt}}
	for _, m := range adt.Modes(nil, &op) {
		r.Needs = append(r.Needs, Need{Span: kv.Point([]byte("k")), Mode: m})
	}
	return r
}

func marked(t *Table, txn int64, attempt uint32) bool {
	ms := t.Marks()
	return slices.ContainsFunc(ms, func(m Mark) bool { return m.Holder.Time == txn && m.Holder.Attempt == attempt })
}

// phases are rules of phases, each with what ends well because of it.
var phases = []struct {
	name   string
	play   func(*Table) bool
	broken []mutant.ID
}{
	// 2 adds, 3 waits to count, and 4, who adds too, passes it: 4 is told.
	{"who passes an older count is marked", func(t *Table) bool {
		t.Acquire(0, ofSet(2, 1, "add", "a"))
		t.Acquire(0, ofSet(3, 1, "len"))
		passes := t.Acquire(0, ofSet(4, 1, "add", "b")) == Granted
		return passes && marked(t, 4, 1)
	}, []mutant.ID{mutant.NoMarkOnGrant, mutant.MarksOnce}},

	// The phase of adds has had all its members, for 3 waits to count. 1 adds too,
	// and is older than 3.
	{"a full phase takes an add that is older than the count", func(t *Table) bool {
		for i := range int64(3) {
			t.Acquire(0, ofSet(4+i, 1, "add", "a"))
		}
		t.Acquire(0, ofSet(3, 1, "len"))
		late := t.Acquire(0, ofSet(7, 1, "add", "b")) == Waiting
		return late && t.Acquire(0, ofSet(1, 1, "add", "b")) == Granted
	}, []mutant.ID{mutant.CapStopsOlder}},

	// The first attempt of 2 has added, and nobody told it that it is over. The
	// second wants to count.
	{"an attempt has the one before give way", func(t *Table) bool {
		t.Acquire(0, ofSet(2, 1, "add", "a"))
		t.Acquire(0, ofSet(2, 2, "len"))
		return marked(t, 2, 1)
	}, []mutant.ID{mutant.AttemptsEqualAge}},

	// 2 wants to count, and 3, who has added, is prepared.
	{"a prepared add is marked, too", func(t *Table) bool {
		add := ofSet(3, 1, "add", "a")
		t.Acquire(0, add)
		t.SetPrepared(0, add.Txn)
		t.Acquire(0, ofSet(2, 1, "len"))
		t.Tick(int64(kv.DefaultMarkGrace) + 1)
		return marked(t, 3, 1)
	}, []mutant.ID{mutant.PreparedIsSafe}},

	// Whoever adds comes a moment before the last one leaves, and 2 counts.
	{"a phase of adds ends after a while", func(t *Table) bool {
		now, last := int64(0), ofSet(3, 1, "add", "a")
		t.Acquire(now, last)
		count := ofSet(2, 1, "len")
		t.Acquire(now, count)
		for i := range int64(50) {
			now += int64(kv.DefaultPhaseTime) / 10
			next := ofSet(4+i, 1, "add", "a")
			t.Acquire(now, next)
			t.Release(last.Txn)
			for r := t.Next(now); r != nil; r = t.Next(now) {
				if r == count {
					return true
				}
			}
			last = next
		}
		return false
	}, []mutant.ID{mutant.NoPhaseCap}},
}

func TestPhasesOfCalls(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			require.True(t, p.play(New(Options{MaxPhaseCount: 3})))
		})
	}
}
