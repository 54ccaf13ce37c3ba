package raftlog

import (
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// apply takes a record over, and returns the rows that store it, none if it changes nothing.
func (l *Log) apply(r *Record) ([]entry.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rows []entry.Entry
	before := l.state
	switch {
	case r.Replica == 0 || r.Replica < l.replica && !l.rules.forgetsNumbers():
		return nil, fmt.Errorf("it is of replica %d, after replica %d", r.Replica, l.replica)
	case r.Replica == l.replica && l.destroyed && !l.rules.forgetsNumbers():
		return nil, fmt.Errorf("it is of replica %d, which is destroyed", r.Replica)
	case r.Replica != l.replica || l.destroyed:
		rows = l.reset(rows)
		l.state = state{replica: r.Replica}
	}
	if r.Write != nil {
		var err error
		rows, err = l.applyWrite(rows, r.Write)
		if err != nil {
			return nil, err
		}
	}
	if r.Truncate > l.last.position {
		return nil, fmt.Errorf("it truncates up to position %d, and the last is %d", r.Truncate, l.last.position)
	}
	if r.Truncate > l.begin.position {
		rows = l.truncate(rows, r.Truncate)
	}
	if r.Destroy {
		rows = l.reset(rows)
		l.state = state{replica: l.replica, destroyed: true}
	}
	if len(rows) == 0 && l.state == before {
		return nil, nil
	}
	return append(rows, l.state.row(l.shard)), nil
}

func (l *Log) applyWrite(rows []entry.Entry, w *consensus.Write) ([]entry.Entry, error) {
	if w.Snapshot != nil {
		at := idOf(&w.Snapshot.Metadata)
		if at.position < l.begin.position {
			return nil, fmt.Errorf("the rows are of position %d, and the log begins after %d", at.position, l.begin.position)
		}
		rows = l.beginAt(rows, at)
	}
	if hs := w.HardState; hs != (raftpb.HardState{}) {
		if len(w.Entries) > 0 && !l.rules.recordsCommit() {
			hs.Commit = l.hard.Commit
		}
		l.hard = hs
	}
	if len(w.Entries) == 0 {
		return rows, nil
	}
	first := consensus.Position(w.Entries[0].Index)
	if first <= l.begin.position || first > l.last.position+1 {
		return nil, fmt.Errorf("its first entry is at position %d, and the log is from %d to %d", first,
			l.begin.position+1, l.last.position)
	}
	rows = l.cutFrom(rows, first, consensus.Position(len(w.Entries)))
	for i := range w.Entries {
		e := &w.Entries[i]
		if e.Index != uint64(first)+uint64(i) {
			return nil, fmt.Errorf("its entry %d is at position %d, after %d", i, e.Index, l.last.position)
		}
		rows = append(rows, entryRow(l.shard, e))
		l.add(e)
	}
	return rows, nil
}

func idOf(m *raftpb.SnapshotMetadata) entryID {
	return entryID{consensus.Position(m.Index), consensus.Term(m.Term)}
}

// add takes over an entry at the end.
func (l *Log) add(e *raftpb.Entry) {
	l.last = entryID{consensus.Position(e.Index), consensus.Term(e.Term)}
	l.terms.add(l.last)
	l.sizes.add(l.last.position, e.Size())
	l.tail.add(e)
}

// cutFrom deletes the entries from a position on, of which the next n are about to be written again.
func (l *Log) cutFrom(rows []entry.Entry, from, n consensus.Position) []entry.Entry {
	for at := from + n; at <= l.last.position; at++ {
		rows = append(rows, entry.Entry{Action: entry.Delete, Table: entry.TableLog, Key: entryKey(at)})
	}
	l.last = entryID{from - 1, l.terms.at(from - 1)}
	l.terms.cutFrom(from)
	l.sizes.cutFrom(from)
	l.tail.cutFrom(from)
	return rows
}

// truncate deletes the entries up to a position.
func (l *Log) truncate(rows []entry.Entry, to consensus.Position) []entry.Entry {
	l.begin = entryID{to, l.terms.at(to)}
	l.terms.cutTo(l.begin)
	l.sizes.cutTo(to)
	l.tail.cutTo(to)
	if !l.rules.keepsVote() {
		l.hard = raftpb.HardState{Commit: l.hard.Commit}
	}
	return append(rows, entry.Entry{Action: entry.DeleteBelow, Table: entry.TableLog, Key: entryKey(to + 1)})
}

// beginAt makes the log begin after an entry, unless it has that entry: then it continues (R6.10, R6.11).
func (l *Log) beginAt(rows []entry.Entry, at entryID) []entry.Entry {
	if at.position <= l.last.position && l.terms.at(at.position) == at.term {
		return rows
	}
	rows = l.reset(rows)
	l.begin, l.last = at, at
	l.terms.add(at)
	l.sizes.add(at.position, 0)
	return rows
}

// reset deletes all entries.
func (l *Log) reset(rows []entry.Entry) []entry.Entry {
	if l.last.position > l.begin.position {
		rows = append(rows, entry.Entry{Action: entry.DeleteBelow, Table: entry.TableLog,
			Key: entryKey(l.last.position + 1)})
	}
	l.begin, l.last = entryID{}, entryID{}
	l.terms, l.sizes, l.tail = nil, nil, tail{limit: l.tail.limit}
	return rows
}

// recover reads the log and verifies all of it.
func (l *Log) recover() error {
	res := l.rows.Read(l.shard, entry.Read{Kind: entry.ReadRow, Table: entry.TableLogState})
	if res.Err != nil {
		return l.readError(0, res.Err)
	}
	if len(res.Rows) > 0 {
		s, err := decodeState(l.shard, res.Rows[0].Value)
		if err != nil {
			return damaged(l.shard, 0, err)
		}
		l.state = s
	}
	end := l.last
	if !l.destroyed && l.replica != 0 {
		l.terms.add(l.begin)
		l.sizes.add(l.begin.position, 0)
	}
	for at := l.begin.position + 1; at <= end.position; {
		page, err := l.readPage(at, end.position+1)
		if err != nil {
			return err
		}
		for i := range page {
			l.add(&page[i])
		}
		at += consensus.Position(len(page))
	}
	if l.last != end {
		return damaged(l.shard, end.position, fmt.Errorf("its term is %d, and %d in the state", l.last.term, end.term))
	}
	return l.checkEnd()
}

// checkEnd requires that no entries follow the last one: a state that is older than its entries was put back.
func (l *Log) checkEnd() error {
	res := l.rows.Read(l.shard, entry.Read{Kind: entry.ReadRows, Table: entry.TableLog, Limit: 1,
		Span: kv.Range(entryKey(l.last.position+1), nil)})
	if res.Err != nil {
		return l.readError(l.last.position+1, res.Err)
	}
	if len(res.Rows) > 0 {
		return damaged(l.shard, l.last.position+1, fmt.Errorf("an entry follows the last one of the state"))
	}
	return nil
}
