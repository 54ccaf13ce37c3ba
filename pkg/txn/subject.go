package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// OwnID makes an id for what a gateway does by itself, which leads to this machine (env.Env.NewID).
func OwnID(g *Gateway) kv.TxnID { return g.gw.NewID() }

// Subject is the transaction, or the name of the reader, that a message for a gateway is about. It
// leads to the machine that the message is for (Affinity).
func Subject(env *msg.Envelope) kv.TxnID { return env.About().Txn.TxnID }
