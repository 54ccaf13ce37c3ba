package locktable

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// setRequest is a request for a call of a set, by a transaction whose begin time is its number:
// 1 is the oldest.
func setRequest(txn int64, attempt uint32, method string, members ...string) *Request {
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

func takesWoundOf(t *Table, txn int64, attempt uint32) bool {
	ms := t.TakeWounds()
	return slices.ContainsFunc(ms, func(m Wound) bool { return m.Holder.Time == txn && m.Holder.Attempt == attempt })
}

// phaseRules are rules of phases and wounds, each with a schedule that fails without it.
var phaseRules = []struct {
	name   string
	play   func(*Table) bool
	broken []mutant.ID
}{
	// 2 adds, 3 waits to count, and 4 joins the phase of adds ahead of 3.
	{"a grant ahead of an older count is wounded", func(t *Table) bool {
		t.Acquire(0, setRequest(2, 1, "add", "a"))
		t.Acquire(0, setRequest(3, 1, "len"))
		joins := t.Acquire(0, setRequest(4, 1, "add", "b")) == Granted
		return joins && takesWoundOf(t, 4, 1)
	}, []mutant.ID{mutant.NoWoundOnGrant, mutant.WoundsOnce}},

	// The phase of adds is full, since 3 waits to count. 1 adds too, and is older than 3.
	{"a full phase admits an add that is older than the count", func(t *Table) bool {
		for i := range int64(3) {
			t.Acquire(0, setRequest(4+i, 1, "add", "a"))
		}
		t.Acquire(0, setRequest(3, 1, "len"))
		late := t.Acquire(0, setRequest(7, 1, "add", "b")) == Waiting
		return late && t.Acquire(0, setRequest(1, 1, "add", "b")) == Granted
	}, []mutant.ID{mutant.CapStopsOlder}},

	// The first attempt of 2 has added, and its release was lost. The second attempt counts.
	{"an attempt wounds the one before", func(t *Table) bool {
		t.Acquire(0, setRequest(2, 1, "add", "a"))
		t.Acquire(0, setRequest(2, 2, "len"))
		return takesWoundOf(t, 2, 1)
	}, []mutant.ID{mutant.AttemptsEqualAge}},

	// 2 counts, and 3, which is younger, has added and prepared.
	{"a prepared add is wounded", func(t *Table) bool {
		add := setRequest(3, 1, "add", "a")
		t.Acquire(0, add)
		t.SetPrepared(0, add.Txn)
		t.Acquire(0, setRequest(2, 1, "len"))
		t.Tick(int64(kv.DefaultWoundDelay) + 1)
		return takesWoundOf(t, 3, 1)
	}, []mutant.ID{mutant.PreparedIsSafe}},

	// Each add arrives shortly before the previous one is released, and 2 waits to count.
	{"a phase of adds ends after a while", func(t *Table) bool {
		now, last := int64(0), setRequest(3, 1, "add", "a")
		t.Acquire(now, last)
		count := setRequest(2, 1, "len")
		t.Acquire(now, count)
		for i := range int64(50) {
			now += int64(kv.DefaultPhaseTime) / 10
			next := setRequest(4+i, 1, "add", "a")
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

func TestPhaseRules(t *testing.T) {
	for _, p := range phaseRules {
		t.Run(p.name, func(t *testing.T) {
			require.True(t, p.play(New(Options{MaxPhaseCount: 3})))
		})
	}
}
