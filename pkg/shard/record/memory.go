package record

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Finished is what a shard knows for good about a transaction id. The results
// are in the log alone: they are rarely asked for, and a memory without
// pointers costs the garbage collector nothing.
type Finished struct {
	// Committed is the attempt that this shard decided to commit, 0 if none.
	Committed uint32
	// Applied is the attempt whose commit it applied as a participant.
	Applied uint32
	// Fingerprint is that of the operations, 0 if it is not known.
	Fingerprint uint64
}

// Memory remembers what is finished, so that a late or repeated message finds
// out. Its parts are bounded.
//
// Of commits the oldest id falls out first and raises a floor on id times: above
// the floor the memory is complete, below it a commit must be looked up in the log.
// What it knows of aborts is in Aborts, and of closed ids in fences.
type Memory struct {
	limit    int
	finished map[kv.TxnID]Finished
	idQueue    timeQueue[kv.TxnID]
	// finishedFloor: commits of ids with a lower time may be forgotten.
	lowWatermark int64
	// earlier are times of ids that may have committed before there was this memory,
	// besides those below the floor.
	uncertain []timeSpan

	aborts  aborts
	fences  fences
	mutants mutant.Set
}

// times are all from one to another.
type timeSpan struct{ from, to int64 }

// NewMemory makes a memory of at most limit commits and as many aborts.
func NewMemory(limit int, m mutant.Set) *Memory {
	x := &Memory{
		limit: limit, finished: map[kv.TxnID]Finished{}, mutants: m,
		idQueue: timeQueue[kv.TxnID]{time: func(id kv.TxnID) int64 { return id.Time }},
	}
	x.aborts.init(limit)
	x.fences.init()
	return x
}

// Finish notes a commit or an applied commit; f replaces what was known.
func (m *Memory) Finish(id kv.TxnID, f Finished) {
	before := len(m.finished)
	m.finished[id] = f
	if len(m.finished) == before {
		return // it was known
	}
	m.idQueue.push(id)
	if m.idQueue.len() > m.limit {
		old := m.idQueue.pop()
		delete(m.finished, old)
		m.lowWatermark = max(m.lowWatermark, old.Time+1)
	}
}

// Forget says that commits of ids up to a time may have been made before there was this
// memory.
func (m *Memory) ForgetUpTo(upTo int64) { m.lowWatermark = max(m.lowWatermark, upTo+1) }

// ForgetBetween says the same of ids with a time from one to another.
func (m *Memory) ForgetBetween(from, to int64) { m.uncertain = append(m.uncertain, timeSpan{from, to}) }

// Finished finds what is known about an id, zero if nothing is in memory.
func (m *Memory) Finished(id kv.TxnID) Finished { return m.finished[id] }

// Complete reports whether memory would know a commit of this id, had there
// been one.
func (m *Memory) IsComplete(id kv.TxnID) bool {
	if m.mutants.Has(mutant.MemoryFloorIgnored) {
		return true
	}
	for _, t := range m.uncertain {
		if t.from <= id.Time && id.Time <= t.to {
			return false
		}
	}
	return id.Time >= m.lowWatermark
}

// Kill notes that a commit of a user's can never be made here. If it is Dead already, that stays
// why.
func (m *Memory) Abort(user kv.Account, commit kv.CommitID, f *msg.Failure) {
	if !m.mutants.Has(mutant.DeadForgotten) {
		m.aborts.add(user, commit, f)
	}
}

// Dead tells whether a commit is remembered as one that can never be made here, and
// why it cannot.
func (m *Memory) FindAbort(commit kv.CommitID) (*msg.Failure, bool) {
	f, ok := m.aborts.failures[commit]
	return f, ok
}

// Aborts is how many commits have been killed.
func (m *Memory) AbortCount() uint64 { return m.aborts.lastNumber }

// Presumed reports whether the abort of a commit of a user's that is not Dead may have
// been forgotten, if it was sent when the gateway had heard of so many aborts.
func (m *Memory) IsPresumedAborted(user kv.Account, heard uint64) bool {
	return heard < m.aborts.lowWatermark(user) && !m.mutants.Has(mutant.MemoryFloorIgnored)
}

// Fence closes an id for good, which a user has asked about. It reports false, and does
// nothing, if the user has closed so many that there is no room for one more.
func (m *Memory) Fence(user kv.Account, id kv.TxnID) bool {
	return m.fences.add(user, id, kv.MaxFences)
}

// RecoverFence is Fence for one that the log holds.
func (m *Memory) RecoverFence(user kv.Account, id kv.TxnID) { m.fences.add(user, id, 0) }

// Fenced reports whether an id is closed.
func (m *Memory) IsFenced(id kv.TxnID) bool {
	_, ok := m.fences.users[id]
	return ok
}

// DropFences forgets the fences of ids with a time below floor.
func (m *Memory) DropFences(floor int64) { m.fences.dropBelow(floor) }

// Len is the number of commits, aborts and fences remembered.
func (m *Memory) Len() (finished, dead, fences int) {
	return len(m.finished), len(m.aborts.failures), len(m.fences.users)
}
