// Package replicamsg converts the messages of replicas to the form in which they are sent, and back.
//
// It guarantees that all fields arrive: Decode(Encode(m)) is m.
//
//	consensus.Message --Encode--> peerpb.ReplicaMessage --bytes--> peerpb.ReplicaMessage --Decode--> consensus.Message
//	      sender's                        sender's                       receiver's                   receiver's
//
// Neither function copies what a message refers to (entries, above all): only the bytes between them separate the
// sender from the receiver. So a message must not be changed after Encode. Copy is for two nodes in one process.
package replicamsg

import (
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Encode returns the form of m in which it is sent.
func Encode(m *consensus.Message) *peerpb.ReplicaMessage {
	return &peerpb.ReplicaMessage{Group: m.Group, From: uint64(m.From), To: uint64(m.To), Raft: peerpb.Raft(m.Raft),
		Sent: m.Sent, Hold: m.Hold, Echo: m.Echo,
		Committed: uint64(m.Committed), CommittedTerm: uint64(m.CommittedTerm),
		Place: m.Place, Needed: uint64(m.Needed), Gone: m.Gone, Transfer: uint64(m.Transfer),
		Unfit: m.Unfit, Checked: uint64(m.Checked), Sum: m.Sum, Declines: m.Declines,
		Starting: m.Starting}
}

// EncodeAll encodes messages.
func EncodeAll(msgs []consensus.Message) []*peerpb.ReplicaMessage {
	out := make([]*peerpb.ReplicaMessage, len(msgs))
	for i := range msgs {
		out[i] = Encode(&msgs[i])
	}
	return out
}

// Decode returns the message that was sent as m.
func Decode(m *peerpb.ReplicaMessage) consensus.Message {
	return consensus.Message{Group: m.Group, From: consensus.ReplicaID(m.From), To: consensus.ReplicaID(m.To),
		Raft: raftpb.Message(m.Raft), Sent: m.Sent, Hold: m.Hold, Echo: m.Echo,
		Committed: consensus.Position(m.Committed), CommittedTerm: consensus.Term(m.CommittedTerm),
		Place: m.Place, Needed: consensus.Position(m.Needed), Gone: m.Gone, Transfer: consensus.Term(m.Transfer),
		Unfit: m.Unfit, Checked: consensus.Position(m.Checked), Sum: m.Sum, Declines: m.Declines,
		Starting: m.Starting}
}

// DecodeAll decodes messages.
func DecodeAll(msgs []*peerpb.ReplicaMessage) []consensus.Message {
	out := make([]consensus.Message, len(msgs))
	for i := range msgs {
		out[i] = Decode(msgs[i])
	}
	return out
}

// Copy returns the message that a receiver of the bytes of m decodes, which refers to nothing of m. It returns an
// error if m cannot be sent.
func Copy(m *peerpb.ReplicaMessage) (consensus.Message, error) {
	raw, err := m.Marshal()
	if err != nil {
		return consensus.Message{}, err
	}
	var got peerpb.ReplicaMessage
	if err := got.Unmarshal(raw); err != nil {
		return consensus.Message{}, err
	}
	return Decode(&got), nil
}
