package simulated_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// apps are small and contended.
var apps = map[string]func(app.Env) (app.App, error){
	"raw-mix": func(e app.Env) (app.App, error) { return app.NewRawMix(e, app.RawMix{Sets: 50, Skew: 0.9, Adds: 50}) },
	"rubis": func(e app.Env) (app.App, error) {
		return app.NewRubis(e, app.Rubis{Items: 100, Users: 100, Skew: 1, Mix: app.RubisBidHeavy})
	},
	"retwis": func(e app.Env) (app.App, error) {
		return app.NewRetwis(e, app.Retwis{Scale: 7, Followers: 8, Mix: app.RetwisPostHeavy})
	},
}

func smallApp(name string) simulated.Options {
	return simulated.Options{Nodes: 4, Clients: 8, Delay: 200 * time.Microsecond, Drain: true, Seed: 7,
		AppOptions: simulated.AppOptions{App: apps[name], Batches: true},
		Warm:       20 * time.Millisecond, Measure: 100 * time.Millisecond,
		Costs: simulated.Costs{Message: 2 * time.Microsecond,
			Other: 3 * time.Microsecond}}
}

// TestApplicationsKeepTheirPromises runs every kind of sharing and looks for what
// applications promise in the end; and one seed is one run.
func TestApplicationsKeepTheirPromises(t *testing.T) {
	for name := range apps {
		for _, s := range []shard.Sharing{{}, {Locks: shard.RWLocks}, {Phasing: true}, {Combining: true},
			{Locks: shard.RWLocks, Phasing: true, Combining: true}} {
			t.Run(name+" "+s.Locks.String()+" "+s.Phasing.String()+" "+s.Combining.String(), func(t *testing.T) {
				t.Parallel()
				o := smallApp(name)
				o.Sharing = s
				r, err := simulated.Run(o)
				require.NoError(t, err)
				require.Greater(t, r.All.Committed, 100)
				require.Less(t, r.All.Failed, r.All.Committed/20)
				again, err := simulated.Run(o)
				require.NoError(t, err)
				again.Options, r.Options = simulated.Options{}, simulated.Options{} // functions are not equal
				require.Equal(t, r, again)
			})
		}
	}
}
