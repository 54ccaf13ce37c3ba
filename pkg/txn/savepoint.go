package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// savepoint is a place in an interactive transaction's writes that it can return
// to. The writes are here, at the gateway, so that shards hear nothing of it.
type savepoint struct {
	name string
	// writes and bytes are those of the buffer at that time.
	writes, bytes int
}

// Savepoint marks a place in an open transaction that RollbackTo returns to. A
// name may be given again: then the newest counts, and the older one is found
// again when that is released (as in PostgreSQL). It is answered at once. A
// transaction has up to kv.MaxSavepoints; a name has 1 to kv.MaxSavepointName
// bytes.
func (g *Gateway) Savepoint(now int64, token Token, ref kv.TxnRef, name string) {
	g.savepoint(now, token, ref, func(s *session) *msg.Failure {
		switch {
		case name == "" || len(name) > kv.MaxSavepointName:
			return failure(msg.ReasonRequest, kv.KindInvalid, "the name of a savepoint has 1 to 64 bytes")
		case len(s.savepoints) == kv.MaxSavepoints:
			return failure(msg.ReasonRequest, kv.KindInvalid, "the transaction has 1,000 savepoints already; release some")
		}
		s.savepoints = append(s.savepoints, savepoint{name, len(s.buffer), s.bytes})
		return nil
	})
}

// RollbackTo forgets what an open transaction has written since its newest
// savepoint of a name, and the savepoints since; that one stays. What was read
// since stays locked, and counts when the transaction is validated: something may
// have been concluded from it.
func (g *Gateway) RollbackTo(now int64, token Token, ref kv.TxnRef, name string) {
	g.atSavepoint(now, token, ref, name, func(s *session, i int) {
		p := s.savepoints[i]
		s.savepoints = s.savepoints[:i+1]
		s.cut(p.writes)
		s.bytes = p.bytes
	})
}

// Release forgets an open transaction's newest savepoint of a name, and those
// since. What was written stays.
func (g *Gateway) Release(now int64, token Token, ref kv.TxnRef, name string) {
	g.atSavepoint(now, token, ref, name, func(s *session, i int) { s.savepoints = s.savepoints[:i] })
}

// atSavepoint makes a change that is about the newest savepoint of a name.
func (g *Gateway) atSavepoint(now int64, token Token, ref kv.TxnRef, name string, change func(s *session, at int)) {
	g.savepoint(now, token, ref, func(s *session) *msg.Failure {
		i := s.named(name)
		if i < 0 {
			return failure(msg.ReasonRequest, kv.KindInvalid, "the transaction has no savepoint of that name")
		}
		change(s, i)
		return nil
	})
}

// savepoint makes a change to an open transaction's savepoints and answers.
func (g *Gateway) savepoint(now int64, token Token, ref kv.TxnRef, change func(*session) *msg.Failure) {
	g.now = max(g.now, now)
	if c := g.open(token, ref); c != nil {
		f := change(c.session)
		g.idle(c)
		g.done(c, Done{Failure: f})
	}
}

// named finds the newest savepoint of a name, -1 if there is none.
func (s *session) named(name string) int {
	for i, p := range slices.Backward(s.savepoints) {
		if p.name == name {
			return i
		}
	}
	return -1
}

// cut forgets all buffered writes but the first n.
func (s *session) cut(n int) {
	for i, op := range slices.Backward(s.buffer[n:]) {
		if op.IsRange() {
			s.ranged = s.ranged[:len(s.ranged)-1]
			s.forget(&op)
			continue
		}
		key := string(op.Key)
		of := s.byKey[key]
		if s.byKey[key] = of[:len(of)-1]; of[0] == n+i {
			delete(s.byKey, key)
		}
		s.forget(&op)
	}
	clear(s.buffer[n:])
	s.buffer = s.buffer[:n]
}
