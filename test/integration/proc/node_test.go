package proc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// failures is a test whose failures are looked at.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper()      {}
func (f *failures) Failed() bool { return false }

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// shell is a node that is a shell script.
func shell(t *testing.T, script string) *Node {
	t.Helper()
	n := &Node{Program: "/bin/sh", Args: []string{"-c", script}, Output: &Output{}, name: "shell"}
	t.Cleanup(n.Kill)
	n.Launch(t)
	return n
}

// TestANodeThatEndsByItselfFailsItsTest: also if it was killed, asked to end or
// started again after that.
func TestANodeThatEndsByItselfFailsItsTest(t *testing.T) {
	for name, then := range map[string]func(*Node){
		"nothing":       func(*Node) {},
		"killed":        (*Node).Kill,
		"started again": func(n *Node) { n.Args = []string{"-c", "exec sleep 60"}; n.Launch(t) },
	} {
		t.Run(name, func(t *testing.T) {
			n := shell(t, "exit 3")
			<-n.proc.done
			then(n)
			f := &failures{TB: t}
			n.end(f)
			require.Equal(t, []string{"shell ended by itself, with exit code 3"}, f.said)
		})
	}
}

// TestANodeThatIsMadeToEndDoesNot, nor one that was expected to.
func TestANodeThatIsMadeToEndDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		ends   func(*Node)
	}{
		"it runs":        {"exec sleep 60", func(*Node) {}},
		"killed":         {"exec sleep 60", (*Node).Kill},
		"asked":          {"exec sleep 60", func(n *Node) { require.Equal(t, -1, n.Stop(t)) }},
		"waited for":     {"exit 3", func(n *Node) { require.Equal(t, 3, n.Wait(t)) }},
		"serves or ends": {"exit 3", func(n *Node) { require.False(t, n.ServesOrEnds(t)) }},
		"said it may end": {"exec sleep 60", func(n *Node) {
			n.MayEnd()
			require.NoError(t, n.proc.cmd.Process.Kill())
			<-n.proc.done
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := shell(t, c.script)
			c.ends(n)
			f := &failures{TB: t}
			n.end(f)
			require.Empty(t, f.said)
		})
	}
}
