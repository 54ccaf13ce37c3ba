package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Nothing is what a read of a key returns that has not been written, and what
// Saw returns of a key that was not read.
const (
	Nothing = "nothing"
	Unread  = "unread"
)

// Never is when a transaction that has no answer was answered.
const Never int64 = history.Never

// Chronicle is what the clients of a cluster did and saw, with the instant of
// each event; instants count up.
type Chronicle struct {
	t       testing.TB
	instant int64
	txns    []*Txn
	lines   []string
}

// Txn is one transaction as its client knows it.
type Txn struct {
	Name string
	// Started and Answered are instants; Answered is Never until it is.
	Started, Answered int64
	// Failed says why, if it did not commit.
	Failed string

	saw    map[string]string
	reads  []history.SeenVersion
	writes []history.MadeVersion
}

// newChronicle makes one that is printed at the end of a test that fails.
func newChronicle(t testing.TB) *Chronicle {
	h := &Chronicle{t: t}
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			t.Logf("the schedule:\n%s", strings.Join(h.lines, "\n"))
		}
	})
	return h
}

// tell notes what happens, for people.
func (h *Chronicle) tell(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf("%3d  ", h.instant)+fmt.Sprintf(format, args...))
}

// Now is a new instant, later than all before it.
func (h *Chronicle) Now() int64 {
	h.instant++
	return h.instant
}

func (h *Chronicle) start(name string) *Txn {
	x := &Txn{Name: name, Started: h.Now(), Answered: Never, saw: map[string]string{}}
	h.txns = append(h.txns, x)
	return x
}

func (h *Chronicle) answer(x *Txn) {
	x.Answered = h.Now()
	switch {
	case x.Failed != "":
		h.tell("%s is answered: %s", x.Name, x.Failed)
	case len(x.reads) > 0:
		h.tell("%s is answered: %s", x.Name, x.seen())
	default:
		h.tell("%s is answered", x.Name)
	}
}

// Txn finds a transaction by its name.
func (h *Chronicle) Txn(name string) *Txn {
	i := slices.IndexFunc(h.txns, func(x *Txn) bool { return x.Name == name })
	if i < 0 {
		h.t.Helper()
		h.t.Fatalf("there is no transaction %s", name)
	}
	return h.txns[i]
}

// Saw is what it read of a key: the name of a transaction, Nothing or Unread.
func (x *Txn) Saw(key string) string {
	if v, ok := x.saw[key]; ok {
		return v
	}
	return Unread
}

// seen lists what it read, in order.
func (x *Txn) seen() string {
	var out []string
	for _, r := range x.reads {
		out = append(out, r.Key+"="+x.saw[r.Key])
	}
	return strings.Join(out, " ")
}

func (x *Txn) read(key, value string, version kv.Version) {
	x.saw[key] = value
	x.reads = append(x.reads, history.SeenVersion{Key: key, Version: version})
}

// wrote notes a version as it becomes visible, at its place among those of its
// key.
func (x *Txn) wrote(key string, version kv.Version, order int64) {
	x.writes = append(x.writes, history.MadeVersion{Key: key, Version: version, Order: order})
}

// Judge has the exact judge look for an order of all transactions that
// explains what was seen and does not contradict the answers' order in time.
func (h *Chronicle) Judge() history.Verdict {
	var all history.ExactHistory
	for i, x := range h.txns {
		e := history.ExactTxn{Label: x.Name, Client: i, Start: x.Started, End: x.Answered, Outcome: history.Committed, Reads: x.reads, Writes: x.writes}
		switch {
		case x.Answered == Never:
			e.Outcome = history.Unknown
		case x.Failed != "":
			e.Outcome = history.Failed
		}
		all.Txns = append(all.Txns, e)
	}
	v := history.ExactJudge(all)
	h.tell("the judge: %v", v)
	return v
}
