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

// ahead is how far the clocks of the time namespace are from the machine's. How far they
// could be behind depends on how long the machine is up, so they go back to its own.
const ahead = 40 * 24 * time.Hour

// inTimeNamespace has a node run with a CLOCK_BOOTTIME and CLOCK_MONOTONIC that are off
// by so much, from its next start on: in a namespace of its own, since Linux lets nobody
// set them otherwise, and only as a process is started. 0 is the machine's.
func inTimeNamespace(t *testing.T, n *proc.Node, by time.Duration) {
	t.Helper()
	sandbox.Need(t)
	program, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("there is no program unshare, of util-linux")
	}
	seconds := int64(by / time.Second)
	offsets := []string{fmt.Sprintf("--boottime=%d", seconds), fmt.Sprintf("--monotonic=%d", seconds)}
	if out, err := exec.Command(program, append(append([]string{"-T"}, offsets...), "true")...).CombinedOutput(); err != nil {
		t.Skipf("no time namespaces can be made here: %v: %s", err, out)
	}
	wrapper := filepath.Join(t.TempDir(), "node")
	script := fmt.Sprintf("#!/bin/sh\nexec %s -T %s %s %s \"$@\"\n", program, offsets[0], offsets[1], proc.Build(t).Linchpin)
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o700))
	n.Program = wrapper
}

// requireAhead holds that a node's clocks are off by so much from the machine's.
func requireAhead(t *testing.T, n *proc.Node, by time.Duration) {
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

// TestClocksThatStartElsewhere: nodes whose CLOCK_BOOTTIME is weeks apart, as it is of
// machines that were booted weeks apart, are a cluster like any other. One of them is then
// restarted with a clock that is weeks ahead, and again with one that has jumped back, as
// after a boot: leases, deadlines and pins that its last life knew mean nothing to the next,
// and to the others only by what they have heard. What is written and read meanwhile is
// strictly serializable, readers go on, and states of the past that were kept before can be
// read after. (A jump of the time of day, which needs no restart, is
// pkg/embed.TestTimeOfDayJumps.)
func TestClocksThatStartElsewhere(t *testing.T) {
	t.Parallel()
	hot := []string{}
	for _, k := range torture.HotKeys() {
		hot = append(hot, "--hot-key", k)
	}
	c := proc.NewCluster(t, proc.Options{Args: append(hot, "--history-every", "100ms")})
	jumping := c.Node(2)
	inTimeNamespace(t, c.Node(1), ahead/2)
	c.Start(t)
	requireAhead(t, c.Node(1), ahead/2)
	db := proc.Open(t, []string{c.Node(0).Addr})
	keys := keysOf(20)
	put(t, db, "kept", keys...)
	const snapshot = "before"
	_, err := db.CreateSnapshot(soon(t), snapshot, client.TTL(time.Hour))
	require.NoError(t, err)
	forget(t, db, keys...)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: 4 * time.Second})
	for _, by := range []time.Duration{ahead, 0} {
		run.Await(t, 50)
		require.Zero(t, jumping.Stop(t))
		inTimeNamespace(t, jumping, by)
		jumping.Start(t)
		requireAhead(t, jumping, by)
		c.WaitConnected(t)
		run.Await(t, 50)
		got(t, db.AtSnapshot(snapshot), "kept", keys...)
	}
	require.NoError(t, db.DropSnapshot(soon(t), snapshot))
	run.Finish(t)
}
