package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// OwnID makes an id for what a gateway does by itself, which leads to this machine (env.Env.NewID).
func OwnID(g *Gateway) kv.TxnID { return g.host.NewID() }

// Subject is the transaction, or the name of the reader, that a message for a gateway is about. It
// leads to the machine that the message is for (Affinity).
func Subject(env *msg.Envelope) kv.TxnID {
	switch {
	case env.Answer != nil:
		return env.Answer.Txn.TxnID
	case env.LockReply != nil:
		return env.LockReply.Txn.TxnID
	case env.CheckReply != nil:
		return env.CheckReply.Txn.TxnID
	case env.Mark != nil:
		return env.Mark.Txn.TxnID
	case env.Push != nil:
		return env.Push.Txn.TxnID
	case env.EnquireReply != nil:
		return env.EnquireReply.Id
	case env.ScanPage != nil:
		return env.ScanPage.Txn.TxnID
	case env.ReadReply != nil:
		return env.ReadReply.Reader.TxnID
	case env.RenewReply != nil:
		return env.RenewReply.Reader.TxnID
	case env.PinReply != nil:
		return env.PinReply.Request.TxnID
	case env.MoveKey != nil:
		return env.MoveKey.Txn.TxnID
	case env.Due != nil && env.Due.ExpireKey != nil:
		return env.Due.ExpireKey.Txn.TxnID
	case env.HotReply != nil:
		return env.HotReply.Request.TxnID
	case env.Waits != nil:
		return env.Waits.Txn.TxnID
	}
	// Anything else is for all machines or none.
	return kv.TxnID{}
}
