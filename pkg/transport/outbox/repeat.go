package outbox

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Repeat identifies the content of a message: of two messages with the same Repeat, the later one
// supersedes the earlier one.
type Repeat struct {
	kind    msg.Kind
	gateway kv.NodeID
	shard   kv.ShardID
	about   msg.About
}

// RepeatOf returns the Repeat of a message; false for an empty envelope, which supersedes nothing.
func RepeatOf(e *msg.Envelope) (Repeat, bool) {
	if e.Body == nil {
		return Repeat{}, false
	}
	return Repeat{kind: e.Body.Kind(), gateway: e.Gateway, shard: e.Shard, about: e.About()}, true
}
