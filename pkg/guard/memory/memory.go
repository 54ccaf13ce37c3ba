// Package memory shares out the memory that a node spends on its callers: on calls
// that are open, on requests that are incomplete or in flight, and on
// responses that the client has not read yet. One Budget is a node's; an Account is what one
// user has of it on one connection.
//
// # Shares
//
// A fixed share for each user would have to be small, for there may be many, and
// then one user alone could not use what is free. So the bound moves: what a user
// takes leaves four times of it free (T is the whole, U what all have, u what the user
// has and c what it has on the connection):
//
//	u <= 1/4 (T - U)   so one user has at most T/5
//	c <= 3/16 (T - U)  so one connection of it has at most 3T/19
//
// However many take all they can get one after the other, something is free for who
// comes next: after ten of them a tenth. Besides, each user may have T/1024 at any
// time, which is enough to call and be answered.
//
// # Who waits, who is refused
//
// Take refuses at once; Wait waits for a while first, so that who sends faster than
// it reads is slowed down and not refused. Add is for what is there already, and for
// what takes the place of something that was counted: it is never refused.
//
// Those that wait stand in a queue for each account, and the queues take turns. Who
// gives something back hands it to whose turn it is; no other waiter wakes up. So what one
// user has waiting costs others nothing. In a queue, those that want less may go first,
// until they have had as much as who wants more. Take does not stand in a queue: it is
// for what cannot wait, such as open calls, of which each is small.
package memory

import (
	"container/list"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Kind is what memory is spent on.
type Kind int

const (
	// Streams are open calls, each with what its transport may hold without being
	// asked.
	Streams Kind = iota
	// Requests are messages that are being read, and transactions in flight.
	Requests
	// Answers have not been read by their client.
	Answers
	// Connections are those of users.
	Connections
	numKinds
)

func (k Kind) String() string {
	return [numKinds]string{"streams", "requests", "responses", "connections"}[k]
}

// nouns are for errors.
func (k Kind) nouns() string {
	return [numKinds]string{"open calls", "requests in flight", "unread responses", "connections"}[k]
}

// Budget is a node's. Nil is one without bounds. Its methods may be called by any
// goroutine.
type Budget struct {
	// Process returns how large --memory-budget is of which so many bytes are for callers,
	// 0 if there is none. It is for errors, and may be nil.
	Process func(callers int64) int64

	total int64

	mu      sync.Mutex
	used    int64
	by      [numKinds]int64
	refused [numKinds]uint64
	users   map[string]*share
	// waiting are the accounts with a queue, whose turn it is first.
	waiting list.List
}

// share is what a user or a connection has.
type share struct {
	used int64
	// accounts counts those that are open.
	accounts int
	// estimates are of the user's answers.
	estimates Estimates
}

// New makes a budget of so many bytes.
func New(total int64) *Budget { return &Budget{total: total, users: map[string]*share{}} }

// Conn is a connection, on which several users may call. Nil has no bounds.
type Conn struct {
	budget *Budget
	share  share
	// accounts are by user. closed: all has been given back.
	accounts map[string]*Account
	closed   bool
}

// Account is what a user has on a connection. Nil has no bounds.
type Account struct {
	conn *Conn
	name string
	user *share
	by   [numKinds]int64
	// queue are those that wait; turn is the account's place in Budget.waiting, nil if
	// none waits.
	queue list.List
	turn  *list.Element
}

// waiter waits for n bytes.
type waiter struct {
	kind Kind
	n    int64
	// passed is what others were granted before it although they came later: n at most.
	passed int64
	// granted is closed when they are counted, or cannot be any more: then closed is set.
	granted chan struct{}
	closed  bool
}

// Conn opens a connection.
func (b *Budget) Conn() *Conn {
	if b == nil {
		return nil
	}
	return &Conn{budget: b, accounts: map[string]*Account{}}
}

// Account is a user's on the connection, the same one each time.
func (c *Conn) Account(user string) *Account {
	if c == nil {
		return nil
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a := c.accounts[user]
	if a != nil || c.closed {
		return a
	}
	s := b.users[user]
	if s == nil {
		s = &share{}
		b.users[user] = s
	}
	s.accounts++
	a = &Account{conn: c, name: user, user: s}
	c.accounts[user] = a
	return a
}

// Close gives back what is counted for the connection, but for requests: what is under
// way goes on, and is given back when it ends. What else is given back later does
// nothing.
func (c *Conn) Close() {
	if c == nil {
		return
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	for user, a := range c.accounts {
		for k := range a.by {
			if Kind(k) != Requests {
				b.count(a, Kind(k), -a.by[k])
			}
		}
		for e := a.queue.Front(); e != nil; e = a.queue.Front() {
			w := a.queue.Remove(e).(*waiter)
			w.closed = true
			close(w.granted)
		}
		b.leaves(a)
		b.settle(a, user)
	}
	b.grant()
}

// settle forgets the account of a closed connection if nothing is left on it.
func (b *Budget) settle(a *Account, user string) {
	if a.by[Requests] != 0 {
		return
	}
	delete(a.conn.accounts, user)
	a.user.accounts--
	if a.user.accounts == 0 {
		delete(b.users, user)
	}
}

// count changes what is counted.
func (b *Budget) count(a *Account, k Kind, n int64) {
	a.by[k] += n
	a.user.used += n
	a.conn.share.used += n
	b.by[k] += n
	b.used += n
}

// grant hands out what is free: one to each account that waits in turn, for as long as
// one gets something.
func (b *Budget) grant() {
	for unserved := 0; unserved < b.waiting.Len(); unserved++ {
		e := b.waiting.Front()
		a := e.Value.(*Account)
		b.waiting.MoveToBack(e)
		if b.grantOne(a) {
			b.leaves(a)
			unserved = -1 // all have another turn
		}
	}
}

// grantOne hands an account's first waiter what it waits for, or one of the next if they
// want less, and no more than those before them let pass.
func (b *Budget) grantOne(a *Account) bool {
	most := int64(math.MaxInt64)
	e := a.queue.Front()
	for range maxPassed {
		if e == nil {
			return false
		}
		w := e.Value.(*waiter)
		if w.n <= most && b.fits(a, w.n) {
			for before := e.Prev(); before != nil; before = before.Prev() {
				before.Value.(*waiter).passed += w.n
			}
			a.queue.Remove(e)
			b.count(a, w.kind, w.n)
			close(w.granted)
			return true
		}
		most = min(most, w.n-w.passed)
		e = e.Next()
	}
	return false
}

// maxPassed is how many waiters that want more a smaller one may pass. Somewhat arbitrary.
const maxPassed = 8

// leaves takes an account off those that wait, if none of it waits.
func (b *Budget) leaves(a *Account) {
	if a.turn != nil && a.queue.Len() == 0 {
		b.waiting.Remove(a.turn)
		a.turn = nil
	}
}

// always is what a user may have at any time.
func (b *Budget) always() int64 { return b.total / 1024 }

// fits reports whether an account may have n more.
func (b *Budget) fits(a *Account, n int64) bool {
	user, conn := a.user.used+n, a.conn.share.used+n
	if user <= b.always() {
		return true
	}
	free := b.total - b.used - n
	return user <= free/4 && conn <= free/16*3
}

// Add counts n bytes, whether or not there is room. It is not for requests, nor for less
// than nothing: what is given back may be what others wait for (Give).
func (a *Account) Add(k Kind, n int64) {
	if a == nil {
		return
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if !a.conn.closed {
		b.count(a, k, n)
	}
}

// Give gives back n bytes.
func (a *Account) Give(k Kind, n int64) {
	if a == nil || n == 0 {
		return
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.conn.closed && k != Requests {
		return
	}
	b.count(a, k, -n)
	if a.conn.closed {
		b.settle(a, a.name)
	}
	b.grant()
}

// Take counts n bytes if there is room. The error is of kv.KindResourceExhausted, or of
// kv.KindInvalid if there never will be.
func (a *Account) Take(k Kind, n int64) *kv.Error {
	if a == nil {
		return nil
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case a.conn.closed:
		return closed()
	case n > b.most():
		return b.never(k, n)
	case !b.fits(a, n):
		return b.short(a, k, n)
	}
	b.count(a, k, n)
	return nil
}

func closed() *kv.Error { return kv.Errorf(kv.KindCancelled, "the connection is closed") }

// Wait is Take, and waits for room for up to a time, or until ctx ends, behind those of
// the account that wait already and for no more.
func (a *Account) Wait(ctx context.Context, k Kind, n int64, timeout time.Duration) *kv.Error {
	if a == nil {
		return nil
	}
	b := a.conn.budget
	b.mu.Lock()
	switch {
	case a.conn.closed:
		b.mu.Unlock()
		return closed()
	case n > b.most():
		defer b.mu.Unlock()
		return b.never(k, n)
	case a.queue.Len() == 0 && b.fits(a, n):
		b.count(a, k, n)
		b.mu.Unlock()
		return nil
	}
	w := &waiter{kind: k, n: n, granted: make(chan struct{})}
	place := a.queue.PushBack(w)
	if a.turn == nil {
		a.turn = b.waiting.PushBack(a)
	}
	b.grantOne(a) // it may be one that those before it let pass
	b.leaves(a)
	b.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-w.granted:
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.granted:
		if w.closed {
			return closed()
		}
		return nil
	default:
	}
	a.queue.Remove(place)
	b.leaves(a)
	defer b.grant()   // who stood behind it may want less
	if b.fits(a, n) { // it stood too far behind to be asked, or behind one that lets none pass
		b.count(a, k, n)
		return nil
	}
	return b.short(a, k, n)
}

// most is how much one request may take: what a user may nearly always have at once, and
// so for ever have to be refused of more.
func (b *Budget) most() int64 { return b.total / 8 }

// Most is how many bytes one request may take in all; beyond, it is refused for ever.
func (a *Account) Most() int64 {
	if a == nil {
		return math.MaxInt64
	}
	return a.conn.budget.most()
}

// Never refuses a request that takes n bytes in all if it may not: the error is of
// kv.KindInvalid.
func (a *Account) Never(k Kind, n int64) *kv.Error {
	if n <= a.Most() {
		return nil
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.never(k, n)
}

// never counts a refusal, and says that there is not enough memory, and never will be.
func (b *Budget) never(k Kind, n int64) *kv.Error {
	b.refused[k]++
	err := &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: fmt.Sprintf("the request or its response takes %d bytes of the node's memory; the limit is %d "+
			"(--memory-budget)",
			n, b.most()),
		Hint: "split the request"}
	if b.Process == nil {
		return err
	}
	if whole := b.Process(8 * n); whole > 0 {
		err.Hint = fmt.Sprintf("split the request, or start the node with --memory-budget %dMiB", (whole+1<<20-1)>>20)
	}
	return err
}

// retryAfter is when to come back. Somewhat arbitrary.
const retryAfter = 100 * time.Millisecond

// short counts a refusal, and says that there is no room.
func (b *Budget) short(a *Account, k Kind, n int64) *kv.Error {
	b.refused[k]++
	free := max(b.total-b.used, 0)
	return &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, RetryAfter: retryAfter,
		Text: fmt.Sprintf("no memory is left for another %d bytes of this user's %s: the user holds %d bytes, %d of them "+
			"on this connection; the node's limit is %d, of which %d are free (--memory-budget)",
			n, k.nouns(), a.user.used, a.conn.share.used, b.total, free),
		Hint: "a user may hold a quarter of the free memory, and one connection three quarters of that; read responses as " +
			"they arrive, and send fewer and smaller requests at a time"}
}

// Stats are the budget and its use.
type Stats struct {
	// Total is the whole, in bytes, 0 if there are no bounds.
	Total int64
	// Used and Refused are by Kind: bytes in use, and how often there was no room.
	Used    map[string]int64
	Refused map[string]uint64
}

// Stats returns what is in use.
func (b *Budget) Stats() Stats {
	s := Stats{Used: map[string]int64{}, Refused: map[string]uint64{}}
	if b == nil {
		return s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Total = b.total
	for k := range numKinds {
		s.Used[k.String()], s.Refused[k.String()] = b.by[k], b.refused[k]
	}
	return s
}
