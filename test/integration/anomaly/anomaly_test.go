package anomaly

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var executed, scanned readFunc = (*scene).readBoth, (*scene).scanBoth

// anomalies has a test of each anomaly for each way to run transactions.
var anomalies = []struct {
	name                       string
	execute, interactive, scan func(*scene)
}{
	{"dirty write", executed.dirtyWrite, dirtyWriteInteractive, scanned.dirtyWrite},
	{"dirty read", executed.dirtyRead, dirtyReadInteractive, scanned.dirtyRead},
	{"lost update", lostUpdateExecute, lostUpdateInteractive, lostUpdateScan},
	{"read skew", executed.readSkew, readSkewInteractive, scanned.readSkew},
	{"write skew", writeSkewExecute, writeSkewInteractive, writeSkewScan},
	{"phantom", phantomExecute, phantomInteractive, phantomScan},
	{"long fork", executed.longFork, longForkInteractive, scanned.longFork},
	{"real-time inversion", executed.realTime, realTimeInteractive, scanned.realTime},
}

func TestAnomalies(t *testing.T) {
	placements := map[txn.Order][]placement{
		txn.HotLast: {spread, together, mixed, hot},
		// Without the role of the hot shard these are alike.
		txn.Parallel: {spread, mixed},
	}
	if testing.Short() {
		placements = map[txn.Order][]placement{txn.HotLast: {mixed}, txn.Parallel: {mixed}}
	}
	for order, placements := range placements {
		t.Run(order.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, order)
			for _, p := range placements {
				for _, a := range anomalies {
					name := string(p) + "/" + a.name
					t.Run(name+"/execute", func(t *testing.T) { a.execute(w.scene(t, p)) })
					t.Run(name+"/interactive", func(t *testing.T) { a.interactive(w.scene(t, p)) })
					t.Run(name+"/scan", func(t *testing.T) { a.scan(w.scene(t, p)) })
				}
			}
		})
	}
}
