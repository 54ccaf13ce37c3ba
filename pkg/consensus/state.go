package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// State is what a replica knows by the entries that it has applied. A node writes it in the same batch as the
// rows of these entries, and a Raft snapshot includes it. Its slices are never changed in place.
type State struct {
	// Position and Term are the last applied entry.
	Position Position
	Term     Term
	// Conf is the configuration: voters, learners, and the voters of before while it is joint.
	Conf raftpb.ConfState
	// Members are the replicas that were added as learners, with their places, ordered by ID. A removed replica
	// stays until the release (R7.12).
	Members []Member
	// Next is a number that no replica has had, nor any above it (R7.17). It may be zero in a group that has not
	// changed: then the numbers above those of Conf are free.
	Next ReplicaID
	// Unreleased: a change has ended the joint configuration, and is not released. The removed replicas still
	// vote, and no other change may begin (R7.12 to R7.14).
	Unreleased bool
	// Unfit are the members that are to be replaced, as if their disks had failed (R6.13 to R6.15).
	Unfit []ReplicaID
	// Stopped: no majority of the replicas agreed on the rows, and the shard serves no more (R6.14).
	Stopped bool
	// Window is how long registrations by an earlier leader may still be valid, in nanoseconds since its
	// transfer entry. It is zero when an entry was proposed after that (R5.5).
	Window int64
}

// Member is a replica that was added to the group.
type Member struct {
	ID ReplicaID
	// Place is the node and the store stamp of its disk, as the caller of AddLearner encoded them.
	Place string
}

// isEmpty reports whether the replica has received nothing yet, and so is of no use to a majority (R3.1 d).
func (s *State) isEmpty() bool { return len(s.Conf.Voters) == 0 }

// IsJoint reports whether the configuration is joint.
func (s *State) IsJoint() bool { return len(s.Conf.VotersOutgoing) > 0 }

// IsVoter reports whether a replica is a voter; of a joint configuration, one of the new voters.
func (s *State) IsVoter(id ReplicaID) bool { return slices.Contains(s.Conf.Voters, uint64(id)) }

// IsLearner reports whether a replica is a learner.
func (s *State) IsLearner(id ReplicaID) bool { return slices.Contains(s.Conf.Learners, uint64(id)) }

// IsMember reports whether a replica belongs to the configuration.
func (s *State) IsMember(id ReplicaID) bool {
	return s.IsVoter(id) || s.IsLearner(id) || slices.Contains(s.Conf.VotersOutgoing, uint64(id))
}

// place returns the place of a replica, empty if the state does not have it.
func (s *State) place(id ReplicaID) string {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return s.Members[i].Place
		}
	}
	return ""
}

// next returns the number of the next replica.
func (s *State) next() ReplicaID {
	next := s.Next
	for _, ids := range [][]uint64{s.Conf.Voters, s.Conf.VotersOutgoing, s.Conf.Learners} {
		for _, id := range ids {
			next = max(next, ReplicaID(id)+1)
		}
	}
	return next
}

// addLearner records a replica that an entry has added.
func (s *State) addLearner(id ReplicaID, place string) {
	s.Members, s.Next = append(slices.Clone(s.Members), Member{ID: id, Place: place}), max(s.next(), id+1)
}

// release ends a change: what is known of the removed replicas goes.
func (s *State) release() {
	s.Unreleased = false
	s.Unfit = slices.DeleteFunc(slices.Clone(s.Unfit), func(id ReplicaID) bool { return !s.IsMember(id) })
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(m Member) bool { return !s.IsMember(m.ID) })
}

// EncodeMembership encodes all but Position, Term and Window.
func (s *State) EncodeMembership() ([]byte, error) {
	conf, err := s.Conf.Marshal()
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be encoded: %w", err)
	}
	b := appendBytes(nil, string(conf))
	b = binary.AppendUvarint(b, uint64(s.Next))
	flags := byte(0)
	if s.Unreleased {
		flags |= flagUnreleased
	}
	if s.Stopped {
		flags |= flagStopped
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(len(s.Unfit)))
	for _, id := range s.Unfit {
		b = binary.AppendUvarint(b, uint64(id))
	}
	for i := range s.Members {
		b = binary.AppendUvarint(b, uint64(s.Members[i].ID))
		b = appendBytes(b, s.Members[i].Place)
	}
	return b, nil
}

const flagUnreleased, flagStopped = 1, 2

func appendBytes(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

var errMembership = errors.New("the membership of the group cannot be decoded")

// DecodeMembership sets what EncodeMembership encoded. Without bytes, the replica has received nothing yet.
func (s *State) DecodeMembership(b []byte) error {
	*s = State{Position: s.Position, Term: s.Term, Window: s.Window}
	if len(b) == 0 {
		return nil
	}
	d := kv.Decoder{Rest: b}
	conf := d.Bytes()
	s.Next = ReplicaID(d.Uint())
	flags := d.Byte()
	s.Unreleased, s.Stopped = flags&flagUnreleased != 0, flags&flagStopped != 0
	for range d.Uint() {
		if d.Failed {
			break
		}
		s.Unfit = append(s.Unfit, ReplicaID(d.Uint()))
	}
	for len(d.Rest) > 0 {
		s.Members = append(s.Members, Member{ID: ReplicaID(d.Uint()), Place: string(d.Bytes())})
	}
	if d.Failed || s.Conf.Unmarshal(conf) != nil {
		return errMembership
	}
	return nil
}
