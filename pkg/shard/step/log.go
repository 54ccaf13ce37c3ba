package step

import "github.com/linchpindb/linchpin/pkg/entry"

// Log is the entries of the current step. They leave the shard at its end, so until then a row can be
// replaced by a later version of it.
type Log struct{ entries []entry.Entry }

// Append adds entries.
func (l *Log) Append(x ...entry.Entry) { l.entries = append(l.entries, x...) }

// Last returns the position of the last entry, for Replace and Encode. It is valid in this step.
func (l *Log) Last() int { return len(l.entries) - 1 }

// Replace replaces the entry at a position.
func (l *Log) Replace(position int, x entry.Entry) { l.entries[position] = x }

// Encode sets the value of the entry at a position, unless an entry with a value has replaced it.
func (l *Log) Encode(position int, value func() []byte) {
	e := &l.entries[position]
	if e.Value == nil {
		e.Value = value()
	}
}

// Reset makes the log empty at the begin of a step. It uses the memory of the entries of an earlier one.
func (l *Log) Reset(reused []entry.Entry) { l.entries = reused[:0] }

// Entries returns the entries so far.
func (l *Log) Entries() []entry.Entry { return l.entries }
