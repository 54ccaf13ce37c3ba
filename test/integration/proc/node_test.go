package proc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordingTB is a test whose failures are recorded.
type recordingTB struct {
	testing.TB
	errors []string
}

func (f *recordingTB) Helper()      {}
func (f *recordingTB) Failed() bool { return false }

func (f *recordingTB) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// startShell starts a node whose program is a shell script.
func startShell(t *testing.T, script string) *Node {
	t.Helper()
	n := &Node{Program: "/bin/sh", Args: []string{"-c", script}, Output: &Output{}, name: "shell"}
	t.Cleanup(n.Kill)
	n.Launch(t)
	return n
}

// TestUnexpectedExitFailsTest: also if the node was killed or restarted afterwards.
func TestUnexpectedExitFailsTest(t *testing.T) {
	for name, then := range map[string]func(*Node){
		"nothing":   func(*Node) {},
		"killed":    (*Node).Kill,
		"restarted": func(n *Node) { n.Args = []string{"-c", "exec sleep 60"}; n.Launch(t) },
	} {
		t.Run(name, func(t *testing.T) {
			n := startShell(t, "exit 3")
			<-n.proc.done
			then(n)
			f := &recordingTB{TB: t}
			n.cleanUp(f)
			require.Equal(t, []string{"shell exited unexpectedly with exit code 3"}, f.errors)
		})
	}
}

// TestExpectedExitIsNoFailure: a process may end after Kill, Stop, Wait, AwaitServingOrExit and ExpectExit.
func TestExpectedExitIsNoFailure(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		ends   func(*Node)
	}{
		"running":         {"exec sleep 60", func(*Node) {}},
		"killed":          {"exec sleep 60", (*Node).Kill},
		"stopped":         {"exec sleep 60", func(n *Node) { require.Equal(t, -1, n.Stop(t)) }},
		"waited for":      {"exit 3", func(n *Node) { require.Equal(t, 3, n.Wait(t)) }},
		"serves or exits": {"exit 3", func(n *Node) { require.False(t, n.AwaitServingOrExit(t)) }},
		"expected to exit": {"exec sleep 60", func(n *Node) {
			n.ExpectExit()
			require.NoError(t, n.proc.cmd.Process.Kill())
			<-n.proc.done
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := startShell(t, c.script)
			c.ends(n)
			f := &recordingTB{TB: t}
			n.cleanUp(f)
			require.Empty(t, f.errors)
		})
	}
}
