package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// NewID returns a new id for a transaction of the gateway itself, which leads to this machine.
func NewID(g *Gateway) kv.TxnID { return g.gw.NewID() }

// Subject is the id of the transaction or reader that a message for a gateway is about. It leads to
// the machine that the message is for (Affinity).
func Subject(env *msg.Envelope) kv.TxnID { return env.About().Txn.TxnID }
