package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Nothing is the value of a key that has not been written; Unread stands for a key that was not read.
const (
	Nothing = "nothing"
	Unread  = "unread"
)

// Never is the end of a transaction without a response.
const Never int64 = history.Never

// EventLog records what the clients of a cluster did and read, with the instant of each event. Instants count up.
type EventLog struct {
	t       testing.TB
	instant int64
	txns    []*Txn
	events  []string
}

// Txn is one transaction as its client observes it.
type Txn struct {
	Name string
	// Started and Ended are instants; Ended is Never until the response arrives.
	Started, Ended int64
	// Failed is the failure of a transaction that did not commit.
	Failed string

	values map[string]string
	reads  []history.SeenVersion
	writes []history.MadeVersion
}

// newEventLog returns an empty log. It is printed if the test fails.
func newEventLog(t testing.TB) *EventLog {
	h := &EventLog{t: t}
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			t.Logf("the schedule:\n%s", strings.Join(h.events, "\n"))
		}
	})
	return h
}

// logf adds a line to the log.
func (h *EventLog) logf(format string, args ...any) {
	h.events = append(h.events, fmt.Sprintf("%3d  ", h.instant)+fmt.Sprintf(format, args...))
}

// Now returns a new instant, later than all before it.
func (h *EventLog) Now() int64 {
	h.instant++
	return h.instant
}

func (h *EventLog) start(name string) *Txn {
	x := &Txn{Name: name, Started: h.Now(), Ended: Never, values: map[string]string{}}
	h.txns = append(h.txns, x)
	return x
}

func (h *EventLog) finish(x *Txn) {
	x.Ended = h.Now()
	switch {
	case x.Failed != "":
		h.logf("%s ends: %s", x.Name, x.Failed)
	case len(x.reads) > 0:
		h.logf("%s ends: %s", x.Name, x.readsText())
	default:
		h.logf("%s requests its end", x.Name)
	}
}

// Txn finds a transaction by its name.
func (h *EventLog) Txn(name string) *Txn {
	i := slices.IndexFunc(h.txns, func(x *Txn) bool { return x.Name == name })
	if i < 0 {
		h.t.Helper()
		h.t.Fatalf("unknown transaction %s", name)
	}
	return h.txns[i]
}

// ValueOf returns what the transaction read of a key: the name of a transaction, Nothing or Unread.
func (x *Txn) ValueOf(key string) string {
	if v, ok := x.values[key]; ok {
		return v
	}
	return Unread
}

// readsText lists what it read, in order.
func (x *Txn) readsText() string {
	var out []string
	for _, r := range x.reads {
		out = append(out, r.Key+"="+x.values[r.Key])
	}
	return strings.Join(out, " ")
}

func (x *Txn) read(key, value string, version kv.Version) {
	x.values[key] = value
	x.reads = append(x.reads, history.SeenVersion{Key: key, Version: version})
}

// addVersion records a version when it becomes visible, with its position in the key's version order.
func (x *Txn) addVersion(key string, version kv.Version, order int64) {
	x.writes = append(x.writes, history.MadeVersion{Key: key, Version: version, Order: order})
}

// Check searches for an order of all transactions that explains all results and respects real time.
func (h *EventLog) Check() history.Verdict {
	var all history.ExactHistory
	for i, x := range h.txns {
		e := history.ExactTxn{Label: x.Name, Client: i, Start: x.Started, End: x.Ended, Outcome: history.Committed,
			Reads: x.reads, Writes: x.writes}
		switch {
		case x.Ended == Never:
			e.Outcome = history.Unknown
		case x.Failed != "":
			e.Outcome = history.Failed
		}
		all.Txns = append(all.Txns, e)
	}
	v := history.CheckExact(all)
	h.logf("the checker: %v", v)
	return v
}
