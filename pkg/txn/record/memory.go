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
}

// Dead is an attempt that can never commit here: aborted, refused, or cut off
// by a question. It is the tombstone.
type Dead struct {
	Failure *msg.Failure
}

// maxKeptValue bounds what is kept with an abort of the value for which a condition
// failed. Somewhat arbitrary: of the size of the rest of a Dead, while a value may be a
// mebibyte.
const maxKeptValue = 256

// kept is as much of a failure as is remembered: who has to be answered once more is not
// told of a large value.
func kept(f *msg.Failure) *msg.Failure {
	if f == nil || f.Current == nil || len(f.Current.Value) <= maxKeptValue {
		return f
	}
	short := *f
	short.Current = nil
	return &short
}

// Memory remembers what is finished, so that a late or repeated message finds
// out. Both of its parts are bounded; the oldest id falls out first and raises
// a floor on id times: above the floor the memory is complete, below it a
// commit must be looked up in the log, and an abort is presumed.
type Memory struct {
	limit    int
	finished map[kv.TxnID]Finished
	order    eldest[kv.TxnID]
	// finishedFloor: commits of ids with a lower time may be forgotten.
	finishedFloor int64

	dead      map[kv.TxnRef]Dead
	deadOrder eldest[kv.TxnRef]
	deadFloor int64

	// fences are in the log too, and kept until the floor of the shard
	// passes them.
	fences  map[kv.TxnID]struct{}
	mutants mutant.Set
}

// NewMemory makes a memory of at most limit commits and as many aborts.
func NewMemory(limit int, m mutant.Set) *Memory {
	return &Memory{
		limit: limit, finished: map[kv.TxnID]Finished{}, dead: map[kv.TxnRef]Dead{}, fences: map[kv.TxnID]struct{}{}, mutants: m,
		order:     eldest[kv.TxnID]{time: func(id kv.TxnID) int64 { return id.Time }},
		deadOrder: eldest[kv.TxnRef]{time: func(r kv.TxnRef) int64 { return r.Time }},
	}
}

// Finish notes a commit or an applied commit; f replaces what was known.
func (m *Memory) Finish(id kv.TxnID, f Finished) {
	before := len(m.finished)
	m.finished[id] = f
	if len(m.finished) == before {
		return // it was known
	}
	m.order.push(id)
	if m.order.len() > m.limit {
		old := m.order.pop()
		delete(m.finished, old)
		m.finishedFloor = max(m.finishedFloor, old.Time+1)
	}
}

// Finished finds what is known about an id, zero if nothing is in memory.
func (m *Memory) Finished(id kv.TxnID) Finished { return m.finished[id] }

// Complete reports whether memory would know a commit of this id, had there
// been one in this incarnation.
func (m *Memory) Complete(id kv.TxnID) bool {
	return id.Time >= m.finishedFloor || m.mutants.Has(mutant.MemoryFloorIgnored)
}

// Kill notes that an attempt can never commit here.
func (m *Memory) Kill(txn kv.TxnRef, f *msg.Failure) {
	if m.mutants.Has(mutant.DeadForgotten) {
		return
	}
	if _, ok := m.dead[txn]; ok {
		return
	}
	m.dead[txn] = Dead{Failure: kept(f)}
	m.deadOrder.push(txn)
	if m.deadOrder.len() > m.limit {
		old := m.deadOrder.pop()
		delete(m.dead, old)
		m.deadFloor = max(m.deadFloor, old.Time+1)
	}
}

// Dead tells whether an attempt can never commit here, and why.
func (m *Memory) Dead(txn kv.TxnRef) (Dead, bool) {
	d, ok := m.dead[txn]
	return d, ok
}

// Presumed reports whether an attempt that memory does not know must be taken
// for aborted, because an abort of it may have been forgotten.
func (m *Memory) Presumed(txn kv.TxnRef) bool {
	return txn.Time < m.deadFloor && !m.mutants.Has(mutant.MemoryFloorIgnored)
}

// Fence closes an id for good.
func (m *Memory) Fence(id kv.TxnID) { m.fences[id] = struct{}{} }

// Fenced reports whether an id is closed.
func (m *Memory) Fenced(id kv.TxnID) bool {
	_, ok := m.fences[id]
	return ok
}

// DropFences forgets the fences of ids with a time below floor.
func (m *Memory) DropFences(floor int64) {
	for id := range m.fences {
		if id.Time < floor {
			delete(m.fences, id)
		}
	}
}

// Len is the number of commits, aborts and fences remembered.
func (m *Memory) Len() (finished, dead, fences int) {
	return len(m.finished), len(m.dead), len(m.fences)
}
