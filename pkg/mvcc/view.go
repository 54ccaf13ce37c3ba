package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// View is what operations see.
type View interface {
	// Value is the newest visible value of a key, or a tombstone; the error is
	// an Elsewhere if the key lives on another shard.
	Value(key []byte) (entry.Value, error)
	// Pending is the least and the greatest sum that the undecided adds of
	// other transactions on a key may come to; the ends of 64 bits stand for
	// everything beyond them as well.
	Pending(key []byte) (low, high int64)
	// Rows is the answer to the cold read of a range operation, by Op.Seq.
	Rows(seq uint32) RangeRows
	// Clock is the time by which keys expire, in milliseconds since 1970, rounded up.
	Clock() int64
	// Calls is what calls of data types see beyond the value; nil where they are
	// not made but only buffered.
	Calls() *Calls
}

// Elsewhere is the error of a View that does not have a key: it lives on
// another shard.
type Elsewhere struct{ Shard kv.ShardID }

func (e Elsewhere) Error() string { return "the key is on shard " + e.Shard.String() }

// Moved is the failure of an operation on a key that lives on another shard.
func Moved(key []byte, e Elsewhere) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonMoved, Kind: uint32(kv.KindAborted), Key: key, MovedTo: e.Shard, Text: e.Error()}
}

// RangeRows is what a range held when its lock was taken.
type RangeRows struct {
	Rows []RangeRow
	// Resume is where the rest begins, or ends in reverse; nil if there is none.
	Resume []byte
}

// KeyOfRow returns the key of a row, for msg.CutScan.
func KeyOfRow(r *RangeRow) []byte { return r.Key }

// RangeRow is one existing key of a range.
type RangeRow struct {
	Key   []byte
	Value entry.Value
	// Index is when Value became visible.
	Index kv.Index
	// Partial: the row is a delta or a directory, so that of Value only type and
	// identity are known. Paged: the value is in pages.
	Partial, Paged bool
}
