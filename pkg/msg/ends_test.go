package msg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table has a row for every message, so a new one must be classified.
func TestMessagesThatEndSomething(t *testing.T) {
	ends := map[string]bool{
		"Lock": false, "LockResponse": true, "Check": true, "CheckResponse": true, "Release": true,
		"Prepare": false, "CommitRequest": false, "VoteRequest": false, "Decision": true, "DecisionAck": false,
		"Vote":           false, // repeated: all fields are set; see below
		"CommitResponse": true, "Wound": false, "CancelRequest": false, "Push": false, "PushResponse": false,
		"QueryTxn": false, "QueryTxnResponse": false, "ReadPage": false, "ReadPageResponse": false, "Announcement": false,
		"Read": false, "ReadResponse": true, "Registered": true, "Deregister": true, "RenewLease": false,
		"RenewLeaseResponse": false,
		"Unseal":             false, "UnsealResponse": true,
		"Due": false, "RetainSnapshot": false, "FindSnapshot": false, "DropSnapshot": false, "SnapshotResponse": false,
		"SnapshotListRequest": false, "SnapshotList": false, "LoadReport": false,
		"HeatMap": false, "PairReport": false, "MoveKey": false,
		"SetHotPolicy": false, "HotStatusRequest": false, "HotStatusResponse": false, "WaitReport": false,
	}
	all := filledEnvelopes(rand.New(rand.NewPCG(1, 2)))
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
