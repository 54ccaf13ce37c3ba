package outbox

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Repeat names what a message says: of two messages with the same Repeat, the
// later makes the earlier superfluous.
type Repeat struct {
	kind byte
	// gateway and shard are whom it is for, from the shard that it is from
	// where that matters.
	gateway     kv.NodeID
	shard, from kv.ShardID
	txn, by     kv.TxnRef
	commit      kv.CommitID
	number      uint64
	flag        bool
}

// RepeatOf names what e says; false when that is not known, and e is to be
// kept.
//
// Votes, decisions and answers about one commit are complete each time, so
// that the later one holds. Requests with a number are told apart by it, and
// what ends or gives up something is told apart from what does not.
func RepeatOf(e *msg.Envelope) (Repeat, bool) {
	r := Repeat{gateway: e.Gateway, shard: e.Shard}
	if toShard(e, &r) || toGateway(e, &r) {
		return r, true
	}
	return Repeat{}, false
}

// toShard names what shards are told.
func toShard(e *msg.Envelope, r *Repeat) bool {
	switch {
	case e.Lock != nil:
		r.kind, r.txn, r.number = 1, e.Lock.Txn, uint64(e.Lock.Number)
	case e.Check != nil:
		r.kind, r.txn = 2, e.Check.Txn
	case e.Release != nil:
		r.kind, r.txn = 3, e.Release.Txn
	case e.Prepare != nil:
		r.kind, r.txn, r.commit = 4, e.Prepare.Txn, e.Prepare.CommitID
	case e.Park != nil:
		r.kind, r.txn, r.commit = 5, e.Park.Txn, e.Park.CommitID
	case e.Vote != nil:
		r.kind, r.txn, r.commit, r.from = 6, e.Vote.Txn, e.Vote.CommitID, e.Vote.Shard
	case e.AskVote != nil:
		r.kind, r.txn, r.commit = 7, e.AskVote.Txn, e.AskVote.CommitID
	case e.Decide != nil:
		r.kind, r.txn, r.commit = 8, e.Decide.Txn, e.Decide.CommitID
	case e.DecideAck != nil:
		r.kind, r.txn, r.commit, r.from = 9, e.DecideAck.Txn, e.DecideAck.CommitID, e.DecideAck.Shard
	case e.Cancel != nil:
		r.kind, r.txn, r.commit = 10, e.Cancel.Txn, e.Cancel.CommitID
	case e.PushReply != nil:
		r.kind, r.txn, r.flag = 11, e.PushReply.Txn, e.PushReply.Known
	case e.Enquire != nil:
		r.kind, r.txn.TxnID = 12, e.Enquire.Id
	case e.ScanAt != nil:
		r.kind, r.txn, r.number, r.flag = 13, e.ScanAt.Txn, e.ScanAt.Number, e.ScanAt.Done
	default:
		return ofReaders(e, r)
	}
	return true
}

// ofReaders names what shards are told of readers. Unseal and its answer are
// complete: a later epoch stands for the earlier ones.
func ofReaders(e *msg.Envelope, r *Repeat) bool {
	switch {
	case e.Read != nil:
		r.kind, r.txn, r.number = 14, e.Read.Reader, uint64(e.Read.Number)
	case e.Notice != nil:
		r.kind, r.txn, r.from = 15, e.Notice.Reader, e.Notice.Reading.Shard
	case e.Leave != nil:
		r.kind, r.txn = 16, e.Leave.Reader
	case e.Renew != nil:
		r.kind, r.txn = 17, e.Renew.Reader
	case e.Unseal != nil:
		r.kind, r.txn, r.commit, r.from = 18, e.Unseal.Txn, e.Unseal.CommitID, e.Unseal.Shard
	case e.Unsealed != nil:
		r.kind, r.txn, r.commit = 19, e.Unsealed.Txn, e.Unsealed.CommitID
	default:
		return false
	}
	return true
}

// toGateway names what gateways are told, and marks, which both are told.
func toGateway(e *msg.Envelope, r *Repeat) bool {
	switch {
	case e.LockReply != nil:
		r.kind, r.txn, r.number, r.from = 20, e.LockReply.Txn, uint64(e.LockReply.Number), e.LockReply.Shard
	case e.CheckReply != nil:
		r.kind, r.txn, r.from = 21, e.CheckReply.Txn, e.CheckReply.Shard
		r.flag = e.CheckReply.Ok
	case e.Answer != nil:
		r.kind, r.txn, r.commit, r.from = 22, e.Answer.Txn, e.Answer.CommitID, e.Answer.Shard
	case e.Mark != nil:
		r.kind, r.txn, r.by = 23, e.Mark.Txn, e.Mark.By
	case e.Push != nil:
		r.kind, r.txn, r.from = 24, e.Push.Txn, e.Push.Shard
	case e.EnquireReply != nil:
		r.kind, r.txn.TxnID, r.from = 25, e.EnquireReply.Id, e.EnquireReply.Shard
	case e.ScanPage != nil:
		r.kind, r.txn, r.number, r.from = 26, e.ScanPage.Txn, e.ScanPage.Number, e.ScanPage.Shard
	case e.Announce != nil:
		ofNodes(e.Announce, r)
	case e.ReadReply != nil:
		p := e.ReadReply
		r.kind, r.txn, r.number, r.from = 28, p.Reader, uint64(p.Number), p.Reading.Shard
	case e.RenewReply != nil:
		r.kind, r.txn, r.number, r.from = 29, e.RenewReply.Reader, uint64(e.RenewReply.Number), e.RenewReply.Shard
	default:
		return ofPins(e, r)
	}
	return true
}

// ofNodes names what nodes tell each other: of a shard, that it is there, or
// leaves, or that this was heard; or a question, or the answer to one.
func ofNodes(a *msg.Announce, r *Repeat) {
	switch c := a.Call; {
	case c != nil:
		r.kind, r.number, r.flag = 46, c.Number, c.Asker != 0
	case a.Heard:
		r.kind, r.from = 47, a.Shard
	default:
		r.kind, r.from, r.flag = 27, a.Shard, a.Leaving
	}
}

// ofPins names what is said of states that are kept, and of heat. What a shard
// asks and is told of all pins is complete each time; so is what is told of
// heat, and of waits.
func ofPins(e *msg.Envelope, r *Repeat) bool {
	switch {
	case e.Due != nil && e.Due.ExpireKey != nil:
		r.kind, r.txn = 45, e.Due.ExpireKey.Txn
	case e.Due != nil:
		r.kind = 30
	case e.KeepPin != nil:
		r.kind, r.txn = 31, e.KeepPin.Request
	case e.FindPin != nil:
		r.kind, r.txn = 32, e.FindPin.Request
	case e.DropPin != nil:
		r.kind, r.txn = 33, e.DropPin.Request
	case e.PinReply != nil:
		r.kind, r.txn = 34, e.PinReply.Request
	case e.AskPins != nil:
		r.kind, r.from = 35, e.AskPins.Shard
	case e.Pins != nil:
		r.kind = 36
	case e.HeatDigest != nil:
		r.kind, r.from = 37, e.HeatDigest.Shard
	case e.HeatMap != nil:
		r.kind = 38
	case e.PairDigest != nil:
		r.kind, r.from = 39, kv.ShardID(e.PairDigest.Gateway)
	case e.MoveKey != nil:
		r.kind, r.txn = 40, e.MoveKey.Txn
	case e.SetHot != nil:
		r.kind, r.txn = 41, e.SetHot.Request
	case e.AskHot != nil:
		r.kind, r.txn = 42, e.AskHot.Request
	case e.HotReply != nil:
		r.kind, r.txn = 43, e.HotReply.Request
	case e.Waits != nil:
		r.kind, r.txn, r.from = 44, e.Waits.Txn, e.Waits.Shard
	default:
		return false
	}
	return true
}
