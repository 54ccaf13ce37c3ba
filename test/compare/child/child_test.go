package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell starts a script as a server.
func shell(t *testing.T, script string, spec Spec) *Process {
	t.Helper()
	spec.Path, spec.Args, spec.Dir = "/bin/sh", []string{"-c", script}, t.TempDir()
	p, err := Start(spec)
	require.NoError(t, err)
	return p
}

// made succeeds once the server has made a file.
func made(p *Process, name string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(filepath.Join(p.spec.Dir, name))
		return err
	}
}

func TestAServerIsAskedInItsOwnWay(t *testing.T) {
	p := shell(t, `trap 'touch asked; exit 0' INT; trap '' TERM; touch ready; while :; do sleep 0.01; done`,
		Spec{Quit: syscall.SIGINT})
	require.NoError(t, p.Ready(t.Context(), made(p, "ready")))
	require.NoError(t, p.Stop())
	require.FileExists(t, filepath.Join(p.spec.Dir, "asked"))
}

func TestWaitingForAServerEndsWithItsContext(t *testing.T) {
	p := shell(t, "exec sleep 60", Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	never := errors.New("not yet")
	err := p.Ready(ctx, func(context.Context) error { cancel(); return never })
	require.ErrorIs(t, err, never)
	require.NoError(t, p.Stop())
}

func TestChildrenHaveNoneOfOurSettings(t *testing.T) {
	t.Setenv("PGOPTIONS", "-c fsync=off")
	out, err := Run(t.Context(), Spec{Path: "/usr/bin/env", Dir: t.TempDir()})
	require.NoError(t, err)
	require.NotContains(t, out, "PGOPTIONS")
}

func TestUserIsNeededByRootOnly(t *testing.T) {
	u, err := Unprivileged("no-such-user", "nobody")
	require.NoError(t, err)
	if os.Geteuid() != 0 {
		require.Nil(t, u)
		require.NoError(t, u.Own("/"))
		return
	}
	require.Equal(t, "nobody", u.Name)
	require.NotZero(t, u.UID)
	dir := t.TempDir()
	require.NoError(t, u.Own(dir))
	_, err = Unprivileged("no-such-user")
	require.ErrorContains(t, err, "no-such-user")
}

func TestProcessorTimeIsThatOfChildrenToo(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here")
	}
	p := shell(t, `(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch done; exec sleep 60) &
trap 'kill $!; exit 0' TERM; wait`, Spec{})
	require.NoError(t, p.Ready(t.Context(), made(p, "done")))
	require.Positive(t, p.CPU())
	require.Positive(t, OwnCPU())
	require.NoError(t, p.Stop())
}

func TestARunGivesWhatWasSaid(t *testing.T) {
	out, err := Run(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "echo said"}, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, "said\n", out)
	_, err = Run(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "echo why; exit 2"}, Dir: t.TempDir()})
	require.ErrorContains(t, err, "why")
}
