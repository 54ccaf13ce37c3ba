package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// TestSnapshotReadReturnsRequestedSnapshot: the checks reject a read at another snapshot than the requested one, even
// if its results are consistent.
func TestSnapshotReadReturnsRequestedSnapshot(t *testing.T) {
	pin := msg.Snapshot{Number: 7, Name: "monday", Time: world.WallBase + 40}
	for _, tc := range []struct {
		name string
		want string
		at   txn.SnapshotRef
		pins []msg.Snapshot
		kind kind
	}{
		{"the present", "", txn.SnapshotRef{}, nil, oneShot},
		{"by its number", "", txn.SnapshotRef{Number: 7}, []msg.Snapshot{pin}, oneShot},
		{"by its name", "", txn.SnapshotRef{Name: "monday"}, []msg.Snapshot{pin}, oneShot},
		{"by a time", "", txn.SnapshotRef{AsOf: world.WallBase + 41}, []msg.Snapshot{pin}, oneShot},
		{"another number", "number 6 was requested", txn.SnapshotRef{Number: 6}, []msg.Snapshot{pin}, oneShot},
		{"another name", `the requested one is "tuesday"`, txn.SnapshotRef{Name: "tuesday"}, []msg.Snapshot{pin}, oneShot},
		{"a younger one", "1ns younger", txn.SnapshotRef{AsOf: world.WallBase + 39}, []msg.Snapshot{pin}, oneShot},
		{"the present instead", "names no snapshot", txn.SnapshotRef{Number: 7}, nil, oneShot},
		{"a scan of the present instead", "names no snapshot", txn.SnapshotRef{Number: 7}, nil, scan},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newSim(Draw(1))
			w.instants[pin.Number] = 40
			x := &txnRecord{kind: tc.kind, outcome: committed, calls: []*callRecord{{}}}
			if tc.kind == scan {
				x.outcome = running // it has just been opened
			}
			w.placeAtSnapshot(x, tc.at, &txn.Done{Snapshots: tc.pins})
			if tc.want == "" {
				require.NoError(t, w.Err)
				return
			}
			require.ErrorContains(t, w.Err, tc.want)
		})
	}
}
