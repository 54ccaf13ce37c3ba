package integration

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// hotKeyArgs are arguments that put the most used keys of package torture on the hot shard.
func hotKeyArgs() (args []string) {
	for _, k := range torture.HotKeys() {
		args = append(args, "--hot-key", k)
	}
	return args
}

// faultCount returns the number of faults that a test injects: usual, half of it in a short run, or the
// value of LINCHPIN_FAULTS.
func faultCount(t *testing.T, usual int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("LINCHPIN_FAULTS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return (usual + 1) / 2
	}
	return usual
}

// TestKilledNodesLoseNothing kills nodes at arbitrary moments under load of every kind, one after the other
// and two at a time. Acknowledged writes survive, and no transaction is applied in part.
func TestKilledNodesLoseNothing(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"hot-last", "parallel"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			kills := faultCount(t, 6)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			c := proc.StartCluster(t, proc.Options{Args: append(hotKeyArgs(), "--commit-order", order)})
			run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
			for k := range kills {
				run.Await(t, 20+r.IntN(200))
				first := c.Node(r.IntN(3))
				first.Kill()
				switch k % 4 {
				case 1: // down until some transactions have failed
					run.AwaitFailures(t, 5)
				case 2: // a second node is killed while the first one starts
					run.AwaitFailures(t, 1)
					first.Launch(t)
					c.Node(r.IntN(3)).Kill()
				case 3: // all nodes are killed, and again during recovery
					for range 2 {
						for _, n := range c.Nodes() {
							n.Kill()
							n.Launch(t)
						}
					}
				}
				for _, n := range c.Nodes() {
					if !n.Running() {
						n.Launch(t)
					}
					n.AwaitServing(t)
				}
			}
			c.WaitConnected(t)
			run.Await(t, 100)
			run.Finish(t)
		})
	}
}
