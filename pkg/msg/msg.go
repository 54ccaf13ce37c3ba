// Package msg is the protocol's messages: what gateways and shards say to each
// other. The types are generated from msg.proto, which has a paragraph for
// each; docs/protocol.md tells how they play together.
//
//	gateway -> shard    Lock, Check, Release, Prepare, Park, Cancel, Enquire, ScanAt, PushReply, Mark; Read, Renew, Leave;
//	                    KeepPin, FindPin, DropPin; PairDigest, SetHot, AskHot
//	shard -> gateway    LockReply, CheckReply, Answer, EnquireReply, ScanPage, Push, Mark, Announce; ReadReply, RenewReply;
//	                    PinReply; HeatMap, MoveKey, HotReply; Due; Waits
//	gateway -> gateway  Announce, with a NodeCall
//	shard -> shard      Vote, AskVote, Decide, DecideAck, Mark; Notice, Unseal, Unsealed; AskPins, Pins; HeatDigest
//
// Every message may be lost, delayed, duplicated and reordered.
package msg

import (
	"fmt"
	"strings"
	"time"

	"github.com/gogo/protobuf/proto"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Body gives the one message that an envelope carries, nil if it is empty.
func (m *Envelope) Body() proto.Message {
	switch {
	case m.Lock != nil:
		return m.Lock
	case m.LockReply != nil:
		return m.LockReply
	case m.Check != nil:
		return m.Check
	case m.CheckReply != nil:
		return m.CheckReply
	case m.Release != nil:
		return m.Release
	case m.Prepare != nil:
		return m.Prepare
	case m.Park != nil:
		return m.Park
	case m.Vote != nil:
		return m.Vote
	case m.AskVote != nil:
		return m.AskVote
	case m.Decide != nil:
		return m.Decide
	case m.DecideAck != nil:
		return m.DecideAck
	}
	return m.lateBody()
}

func (m *Envelope) lateBody() proto.Message {
	switch {
	case m.Answer != nil:
		return m.Answer
	case m.Mark != nil:
		return m.Mark
	case m.Cancel != nil:
		return m.Cancel
	case m.Push != nil:
		return m.Push
	case m.PushReply != nil:
		return m.PushReply
	case m.Enquire != nil:
		return m.Enquire
	case m.EnquireReply != nil:
		return m.EnquireReply
	case m.ScanAt != nil:
		return m.ScanAt
	case m.ScanPage != nil:
		return m.ScanPage
	case m.Announce != nil:
		return m.Announce
	}
	return m.readersBody()
}

func (m *Envelope) readersBody() proto.Message {
	switch {
	case m.Read != nil:
		return m.Read
	case m.ReadReply != nil:
		return m.ReadReply
	case m.Notice != nil:
		return m.Notice
	case m.Leave != nil:
		return m.Leave
	case m.Renew != nil:
		return m.Renew
	case m.RenewReply != nil:
		return m.RenewReply
	case m.Unseal != nil:
		return m.Unseal
	case m.Unsealed != nil:
		return m.Unsealed
	}
	return m.pinsBody()
}

func (m *Envelope) pinsBody() proto.Message {
	switch {
	case m.Due != nil:
		return m.Due
	case m.KeepPin != nil:
		return m.KeepPin
	case m.FindPin != nil:
		return m.FindPin
	case m.DropPin != nil:
		return m.DropPin
	case m.PinReply != nil:
		return m.PinReply
	case m.AskPins != nil:
		return m.AskPins
	case m.Pins != nil:
		return m.Pins
	}
	return m.hotBody()
}

func (m *Envelope) hotBody() proto.Message {
	switch {
	case m.HeatDigest != nil:
		return m.HeatDigest
	case m.HeatMap != nil:
		return m.HeatMap
	case m.PairDigest != nil:
		return m.PairDigest
	case m.MoveKey != nil:
		return m.MoveKey
	case m.SetHot != nil:
		return m.SetHot
	case m.AskHot != nil:
		return m.AskHot
	case m.HotReply != nil:
		return m.HotReply
	case m.Waits != nil:
		return m.Waits
	}
	return nil
}

// Name is the message's name in traces, as in msg.proto.
func (m *Envelope) Name() string {
	b := m.Body()
	if b == nil {
		return "Empty"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", b), "*msg.")
}

// String is for traces: from, to, name and content.
func (m *Envelope) String() string {
	to := m.Shard.String()
	if m.Gateway != 0 {
		to = "g" + m.Gateway.String()
	}
	body := ""
	if b := m.Body(); b != nil {
		body = b.String()
	}
	return fmt.Sprintf("%v->%s %s{%s}", m.From, to, m.Name(), body)
}

// ToShard addresses an envelope to a shard.
func ToShard(s kv.ShardID) *Envelope { return &Envelope{Shard: s} }

// ToGateway addresses an envelope to a node's gateway.
func ToGateway(n kv.NodeID) *Envelope { return &Envelope{Gateway: n} }

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
