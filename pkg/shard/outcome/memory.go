package outcome

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Finished is what a shard knows for good about a transaction id. The results are in the log only:
// they are rarely requested, and a map without pointers costs the garbage collector nothing.
type Finished struct {
	// Committed is the attempt that this shard decided to commit, 0 for none.
	Committed uint32
	// Applied is the attempt whose commit this shard applied as a participant, 0 for none.
	Applied uint32
	// Fingerprint is the hash of the operations, 0 if unknown.
	Fingerprint uint64
}

// Memory remembers what has finished, so that late and repeated messages are recognized. Its parts
// are bounded.
//
// If there are too many commits, the one with the lowest time in its id is evicted, and lowWatermark
// rises above that time. At or above the low watermark memory is complete; below it, the log must be
// read. Aborts are in aborts, closed ids in fences.
type Memory struct {
	limit    int
	finished map[kv.TxnID]Finished
	idQueue  timeQueue[kv.TxnID]
	// lowWatermark: commits of ids with a lower time may have been evicted.
	lowWatermark int64
	// uncertain are spans of time in ids, besides those below the low watermark, in which earlier
	// incarnations may have committed.
	uncertain []idSpan

	aborts aborts
	fences
	mutants mutant.Set
}

// NewMemory returns a memory of at most limit commits and limit aborts.
func NewMemory(limit int, m mutant.Set) *Memory {
	x := &Memory{
		limit: limit, finished: map[kv.TxnID]Finished{}, mutants: m,
		idQueue: timeQueue[kv.TxnID]{time: func(id kv.TxnID) int64 { return id.Time }},
	}
	x.aborts.init(limit)
	x.fences.init()
	return x
}

// RecordFinished records a commit or an applied commit; f replaces what was known of the id.
func (m *Memory) RecordFinished(id kv.TxnID, f Finished) {
	before := len(m.finished)
	m.finished[id] = f
	if len(m.finished) == before {
		return
	}
	m.idQueue.push(id)
	if m.idQueue.len() > m.limit {
		old := m.idQueue.pop()
		delete(m.finished, old)
		m.lowWatermark = max(m.lowWatermark, old.Time+1)
	}
}

// Finished returns what is known about an id, the zero value for nothing.
func (m *Memory) Finished(id kv.TxnID) Finished { return m.finished[id] }

// FindAbort returns the failure of a commit that was aborted here, false if it is not in memory.
func (m *Memory) FindAbort(commit kv.CommitID) (*msg.Failure, bool) {
	f, ok := m.aborts.failures[commit]
	return f, ok
}

// AbortCount returns how many commits have been aborted in this incarnation.
func (m *Memory) AbortCount() uint64 { return m.aborts.lastNumber }

// Len returns the number of commits, aborts and fences in memory.
func (m *Memory) Len() (finished, dead, fences int) {
	return len(m.finished), len(m.aborts.failures), len(m.users)
}
