package shard

import (
	"fmt"
	"strings"

	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// String prints what the shard holds and what it waits for, for tests: holders of locks, waiting
// requests, and records, each on a line, in the order of age.
func (m *Machine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v incarnation %d CSN %d\n", m.cfg.ID, m.Inc, m.store.CSN())
	for _, txn := range m.locks.Owners() {
		what := "holds"
		a := m.attempts.Get(txn)
		switch {
		case a.IsPrepared():
			what = fmt.Sprintf("prepared for %v, holds", a.Prepared.Row.Last)
		case a == nil:
			what = "decides, holds"
		}
		fmt.Fprintf(&b, "  %v %s", txn, what)
		for _, g := range m.locks.GrantsOf(txn) {
			fmt.Fprintf(&b, " %v:%v", g.Span, g.Mode)
		}
		b.WriteString("\n")
	}
	m.locks.EachWaiter(func(r *locktable.Request) {
		fmt.Fprintf(&b, "  %v waits for", r.Txn)
		for _, n := range r.Needs {
			fmt.Fprintf(&b, " %v:%v", n.Span, n.Mode)
		}
		b.WriteString("\n")
	})
	for _, rec := range m.records.All() {
		fmt.Fprintf(&b, "  %v record %v", rec.Txn, rec.State)
		if silent := rec.MissingVotes(); len(silent) > 0 {
			fmt.Fprintf(&b, ", no vote from %v", silent)
		}
		if len(rec.Unacknowledged) > 0 {
			fmt.Fprintf(&b, ", no acknowledgement from %v", rec.Unacknowledged)
		}
		b.WriteString("\n")
	}
	for _, txn := range m.readers.Snapshots() {
		fmt.Fprintf(&b, "  %v reads a snapshot\n", txn)
	}
	return b.String()
}
