package txn

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// evaluateIfRead executes the call's operations once everything is there.
func (g *Gateway) evaluateIfRead(c *call) {
	s := c.session
	if len(s.asks) > 0 {
		return
	}
	if c.kind == scanning {
		g.locked(c)
		return
	}
	for i := range c.ops {
		if c.ops[i].IsRange() {
			cutRows(s.rows[c.ops[i].Seq])
		}
	}
	before := s.relevant(c.ops)
	n := uint64(0)
	x := mvcc.Exec(sessionView{s, g.clock()}, append(before, c.ops...), func(kv.Version) kv.Version {
		n++
		return mvcc.Provisional(n)
	})
	if x.Failure != nil {
		g.failedCall(c, x.Failure)
		return
	}
	results := x.Results[len(before):]
	for i := range results {
		if a, ok := s.answers[c.ops[i].Seq]; ok && c.ops[i].IsCall() {
			results[i] = a
			delete(s.answers, c.ops[i].Seq)
		}
		results[i].Version = mvcc.Identity(results[i].Version)
	}
	if c.kind == oneShot {
		g.evaluatedOneShot(c, results)
		return
	}
	g.evaluatedDo(c, results)
}

// sessionView is what a session's operations see (mvcc.View).
type sessionView struct {
	s *session
	// clock is for deadlines that the transaction sets itself and asks for; in the
	// end they are those of the shards' clocks.
	clock int64
}

func (v sessionView) Clock() int64 { return v.clock }

func (v sessionView) Value(key []byte) (entry.Value, error) {
	if val, ok := v.s.base[string(key)]; ok {
		return val, nil
	}
	// Not read: only blind writes ask, and their type is checked where the
	// key is.
	return entry.Value{Type: entry.TypeDeleted}, nil
}

func (v sessionView) Pending([]byte) (low, high int64) { return 0, 0 }

// Calls: values of data types are not here, so that calls are only buffered.
func (v sessionView) Calls() *mvcc.Calls { return nil }

// After is what the shard says that the operation number seq finds.
func (v sessionView) After(seq uint32, key []byte) entry.Value {
	return v.s.after[finding{seq, string(key)}]
}

func (v sessionView) Rows(seq uint32) mvcc.RangeRows {
	if r := v.s.rows[seq]; r != nil {
		return *r
	}
	return mvcc.RangeRows{}
}
