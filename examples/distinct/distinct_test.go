package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/program"
)

// wrongEnv has this binary be a program whose declaration is wrong.
const wrongEnv = "DISTINCT_IS_WRONG"

func TestMain(m *testing.M) {
	if os.Getenv(wrongEnv) != "" {
		wrong := distinct
		wrong.Commute = append(wrong.Commute, adt.Commutes{A: addKind, B: countKind, When: adt.Always})
		adt.Install(wrong)
		program.Main()
	}
	os.Exit(m.Run())
}

func TestTheDeclarationHolds(t *testing.T) {
	made, err := adt.Declare(distinct)
	require.NoError(t, err)
	report, err := check.Examine(made, 1, 2000)
	require.NoError(t, err)
	require.Empty(t, report.Strict)
	require.Empty(t, report.Untried)
}

func TestTheEstimateIsNear(t *testing.T) {
	s := distinct.Zero()
	for n := 1; n <= 100_000; n++ {
		var err error
		for range 2 { // the second time nothing changes
			s, err = add(s, adt.Args{adt.Bytes(fmt.Appendf(nil, "item %d", n))})
			require.NoError(t, err)
		}
		if n == 10 || n == 1000 || n == 5000 || n == 100_000 {
			got, err := count(s, nil)
			require.NoError(t, err)
			require.InEpsilon(t, n, got[0].Int, 0.07, "three standard errors")
		}
	}
}

// TestTheProgram builds the program, and uses the type as any other: by the client
// and on the command line, and again after a restart.
func TestTheProgram(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "distinct")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(bin, "check-types", "--rounds", "300", "distinct").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "distinct: ok (add, count)")

	dir := t.TempDir()
	add := func(items ...any) client.Op {
		return client.CallOp[any]("visitors", "distinct", "add", nil, items...)
	}
	count := client.CallOp("visitors", "distinct", "count", func(d []client.Datum) (int64, error) {
		return d[0].Int(), nil
	})
	for run := range 2 {
		addr, stop := start(t, bin, dir)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		db, err := client.Open(ctx, []string{addr})
		require.NoError(t, err)
		if run == 0 {
			require.NoError(t, db.Execute(ctx, add("ann", "bob"), add("bob", "eve")))
		}
		require.NoError(t, db.Execute(ctx, count))
		require.Equal(t, int64(3), count.Value())
		err = db.Execute(ctx, client.CallOp[any]("visitors", "distinct", "forget", nil))
		require.ErrorContains(t, err, "forget")
		require.NoError(t, db.Close())
		cancel()
		stop()
	}
}

// TestAWrongDeclarationDoesNotStart: the server reports why.
func TestAWrongDeclarationDoesNotStart(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	store := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(self, "start", "--store", store, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), wrongEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	for _, part := range []string{`"distinct" is not what its declaration says`, "add ", "count", "check-types"} {
		require.Contains(t, string(out), part)
	}
	require.NoDirExists(t, store, "nothing was begun")
}

// start runs a server until stop, and gives its address.
func start(t *testing.T, bin, dir string) (addr string, stop func()) {
	cmd := exec.Command(bin, "start", "--store", dir, "--listen", "127.0.0.1:0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, err, "%s", &errs)
	_, addr, found := strings.Cut(strings.TrimSpace(line), " serves at ")
	require.True(t, found, "%s", line)
	return addr, func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_, _ = io.Copy(io.Discard, lines)
		require.NoError(t, cmd.Wait(), "%s", &errs)
	}
}

// TestThePageShowsWhatIsPrinted: docs/own-types.md has the words for a wrong declaration.
func TestThePageShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../docs/own-types.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "$ distinct check-types distinct\n")
	require.True(t, found)
	shown, _, found = strings.Cut(shown, "```\n")
	require.True(t, found)

	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "check-types", "distinct")
	cmd.Env = append(os.Environ(), wrongEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, shown, string(out))
}
