package consensus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

func TestMembershipIsDecodedAsEncoded(t *testing.T) {
	s := consensus.State{Conf: raftpb.ConfState{Voters: []uint64{1, 2, 4}, VotersOutgoing: []uint64{1, 2, 3}},
		Members: []consensus.Member{{ID: 4, Place: "D"}, {ID: 300, Place: ""}}, Next: 301, Unreleased: true,
		Unfit: []consensus.ReplicaID{2, 300}, Stopped: true}
	b, err := s.EncodeMembership()
	require.NoError(t, err)
	var got consensus.State
	require.NoError(t, got.DecodeMembership(b))
	require.Equal(t, s, got)
	for n := 1; n < len(b); n++ {
		var cut consensus.State
		if cut.DecodeMembership(b[:n]) == nil { // the members end at any of them
			require.Equal(t, s.Unfit, cut.Unfit)
			require.Equal(t, s.Conf, cut.Conf)
			require.Less(t, len(cut.Members), len(s.Members))
		}
	}
	require.NoError(t, got.DecodeMembership(nil))
	require.Equal(t, consensus.State{}, got)
}
