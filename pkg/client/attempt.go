package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/link"
)

// attemptContext is what fn is given.
type attemptContext struct {
	context.Context
	of *link.Link
}

// attemptKey finds the Link of the attempt that a context is part of.
type attemptKey struct{}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c.of
	}
	return c.Context.Value(key)
}

// inAttempt returns an error if ctx is that of a transaction of this client: the call would run
// outside of it.
func (db *DB) inAttempt(ctx context.Context) error {
	of, _ := ctx.Value(attemptKey{}).(*link.Link)
	if of != db.link || of == nil {
		return nil
	}
	e := errorf(KindInvalid, nil, "the call has the context of a transaction, and would run outside of it")
	e.Hint = "call the *Tx or the *View; for a call that is not to be a part of the transaction use the context that " +
		"Update or View was called with"
	return e
}
