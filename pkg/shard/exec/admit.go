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

// Gateways admit transactions by key and by shard (package admission). A shard serves several gateways, so it
// bounds new work itself: the requests that wait for locks, in total and per key (package locktable), and the
// transactions that reference one key in memory (Config.MaxKeyReferences).
//
// Work in progress is never rejected: a transaction that holds locks here, or for which other shards have
// voted. Nor is a lockless read.

// Limits are the bounds for new pieces: of references to a key, and of disk space. They also compute the
// retry times of rejections, those by the lock table included.
type Limits struct {
	Parts
	maxKeyReferences int
	stats            *Stats
	diskSpace        diskSpace
	// rates are the completion rates of keys for which tasks were rejected.
	rates admissionRates
}

// admissionRates are the completion rates of the keys for which a task was rejected; the empty key stands for
// the whole shard. They yield the retry time of a rejection. An entry is removed when its key has no
// references.
//
// Example: 400 transactions wait for key k, and 100 of them end per second. The retry time of a rejected one
// follows from this rate and from the rejections before it, so that clients
// do not retry all at once.
type admissionRates map[string]*admission.ServiceRate

// maxAdmissionRates is the number of entries from which stale ones are removed: an entry is stale if the last
// reference to its key was that of a read from the log. The value is somewhat arbitrary.
const maxAdmissionRates = 64

// isExempt reports whether the bounds do not apply to a task: it is work in progress, or it moves a key.
// Moves are few, and all transactions that wait for the key wait for its move.
func (t *Task) isExempt() bool {
	return t.Admitted || len(t.Ops) > 0 && (t.Ops[0].Kind == msg.OpMoveOut || t.Ops[0].Kind == msg.OpMoveIn)
}

// checkKeyReferences rejects a new task with a key that too many transactions reference.
func (l *Limits) checkKeyReferences(t *Task) *msg.Failure {
	// A key does not have more references than the store has in total.
	if l.Store.ReferenceCount() < l.maxKeyReferences || t.Kind.isLockless() || t.isExempt() {
		return nil
	}
	for i := range t.Ops {
		// A range references no keys before it is read.
		if t.Ops[i].IsRange() {
			continue
		}
		it := l.Store.Get(t.Ops[i].Key)
		if it != nil && it.References() >= l.maxKeyReferences {
			l.stats.KeyRejections++
			return l.exhausted(it.Key, fmt.Sprintf("too many transactions want the key: %d on shard %v", it.References(),
				l.Env.ID))
		}
	}
	return nil
}

// exhausted returns the failure for a key, or for the shard if the key is empty, with a retry time.
func (l *Limits) exhausted(key []byte, text string) *msg.Failure {
	p := l.rates[string(key)]
	if p == nil {
		p = l.newRate(key)
	}
	retry := p.Retry(l.Env.Now)
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindResourceExhausted), Key: key, Text: text,
		RetryAfterNanos: int64(retry), Hint: fmt.Sprintf("retry in %v", retry.Round(100_000))}
}

// newRate starts to measure the completion rate of a key.
func (l *Limits) newRate(key []byte) *admission.ServiceRate {
	if l.rates == nil {
		l.rates = admissionRates{}
	}
	if len(l.rates) >= maxAdmissionRates {
		maps.DeleteFunc(l.rates, func(key string, _ *admission.ServiceRate) bool {
			it := l.Store.Get([]byte(key))
			return it == nil || it.References() == 0
		})
	}
	p := new(admission.ServiceRate)
	p.Begin(l.Env.Now)
	l.rates[string(key)] = p
	return p
}

// queueFullFailure returns the failure for a full lock queue: of the shard if key is nil, else of the key.
func (l *Limits) queueFullFailure(key []byte) *msg.Failure {
	waiting := l.Locks.WaiterCount()
	if key == nil {
		return l.exhausted(nil, fmt.Sprintf("too many transactions wait for locks on shard %v: %d", l.Env.ID, waiting))
	}
	return l.exhausted(key, fmt.Sprintf("too many transactions wait for a lock on the key: %d of the %d on shard %v",
		l.Locks.KeyWaiterCount(key), waiting, l.Env.ID))
}

// shareFailure returns the failure for a user whose share of blocking time is used up.
func (l *Limits) shareFailure(t *Task) *msg.Failure {
	f := msg.Fail(msg.ReasonExhausted, kv.KindResourceExhausted,
		fmt.Sprintf("the locks of this user have blocked other users on shard %v for more than the user's share of the time",
			l.Env.ID))
	f.RetryAfterNanos = int64(l.Locks.Debt(l.Env.Now, t.User))
	f.Hint = "hold locks for a shorter time, or read in a view"
	return f
}

// RecordEnd counts the end of a task or of a prepared piece in the completion rates of its keys, which the
// caller has dereferenced.
//
// Only keys with a rejection are measured: most shards have none, and then this costs one comparison.
func (l *Limits) RecordEnd(items []*mvcc.Item) {
	if len(l.rates) == 0 {
		return
	}
	for _, it := range items {
		p := l.rates[string(it.Key)]
		if p == nil {
			continue
		}
		p.End(l.Env.Now)
		if it.References() == 0 {
			delete(l.rates, string(it.Key))
		}
	}
	p := l.rates[""]
	if p == nil {
		return
	}
	p.End(l.Env.Now)
	// The rate of the shard is needed as long as requests wait for locks at all.
	if l.Locks.WaiterCount() == 0 {
		delete(l.rates, "")
	}
}

// Space is the state of the disk below the log of a shard.
type Space int32

const (
	// SpaceEnough: more than the reserve is free.
	SpaceEnough Space = iota
	// SpaceLow: less than the reserve is free. Deletions are still written.
	SpaceLow
	// SpaceNone: no new write is accepted.
	SpaceNone
)

// diskSpace is the state of the disk, and what it means for new pieces.
//
// When the disk is nearly full, a shard rejects new pieces that would be written: pieces to prepare, and
// pieces to decide unless they only read and concern this shard alone. The rest of the disk is reserved for
// work that must end: prepared pieces are decided and applied, outcome queries are answered, and old versions
// are collected. Lockless reads are served as before.
//
// Space is freed by deletions, and a deletion is a write. So at SpaceLow a piece is accepted if its only
// writes here are deletions of keys; the other shards of the transaction decide about theirs. A deletion
// costs some hundred bytes now and frees the space of the key when no snapshot retains it. At SpaceNone it is
// rejected as well, so that a part of the reserve remains for work that must end, whatever is deleted.
//
// A piece for which other shards have voted is rejected, too: their votes do not bind this shard, and if most
// transactions span shards, the number of such pieces has no bound.
//
//	                      SpaceEnough   SpaceLow   SpaceNone
//	reads                 accepted      accepted   accepted
//	deletions             accepted      accepted   rejected
//	other writes          accepted      rejected   rejected
//	decisions of prepared pieces, outcome queries, garbage collection: always
type diskSpace struct {
	space Space
	// text describes the disk and its free space in an error; it may be empty.
	text string
}

// noSpaceRetry is the retry time of a rejection for lack of disk space. An operator has to act, which takes
// longer than a client waits, so clients fail immediately (pkg/client). The value is somewhat arbitrary.
const noSpaceRetry = 10 * time.Second

// SetSpace sets the state of the disk and its description.
func (l *Limits) SetSpace(s Space, text string) { l.diskSpace = diskSpace{s, text} }

// checkDiskSpace rejects a task for which the disk has no space.
func (l *Limits) checkDiskSpace(t *Task) *msg.Failure {
	switch {
	case l.diskSpace.space == SpaceEnough:
		return nil
	case t.Kind == Prepare:
	// A decision with other shards writes a record even if it changes nothing here.
	case t.Kind == Decide && (t.Spans || hasWrites(t.Ops)):
	default:
		return nil
	}
	where := l.diskSpace.text
	if where == "" {
		where = fmt.Sprintf("the disk of shard %v has less free space than its reserve", l.Env.ID)
	}
	what, hint := "and all writes are rejected", "free disk space on that node"
	if l.diskSpace.space == SpaceLow {
		if hasOnlyDeletes(t.Ops) {
			return nil
		}
		what, hint = "and writes other than deletions are rejected", "delete data, or free disk space on that node"
	}
	l.stats.NoSpaceRejections++
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindResourceExhausted),
		RetryAfterNanos: int64(noSpaceRetry),
		Text:            fmt.Sprintf("the disk is nearly full: %s, %s", where, what),
		Hint:            hint + "; reads continue, and writes resume once there is space"}
}

// hasWrites reports whether one of ops writes.
func hasWrites(ops []msg.Op) bool {
	for i := range ops {
		if ops[i].Writes() {
			return true
		}
	}
	return false
}

// hasOnlyDeletes reports whether ops delete keys or expire them, and write nothing else. A method that
// removes a part of a value does not count: it writes the value or its change.
func hasOnlyDeletes(ops []msg.Op) (deletes bool) {
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
