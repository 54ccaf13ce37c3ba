// Package msg is the protocol's messages: what gateways and shards say to each
// other. The types are generated from msg.proto, which has a paragraph for
// each; docs/protocol.md tells how they play together.
//
//	gateway -> shard    Lock, Check, Release, Prepare, CommitRequest, CancelRequest, QueryTxn, ReadPage, PushResponse, Mark; Read, RenewLease, Leave;
//	                    RetainSnapshot, FindSnapshot, DropSnapshot; PairReport, SetHotPolicy, HotStatusRequest
//	shard -> gateway    LockResponse, CheckResponse, CommitResponse, QueryTxnResponse, ReadPageResponse, Push, Wound, Announce; ReadResponse, RenewLeaseResponse;
//	                    SnapshotResponse; HeatMap, MoveKey, HotStatusResponse; Due; Waits
//	gateway -> gateway  Announce, with a NodeCall
//	shard -> shard      Vote, VoteRequest, Decision, DecisionAck, Mark; Notice, Unseal, Unsealed; SnapshotListRequest, Pins; LoadReport
//
// Every message may be lost, delayed, duplicated and reordered.
package msg

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Span is the lock's span.
func (g *Grant) Span() kv.Span { return spanOf(g.Start, g.End, g.IsRange) }

func spanOf(start, end []byte, isRange bool) kv.Span {
	if isRange {
		return kv.Range(start, end)
	}
	return kv.Point(start)
}

// Span is what the operation touches.
func (o *Op) Span() kv.Span { return spanOf(o.Key, o.End, o.IsRange()) }

// IsRange reports whether the operation is on a range rather than a key.
func (o *Op) IsRange() bool {
	return o.Kind == OpScan || o.Kind == OpDeleteRange
}

// Writes reports whether the operation can change anything.
func (o *Op) Writes() bool {
	switch o.Kind {
	case OpPut, OpDelete, OpAdd, OpAddGet, OpDeleteRange, OpMoveOut, OpMoveIn, OpUpdate, OpUpdateGet, OpExpire, OpDeleteExpired:
		return true
	}
	return false
}

// IsCall reports whether the operation calls a method of a data type.
func (o *Op) IsCall() bool { return o.Kind >= OpQuery && o.Kind <= OpUpdateGet }

// Word is the reason in one word, for reports and metrics.
func (r Reason) Word() string {
	words := [...]string{"none", "wounded", "stale-grant", "stale-read", "incarnation", "tombstone", "refused", "fenced",
		"cancelled", "too-old", "exhausted", "request", "lapsed", "moved"}
	if int(r) < len(words) {
		return words[r]
	}
	return "unknown"
}

// Error gives the failure as an error for the client.
func (f *Failure) Error() *kv.Error {
	if f == nil {
		return nil
	}
	e := &kv.Error{Kind: kv.Kind(f.Kind), Text: f.Text, Key: f.Key, Op: -1, Hint: f.Hint, RetryAfter: time.Duration(f.RetryAfterNanos)}
	if f.HasSeq {
		e.Op = int(f.Seq)
	}
	return e
}
