package session

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// savepoint is a place in the buffer that the transaction can return to.
type savepoint struct {
	name string
	// writes and bytes are those of the buffer at that time.
	writes, bytes int
}

// Savepoint marks the place that RollbackTo returns to. A name may be given again: then the
// newest counts, and the older one is found again when that is released (as in PostgreSQL).
func (s *Session) Savepoint(name string) *msg.Failure {
	switch {
	case name == "" || len(name) > kv.MaxSavepointName:
		return env.Failure(msg.ReasonRequest, kv.KindInvalid, "the name of a savepoint must have 1 to 64 bytes")
	case len(s.savepoints) == kv.MaxSavepoints:
		return env.Failure(msg.ReasonRequest, kv.KindInvalid, "the transaction has 1,000 savepoints, which is the limit; release some")
	}
	s.savepoints = append(s.savepoints, savepoint{name, len(s.buffer), s.bytes})
	return nil
}

// RollbackTo forgets the writes since the newest savepoint of a name, and the savepoints
// since; that one stays.
func (s *Session) RollbackTo(name string) *msg.Failure {
	i := s.named(name)
	if i < 0 {
		return unnamed()
	}
	p := s.savepoints[i]
	s.savepoints = s.savepoints[:i+1]
	s.cut(p.writes)
	s.bytes = p.bytes
	return nil
}

// Release forgets the newest savepoint of a name, and those since. The writes stay.
func (s *Session) Release(name string) *msg.Failure {
	i := s.named(name)
	if i < 0 {
		return unnamed()
	}
	s.savepoints = s.savepoints[:i]
	return nil
}

func unnamed() *msg.Failure {
	return env.Failure(msg.ReasonRequest, kv.KindInvalid, "the transaction has no savepoint of that name")
}

// named finds the newest savepoint of a name, -1 if there is none.
func (s *Session) named(name string) int {
	for i, p := range slices.Backward(s.savepoints) {
		if p.name == name {
			return i
		}
	}
	return -1
}

// cut forgets all buffered writes but the first n.
func (s *Session) cut(n int) {
	for i, op := range slices.Backward(s.buffer[n:]) {
		if op.IsRange() {
			s.ranged = s.ranged[:len(s.ranged)-1]
			s.forget(&op)
			continue
		}
		key := string(op.Key)
		of := s.byKey[key]
		s.byKey[key] = of[:len(of)-1]
		if of[0] == n+i {
			delete(s.byKey, key)
		}
		s.forget(&op)
	}
	clear(s.buffer[n:])
	s.buffer = s.buffer[:n]
}
