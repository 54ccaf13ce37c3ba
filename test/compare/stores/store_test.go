package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/compare/child"
)

// kind starts shells, each with the next of some scripts.
func kind(pids *[]int, scripts ...string) Kind {
	return Kind{Key: "shell", Name: "Shell", start: func(ctx context.Context, p Place, s *Server) error {
		script := scripts[len(*pids)]
		process, err := s.launch(child.Spec{Path: "/bin/sh", Args: []string{"-c", script}, Dir: p.Dir})
		if err != nil {
			return err
		}
		*pids = append(*pids, process.PID())
		return process.Ready(ctx, func(context.Context) error {
			_, err := os.Stat(filepath.Join(p.Dir, "ready"))
			return err
		})
	}}
}

// gone fails unless none of the processes is left.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
}

const (
	serves = "touch ready; exec sleep 60"
	taken  = "echo the port is taken; exit 1"
)

func TestAServerWhosePortWasTakenIsStartedAgain(t *testing.T) {
	var pids []int
	s, err := kind(&pids, taken, taken, serves).Start(t.Context(), Place{Dir: filepath.Join(t.TempDir(), "shell")})
	require.NoError(t, err)
	require.Len(t, pids, 3)
	require.NoError(t, s.Stop())
	gone(t, pids)
}

func TestAServerThatNeverServesIsGivenUp(t *testing.T) {
	var pids []int
	_, err := kind(&pids, taken, taken, taken).Start(t.Context(), Place{Dir: t.TempDir()})
	require.ErrorIs(t, err, child.ErrEnded)
	require.ErrorContains(t, err, "starting Shell")
	require.ErrorContains(t, err, "the port is taken")
	gone(t, pids)
}

func TestAServerThatCannotBeUsedIsEnded(t *testing.T) {
	var pids []int
	k, boom := kind(&pids, serves), errors.New("boom")
	inner := k.start
	k.start = func(ctx context.Context, p Place, s *Server) error {
		return errors.Join(inner(ctx, p, s), boom)
	}
	_, err := k.Start(t.Context(), Place{Dir: t.TempDir()})
	require.ErrorIs(t, err, boom)
	require.Len(t, pids, 1, "it is not tried again")
	gone(t, pids)
}

func TestUnexpectedEndOfServerIsReported(t *testing.T) {
	var pids []int
	s, err := kind(&pids, serves).Start(t.Context(), Place{Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	// Ready returns when the end has been seen.
	require.ErrorIs(t, s.processes[0].Ready(t.Context(), func(context.Context) error { return errors.New("no") }),
		child.ErrEnded)
	closed := false
	s.disconnect = append(s.disconnect, func() error { closed = true; return nil })
	require.ErrorContains(t, s.Stop(), "Shell: sh ended by itself")
	require.True(t, closed)
}

func TestNamesAreDifferent(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		require.NotEmpty(t, k.Needs, k.Name)
		for _, name := range []string{k.Key, k.Name} {
			require.False(t, seen[name] && k.Key != k.Name, name)
			seen[name] = true
		}
	}
	require.ErrorIs(t, unknown(fmt.Errorf("no answer")), ErrUnknown)
}
