package msg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnds has a row for every message, so that a new one is thought about.
func TestEnds(t *testing.T) {
	ends := map[string]bool{
		"Lock": false, "LockReply": true, "Check": true, "CheckReply": true, "Release": true,
		"Prepare": false, "Park": false, "AskVote": false, "Decide": true, "DecideAck": false,
		"Vote":   false, // repeated, as all fields are set; see below
		"Answer": true, "Mark": false, "Cancel": false, "Push": false, "PushReply": false,
		"Enquire": false, "EnquireReply": false, "ScanAt": false, "ScanPage": false, "Announce": false,
		"Read": false, "ReadReply": true, "Notice": true, "Leave": true, "Renew": false, "RenewReply": false,
		"Unseal": false, "Unsealed": true,
		"Due": false, "KeepPin": false, "FindPin": false, "DropPin": false, "PinReply": false, "AskPins": false, "Pins": false, "HeatDigest": false, "HeatMap": false, "PairDigest": false, "MoveKey": false,
		"SetHot": false, "AskHot": false, "HotReply": false, "Waits": false,
	}
	all := bodies(rand.New(rand.NewPCG(1, 2)))
	require.Len(t, all, len(ends))
	for _, env := range all {
		want, ok := ends[env.Name()]
		require.True(t, ok, "is %s to go first? See Ends", env.Name())
		require.Equal(t, want, env.Ends(), env.Name())
	}
	require.True(t, (&Envelope{Body: &Vote{Yes: true}}).Ends(), "the first vote")
	require.True(t, (&Envelope{Body: &Vote{}}).Ends(), "a no")
	require.False(t, (&Envelope{Body: &Vote{Yes: true, Repeated: true}}).Ends(), "a question")
	require.False(t, (&Envelope{}).Ends())
}
