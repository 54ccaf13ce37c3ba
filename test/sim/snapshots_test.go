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
	row := msg.Snapshot{Number: 7, Name: "monday", Time: world.WallBase + 40}
	for _, tc := range []struct {
		name string
		want string
		at   txn.SnapshotRef
		rows []msg.Snapshot
		kind kind
	}{
		{"the present", "", txn.SnapshotRef{}, nil, oneShot},
		{"by its number", "", txn.SnapshotRef{Number: 7}, []msg.Snapshot{row}, oneShot},
		{"by its name", "", txn.SnapshotRef{Name: "monday"}, []msg.Snapshot{row}, oneShot},
		{"by a time", "", txn.SnapshotRef{AsOf: world.WallBase + 41}, []msg.Snapshot{row}, oneShot},
		{"another number", "number 6 was requested", txn.SnapshotRef{Number: 6}, []msg.Snapshot{row}, oneShot},
		{"another name", `the requested one is "tuesday"`, txn.SnapshotRef{Name: "tuesday"}, []msg.Snapshot{row}, oneShot},
		{"a younger one", "1ns younger", txn.SnapshotRef{AsOf: world.WallBase + 39}, []msg.Snapshot{row}, oneShot},
		{"the present instead", "names no snapshot", txn.SnapshotRef{Number: 7}, nil, oneShot},
		{"a scan of the present instead", "names no snapshot", txn.SnapshotRef{Number: 7}, nil, scan},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newSim(Draw(1))
			w.instants[row.Number] = 40
			x := &txnRecord{kind: tc.kind, outcome: committed, calls: []*callRecord{{}}}
			if tc.kind == scan {
				x.outcome = running // it has just been opened
			}
			w.placeAtSnapshot(x, tc.at, &txn.Done{Snapshots: tc.rows})
			if tc.want == "" {
				require.NoError(t, w.Err)
				return
			}
			require.ErrorContains(t, w.Err, tc.want)
		})
	}
}
