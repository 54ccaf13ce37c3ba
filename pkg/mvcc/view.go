package mvcc

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// View is the state on which operations execute.
type View interface {
	// Value returns the newest visible value of a key, or a tombstone. The error is an OnOtherShard if
	// the key is on another shard.
	Value(key []byte) (entry.Value, error)
	// Pending returns the least and the greatest sum of the undecided increments of other
	// transactions on a key; the limits of int64 stand for everything beyond them as well.
	Pending(key []byte) (low, high int64)
	// Rows returns the rows that were read for the range operation with number Op.Seq.
	Rows(seq uint32) RangeRows
	// Clock is the time that decides expiry, in milliseconds since 1970, rounded up.
	Clock() int64
	// Calls returns the context of calls; nil at a gateway, which buffers calls and does not execute
	// them.
	Calls() *Calls
}

// OnOtherShard is the error of a View for a key that is on another shard.
type OnOtherShard struct{ Shard kv.ShardID }

func (e OnOtherShard) Error() string { return "the key is on shard " + e.Shard.String() }

// RedirectFailure returns the failure that redirects an operation to the shard that has the key.
func RedirectFailure(key []byte, e OnOtherShard) *msg.Failure {
	return &msg.Failure{Reason: msg.ReasonMoved, Kind: uint32(kv.KindAborted), Key: key, MovedTo: e.Shard, Text: e.Error()}
}

// RangeRows are the rows of a range, read after its lock was granted.
type RangeRows struct {
	Rows []RangeRow
	// Resume is the key at which the rest of the range begins (ends, in reverse); nil if there is
	// none.
	Resume []byte
}

// KeyOfRow returns the key of a row, for msg.CutScan.
func KeyOfRow(r *RangeRow) []byte { return r.Key }

// RangeRow is an existing key of a range.
type RangeRow struct {
	Key   []byte
	Value entry.Value
	// CSN is the CSN at which Value became visible.
	CSN kv.CSN
	// Partial: the row is a delta or a directory, so of Value only type and version are known.
	// Paged: the value is in pages.
	Partial, Paged bool
}
