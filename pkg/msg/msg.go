// Package msg is the messages between gateways and shards. The types are generated from msg.proto, which documents
// each of them; docs/protocol.md describes the protocol.
//
//	gateway -> shard    Lock, Check, Release, Prepare, CommitRequest, CancelRequest, Wound, PushResponse, QueryTxn;
//	                    Read, RenewLease, Deregister, ReadPage; RetainSnapshot, FindSnapshot, DropSnapshot;
//	                    PairReport, SetHotPolicy, HotStatusRequest
//	shard -> gateway    LockResponse, CheckResponse, CommitResponse, Wound, Push, QueryTxnResponse, WaitReport;
//	                    ReadResponse, RenewLeaseResponse, ReadPageResponse; SnapshotResponse; HeatMap, MoveKey,
//	                    HotStatusResponse; Announcement, Due
//	gateway -> gateway  Announcement, with a NodeCall
//	shard -> shard      Vote, VoteRequest, Decision, DecisionAck, Wound; Registered, Unseal, UnsealResponse;
//	                    SnapshotListRequest, SnapshotList; LoadReport
//
// A message may be lost, delayed, duplicated or reordered. For example, a commit on two shards:
//
//	gateway ── Prepare ───────▶ shard 1 ── Vote ───────▶ shard 0
//	gateway ── CommitRequest ──────────────────────────▶ shard 0 ── CommitResponse ──▶ gateway
//	                            shard 1 ◀── Decision ─── shard 0
//	                            shard 1 ── DecisionAck ▶ shard 0
package msg

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Span is the span of the lock.
func (g *Grant) Span() kv.Span { return spanOf(g.Start, g.End, g.IsRange) }

func spanOf(start, end []byte, isRange bool) kv.Span {
	if isRange {
		return kv.Range(start, end)
	}
	return kv.Point(start)
}

// Span is the key or the range of the operation.
func (o *Op) Span() kv.Span { return spanOf(o.Key, o.End, o.IsRange()) }

// IsRange reports whether the operation is on a range rather than a key.
func (o *Op) IsRange() bool {
	return o.Kind == OpScan || o.Kind == OpDeleteRange
}

// Writes reports whether the operation can change anything.
func (o *Op) Writes() bool {
	switch o.Kind {
	case OpPut, OpDelete, OpAdd, OpAddGet, OpDeleteRange, OpMoveOut, OpMoveIn,
		OpUpdate, OpUpdateGet, OpExpire, OpDeleteExpired:
		return true
	}
	return false
}

// IsCall reports whether the operation calls a method of a data type.
func (o *Op) IsCall() bool { return o.Kind >= OpQuery && o.Kind <= OpUpdateGet }

// Word is the reason as one word, for reports and metrics.
func (r Reason) Word() string {
	words := [...]string{"none", "wounded", "stale-grant", "stale-read", "incarnation", "tombstone", "refused", "fenced",
		"cancelled", "too-old", "exhausted", "request", "lapsed", "moved", "closed", "committed", "concurrent-commit", "late"}
	if int(r) < len(words) {
		return words[r]
	}
	return "unknown"
}

// Error returns the failure as an error for the client.
func (f *Failure) Error() *kv.Error {
	if f == nil {
		return nil
	}
	e := &kv.Error{Kind: kv.Kind(f.Kind), Text: f.Text, Key: f.Key, Op: -1, Hint: f.Hint,
		RetryAfter: time.Duration(f.RetryAfterNanos)}
	if f.HasSeq {
		e.Op = int(f.Seq)
	}
	return e
}
