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
