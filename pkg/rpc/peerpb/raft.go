package peerpb

import (
	"errors"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protowire"
)

// Raft is a message of the Raft library, which is encoded in place: without a copy of its entries.
type Raft raftpb.Message

// responsesField is the number of the field of raftpb.Message with messages in it.
const responsesField = 14

// ErrLocalMessage rejects a message with responses in it, which Raft sends only to its own log. Messages are
// decoded recursively, so that field could exhaust the stack.
var ErrLocalMessage = errors.New("peerpb: a message of Raft has responses in it, which no node sends")

// Size is the encoded size in bytes.
func (m *Raft) Size() int { return (*raftpb.Message)(m).Size() }

// Marshal encodes m.
func (m *Raft) Marshal() ([]byte, error) { return (*raftpb.Message)(m).Marshal() }

// MarshalTo encodes m into the start of b, which has Size bytes or more, and returns the number of bytes.
func (m *Raft) MarshalTo(b []byte) (int, error) { return (*raftpb.Message)(m).MarshalTo(b) }

// Unmarshal decodes b, and keeps no reference to it. It returns ErrLocalMessage, or the reason why b is not a message.
func (m *Raft) Unmarshal(b []byte) error {
	for rest := b; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == responsesField {
			return ErrLocalMessage
		}
		rest = rest[n:]
	}
	return (*raftpb.Message)(m).Unmarshal(b)
}
