package guard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/users"
)

// Caller is an authenticated caller. Without TLS it is nil, and may do everything.
// Its methods may be called by any goroutine.
type Caller struct {
	gate *Gate
	// name is what the certificate says; empty if a token was shown.
	name string
	// hash is that of the token.
	hash [32]byte
	// until is when the certificate expires.
	until time.Time
	// account is what it has of the node's memory on its connection; nil is without
	// bounds, as nodes are.
	account *memory.Account
	// found is what was looked up last.
	found atomic.Pointer[found]
}

// found is what a table says of a caller.
type found struct {
	table *users.Table
	user  *users.User
	// expires is when the token does, in nanoseconds since 1970; 0 is never.
	expires int64
}

// call is what the gate adds to the context of a call.
type call struct {
	caller  *Caller
	account *memory.Account
	end     context.CancelCauseFunc
	// conn is where the call came in, nil over HTTP.
	conn *conn
}

type callKey struct{}

func withCall(ctx context.Context, c *Caller, a *memory.Account, k *conn) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	return context.WithValue(ctx, callKey{}, &call{c, a, end, k})
}

// CallerOf gives who makes a call.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.caller
	}
	return nil
}

// AccountOf gives what the caller has of the node's memory. Without a gate it is nil,
// which has no bounds.
func AccountOf(ctx context.Context) *memory.Account {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.account
	}
	return nil
}

// End ends the context of a call that came by a gate, for a reason.
func End(ctx context.Context, why error) {
	if c, ok := ctx.Value(callKey{}).(*call); ok && c.end != nil {
		c.end(why)
	}
}

// isNode reports whether it is another node.
func (c *Caller) isNode() bool { return c != nil && c.name == users.Node }

// identity is what the connection of the caller counts as.
func (c *Caller) identity() identity {
	if c.isNode() {
		return identity{node: true}
	}
	u, err := c.User()
	if err != nil {
		return identity{}
	}
	return identity{name: u.Name, administrator: u.Has(users.Admin)}
}

// stands reports whether the caller is still authorized; true if the users cannot be
// read.
func (c *Caller) stands() bool {
	if c == nil || c.isNode() {
		return true
	}
	_, err := c.User()
	return err == nil || err.Kind == kv.KindUnavailable
}

// Known reports whether there is TLS, so that callers are known.
func (c *Caller) Known() bool { return c != nil }

// User is the user that the caller is now. Its errors are of KindUnauthenticated,
// or KindUnavailable if the users cannot be read.
func (c *Caller) User() (*users.User, *kv.Error) {
	if c == nil {
		return users.Superuser, nil
	}
	now := c.gate.opt.Now()
	if c.name != "" && !now.Before(c.until) {
		return nil, unauthenticated(fmt.Sprintf("the certificate of %q has expired", c.name),
			"reconnect with a new certificate")
	}
	if c.name == users.Root {
		return users.Superuser, nil
	}
	t, err := c.gate.opt.Directory.Table(now)
	if err != nil {
		return nil, err
	}
	if f := c.found.Load(); f != nil && f.table == t && (f.expires == 0 || now.UnixNano() < f.expires) {
		return f.user, nil
	}
	f := &found{table: t}
	if c.name != "" {
		f.user = t.User(c.name)
	} else {
		f.user, f.expires = t.Bearer(c.hash, now)
	}
	switch {
	case f.user != nil:
		c.found.Store(f)
		return f.user, nil
	case c.name != "":
		return nil, unauthenticated(fmt.Sprintf("user %q does not exist", c.name),
			fmt.Sprintf("an administrator can create it: linchpin user create %s --no-token", c.name))
	}
	return nil, unauthenticated("no user has this token: it was replaced, revoked or has expired",
		"an administrator can create a new one: linchpin user rotate NAME")
}

func unauthenticated(text, hint string) *kv.Error {
	return &kv.Error{Kind: kv.KindUnauthenticated, Op: -1, Text: text, Hint: hint}
}

// Check refuses operations that the caller may not do.
func (c *Caller) Check(ops []msg.Op) *kv.Error {
	if c == nil {
		return nil
	}
	u, err := c.User()
	if err == nil {
		err = u.Check(ops)
	}
	return c.counted(err)
}

// CheckOpen is Check for operations of an interactive transaction. Reads of keys that the
// caller may not write get a flag (users.User.MarkUnlocked).
func (c *Caller) CheckOpen(ops []msg.Op) *kv.Error {
	if c == nil {
		return nil
	}
	u, err := c.User()
	if err == nil {
		err = u.Check(ops)
		u.MarkUnlocked(ops)
	}
	return c.counted(err)
}

// CheckScan refuses to read a span.
func (c *Caller) CheckScan(s kv.Span) *kv.Error {
	if c == nil {
		return nil
	}
	u, err := c.User()
	if err == nil && !u.May(false, s) {
		err = u.Denied(false, s)
	}
	return c.counted(err)
}

// Unchanged refuses to end what the caller began as a user, if its permissions are
// others now. It is of KindAborted: another attempt has the new ones.
func (c *Caller) Unchanged(began *users.User) *kv.Error {
	if c == nil {
		return nil
	}
	u, err := c.User()
	if err == nil && u != began && !u.Same(began) {
		err = &kv.Error{Kind: kv.KindAborted, Op: -1,
			Text: fmt.Sprintf("the permissions of user %q changed while the transaction was open", u.Name),
			Hint: "retry the transaction; it uses the new permissions"}
	}
	return c.counted(err)
}

// counted counts refusals.
func (c *Caller) counted(err *kv.Error) *kv.Error {
	if err != nil {
		c.gate.count(err.Kind)
	}
	return err
}

// May refuses what the caller may not do now, at whatever point of a long call it is
// asked.
func (c *Caller) May(need Need, what string) *kv.Error {
	if c == nil {
		return nil
	}
	u, err := c.User()
	if err != nil {
		return err
	}
	return u.CheckRole(need.role(), what)
}

// Sees reports whether the caller may know who else is at work.
func (c *Caller) Sees() bool {
	if c == nil {
		return true
	}
	u, err := c.User()
	return err == nil && u.Sees()
}

// Name is the user's, for logs; empty if it is not known.
func (c *Caller) Name() string {
	if u, err := c.User(); c != nil && err == nil {
		return u.Name
	}
	return ""
}

// Account is what the caller's use of shards is counted to: the user's, if callers are
// known.
func (c *Caller) Account() kv.Account {
	if c == nil {
		return 0
	}
	return kv.AccountOf(c.Name())
}
