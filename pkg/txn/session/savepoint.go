package session

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// savepoint is a position in the buffer to which the transaction can return.
type savepoint struct {
	name string
	// writes and bytes are the length and the size of the buffer at that position.
	writes, bytes int
}

// Savepoint adds a savepoint at the end of the buffer. A name may be used again: the newest one counts until it is
// released (as in PostgreSQL).
//
// It is a position in the buffer only: the shards know nothing of savepoints.
func (s *Session) Savepoint(name string) *msg.Failure {
	switch {
	case name == "" || len(name) > kv.MaxSavepointName:
		return env.Failure(msg.ReasonRequest, kv.KindInvalid, "the name of a savepoint must have 1 to 64 bytes")
	case len(s.savepoints) == kv.MaxSavepoints:
		return env.Failure(msg.ReasonRequest, kv.KindInvalid,
			"the transaction has 1,000 savepoints, which is the limit; release some")
	}
	s.savepoints = append(s.savepoints, savepoint{name, len(s.buffer), s.bytes})
	return nil
}

// RollbackTo drops the writes and savepoints since the newest savepoint of a name. That savepoint stays.
//
//	put a 1; savepoint x; put b 2; get c
//	rollback to x: "put b 2" is dropped. The lock on c and its value stay: the client has seen it, and may rely on it.
func (s *Session) RollbackTo(name string) *msg.Failure {
	i := s.findSavepoint(name)
	if i < 0 {
		return noSavepoint()
	}
	p := s.savepoints[i]
	s.savepoints = s.savepoints[:i+1]
	s.truncate(p.writes)
	s.bytes = p.bytes
	return nil
}

// Release removes the newest savepoint of a name and those after it. The writes stay.
//
// Their number is bounded (kv.MaxSavepoints), so a client that sets them in a loop releases each.
func (s *Session) Release(name string) *msg.Failure {
	i := s.findSavepoint(name)
	if i < 0 {
		return noSavepoint()
	}
	s.savepoints = s.savepoints[:i]
	return nil
}

func noSavepoint() *msg.Failure {
	return env.Failure(msg.ReasonRequest, kv.KindInvalid, "the transaction has no savepoint of that name")
}

// findSavepoint returns the position of the newest savepoint of a name, -1 if there is none.
func (s *Session) findSavepoint(name string) int {
	for i, p := range slices.Backward(s.savepoints) {
		if p.name == name {
			return i
		}
	}
	return -1
}

// truncate drops all buffered writes but the first n.
//
// Reads that belong to dropped operations are dropped with them, or a client that writes and rolls back repeatedly
// would make the session grow.
func (s *Session) truncate(n int) {
	for i, op := range slices.Backward(s.buffer[n:]) {
		if op.IsRange() {
			s.ranged = s.ranged[:len(s.ranged)-1]
			s.dropReads(&op)
			continue
		}
		key := string(op.Key)
		of := s.byKey[key]
		s.byKey[key] = of[:len(of)-1]
		if of[0] == n+i {
			delete(s.byKey, key)
		}
		s.dropReads(&op)
	}
	clear(s.buffer[n:])
	s.buffer = s.buffer[:n]
}
