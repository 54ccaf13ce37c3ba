package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// clockOffset is the offset of the clocks of the time namespace from the machine's. A negative offset is
// limited by the uptime of the machine, so to go back the test uses offset 0.
const clockOffset = 40 * 24 * time.Hour

// runInTimeNamespace makes a node run, from its next start on, with a CLOCK_BOOTTIME and CLOCK_MONOTONIC
// that differ from the machine's by an offset. Linux sets them only for new processes in a time namespace.
func runInTimeNamespace(t *testing.T, n *proc.Node, by time.Duration) {
	t.Helper()
	sandbox.Need(t)
	program, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("the program unshare of util-linux is not installed")
	}
	seconds := int64(by / time.Second)
	offsets := []string{fmt.Sprintf("--boottime=%d", seconds), fmt.Sprintf("--monotonic=%d", seconds)}
	probe := append(append([]string{"-T"}, offsets...), "true")
	if out, err := exec.Command(program, probe...).CombinedOutput(); err != nil {
		t.Skipf("cannot create time namespaces: %v: %s", err, out)
	}
	wrapper := filepath.Join(t.TempDir(), "node")
	script := fmt.Sprintf("#!/bin/sh\nexec %s -T %s %s %s \"$@\"\n", program, offsets[0], offsets[1],
		proc.Build(t).Linchpin)
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o700))
	n.Program = wrapper
}

// requireClockOffset requires the offset of a node's clocks from the machine's.
func requireClockOffset(t *testing.T, n *proc.Node, by time.Duration) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/timens_offsets", n.PID()))
	require.NoError(t, err)
	off := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		off[f[0]] = f[1]
	}
	want := fmt.Sprint(int64(by / time.Second))
	require.Equal(t, map[string]string{"monotonic": want, "boottime": want}, off)
}

// TestBootClocksMayDiffer: the CLOCK_BOOTTIME of one node differs by weeks from the others', as on machines
// that were booted weeks apart. Another node is restarted with a clock that is weeks ahead, and again with
// one that has jumped back, as after a reboot. Leases, deadlines and snapshots of an incarnation do not
// depend on the clock of the next one or of other nodes.
//
// All results meanwhile are strictly serializable, reads continue, and snapshots from before can be read
// afterwards. (pkg/embed.TestTimeOfDayJumps tests jumps of the wall clock, which need no restart.)
func TestBootClocksMayDiffer(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{Args: append(torture.HotKeyArgs(), "--history-every", "100ms")})
	jumping := c.Node(2)
	runInTimeNamespace(t, c.Node(1), clockOffset/2)
	c.Start(t)
	requireClockOffset(t, c.Node(1), clockOffset/2)
	db := proc.Open(t, []string{c.Node(0).Addr})
	keys := proc.Keys(20)
	put(t, db, "retained", keys...)
	const snapshot = "before"
	_, err := db.CreateSnapshot(proc.Context(t), snapshot, client.TTL(time.Hour))
	require.NoError(t, err)
	deleteKeys(t, db, keys...)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: 4 * time.Second})
	for _, by := range []time.Duration{clockOffset, 0} {
		run.Await(t, 50)
		require.Zero(t, jumping.Stop(t))
		runInTimeNamespace(t, jumping, by)
		jumping.Start(t)
		requireClockOffset(t, jumping, by)
		c.WaitConnected(t)
		run.Await(t, 50)
		requireValues(t, db.AtSnapshot(snapshot), "retained", keys...)
	}
	require.NoError(t, db.DropSnapshot(proc.Context(t), snapshot))
	run.Finish(t)
}
