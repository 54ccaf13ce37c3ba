package commitreq

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// SetNoWait adds the wound to all messages from now on: a participant that has lost the first copy must not wait
// either. They are copied, since earlier ones may be in flight.
func (c *Commit) SetNoWait(e *env.Env) {
	for i, sent := range c.sends {
		again := *sent
		switch b := sent.Body.(type) {
		case *msg.CommitRequest:
			q := *b
			q.NoWait = q.NoWait || !e.Mutants.Has(mutant.CommitRequestWithoutWound)
			again.Body = &q
		case *msg.Prepare:
			q := *b
			q.NoWait = q.NoWait || !e.Mutants.Has(mutant.PrepareWithoutWound)
			again.Body = &q
		}
		c.sends[i] = &again
	}
}

// IsResponse reports whether a response belongs to this commit, and not to an earlier one of the attempt.
func (c *Commit) IsResponse(e *env.Env, a *msg.CommitResponse) bool {
	return a.CommitID == c.id || e.Mutants.Has(mutant.ResponseOfAnyCommit)
}
