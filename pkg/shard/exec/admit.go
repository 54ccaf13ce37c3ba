package exec

import (
	"fmt"
	"maps"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Gateways admit transactions by key and by shard (package admission). A shard serves more than one
// gateway, and so has bounds of its own for what is new to it: for the requests that wait for
// locks, in all and for one key (package lock), and for how many hold one key in memory
// (Config.MaxKeyPins).
//
// What is not new is never refused: a transaction that holds locks here or for which other shards
// have voted. Nor is one that only reads, without locks.

// crowds are the keys for which something was refused, with the rate at which their transactions
// end; the empty key is for all of them. An entry goes when nobody holds its key any more.
type crowds map[string]*admission.Pace

// maxCrowds is from how many entries on stale ones are looked for: those whose key was last held by
// a read of the log. Somewhat arbitrary.
const maxCrowds = 64

// mustBeAdmitted: the task is not new, or moves a key, which helps all who wait for that. There are
// few of those.
func (t *Task) mustBeAdmitted() bool {
	return t.Admitted || len(t.Ops) > 0 && (t.Ops[0].Kind == msg.OpMoveOut || t.Ops[0].Kind == msg.OpMoveIn)
}

// crowded refuses a new task with a key that too many transactions hold.
func (x *Executor) crowded(t *Task) *msg.Failure {
	// No key is pinned more often than there are pins.
	if x.Store.Pins() < x.cfg.MaxKeyPins || t.Kind.lockless() || t.mustBeAdmitted() {
		return nil
	}
	for i := range t.Ops {
		if t.Ops[i].IsRange() {
			continue
		}
		it := x.Store.Get(t.Ops[i].Key)
		if it != nil && it.Pins() >= x.cfg.MaxKeyPins {
			x.stats.Crowded++
			return x.tooMany(it.Key, fmt.Sprintf("too many transactions want the key: %d on shard %v", it.Pins(), x.Env.ID))
		}
	}
	return nil
}

// tooMany says that a key, or the shard if it is empty, has too many, and when to try again.
func (x *Executor) tooMany(key []byte, text string) *msg.Failure {
	p := x.crowds[string(key)]
	if p == nil {
		p = x.newCrowd(key)
	}
	retry := p.Retry(x.Env.Now)
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindResourceExhausted), Key: key, Text: text,
		RetryAfterNanos: int64(retry), Hint: fmt.Sprintf("retry in %v", retry.Round(100_000))}
}

func (x *Executor) newCrowd(key []byte) *admission.Pace {
	if x.crowds == nil {
		x.crowds = crowds{}
	}
	if len(x.crowds) >= maxCrowds {
		maps.DeleteFunc(x.crowds, func(key string, _ *admission.Pace) bool {
			it := x.Store.Get([]byte(key))
			return it == nil || it.Pins() == 0
		})
	}
	p := new(admission.Pace)
	p.Begin(x.Env.Now)
	x.crowds[string(key)] = p
	return p
}

// queueFull says that too many requests wait for locks: on the shard, or for one key.
func (x *Executor) queueFull(key []byte) *msg.Failure {
	waiting := x.Locks.Waiting()
	if key == nil {
		return x.tooMany(nil, fmt.Sprintf("too many transactions wait for locks on shard %v: %d", x.Env.ID, waiting))
	}
	return x.tooMany(key, fmt.Sprintf("too many transactions wait for a lock on the key: %d of the %d on shard %v",
		x.Locks.WaitingFor(key), waiting, x.Env.ID))
}

// overdrawn refuses a lock to a user whose locks have held up others for too long.
func (x *Executor) overdrawn(t *Task) *msg.Failure {
	f := msg.Fail(msg.ReasonExhausted, kv.KindResourceExhausted,
		fmt.Sprintf("the locks of this user have blocked other users on shard %v for more than the user's share of the time", x.Env.ID))
	f.RetryAfterNanos = int64(x.Locks.Debt(x.Env.Now, t.User))
	f.Hint = "hold locks for a shorter time, or read in a view"
	return f
}

// Eased counts the end of a task, or of a promise, with the crowds of its items, which have been
// unpinned.
func (x *Executor) Eased(items []*mvcc.Item) {
	if len(x.crowds) == 0 {
		return
	}
	for _, it := range items {
		p := x.crowds[string(it.Key)]
		if p == nil {
			continue
		}
		p.End(x.Env.Now)
		if it.Pins() == 0 {
			delete(x.crowds, string(it.Key))
		}
	}
	p := x.crowds[""]
	if p == nil {
		return
	}
	p.End(x.Env.Now)
	if x.Locks.Waiting() == 0 {
		delete(x.crowds, "")
	}
}

// Space is how much of the disk below a shard's log is free.
type Space int32

const (
	// SpaceEnough is the usual case.
	SpaceEnough Space = iota
	// SpaceLow: less is free than the reserve. Deletions are still written.
	SpaceLow
	// SpaceNone: nothing new is written at all.
	SpaceNone
)

// Where the disk below the log is nearly full a shard refuses what is new and would be written:
// pieces to prepare, and pieces to decide, unless they are of this shard alone and only read. So
// the rest of the disk is for what must end: promises are decided and applied, status queries are
// answered, and old versions go. Lockless reads are served as ever.
//
// Space is made by deletions, and a deletion is a write. So at SpaceLow a piece that writes is let
// in if all that it writes here is deletions of keys. What the transaction does on other shards
// is theirs to judge. A deletion costs some hundred bytes now, and gives the key's space back when
// nobody reads its past any more. At SpaceNone it is refused as well, so that a part of the reserve
// is there for what must end, whatever is deleted.
//
// A piece for which others have voted is refused as well: their votes do not bind this shard, and
// where most transactions span shards there would be no end to such pieces.
type room struct {
	space Space
	// text says for people which disk that is, and what is free on it; it may be empty.
	text string
}

// retryNoRoom is when to try again for want of free space. Somewhat arbitrary: an operator has to
// act, which takes longer than a client should be kept waiting without a word, so that clients
// give up at once (pkg/client).
const retryNoRoom = 10 * time.Second

// SetSpace says how much of the disk is free, and in words which one that is.
func (x *Executor) SetSpace(s Space, text string) { x.room = room{s, text} }

// noRoom refuses a task for which there is no free space.
func (x *Executor) noRoom(t *Task) *msg.Failure {
	switch {
	case x.room.space == SpaceEnough:
		return nil
	case t.Kind == Prepare:
	case t.Kind == Decide && (t.Spans || writes(t.Ops)):
	default:
		return nil
	}
	where := x.room.text
	if where == "" {
		where = fmt.Sprintf("the disk of shard %v has less free space than its reserve", x.Env.ID)
	}
	what, hint := "and all writes are rejected", "free disk space on that node"
	if x.room.space == SpaceLow {
		if onlyDeletes(t.Ops) {
			return nil
		}
		what, hint = "and writes other than deletions are rejected", "delete data, or free disk space on that node"
	}
	x.stats.NoRoom++
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindResourceExhausted), RetryAfterNanos: int64(retryNoRoom),
		Text: fmt.Sprintf("the disk is nearly full: %s, %s", where, what),
		Hint: hint + "; reads continue, and writes resume once there is space"}
}

func writes(ops []msg.Op) bool {
	for i := range ops {
		if ops[i].Writes() {
			return true
		}
	}
	return false
}

// onlyDeletes reports whether ops delete keys, or have them expire, and write nothing else. Methods
// that take something out of a value do not count: they write the value, or its change.
func onlyDeletes(ops []msg.Op) (deletes bool) {
	for i := range ops {
		switch ops[i].Kind {
		case msg.OpDelete, msg.OpDeleteRange, msg.OpDeleteExpired:
			deletes = true
		default:
			if ops[i].Writes() {
				return false
			}
		}
	}
	return deletes
}
