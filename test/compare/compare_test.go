package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/compare/debian"
	"github.com/linchpindb/linchpin/test/compare/stores"
)

// call runs the program as from the command line.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	c := command()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for flag, says := range map[string]string{
		"--clients=0": "1 to 1000", "--clients=1001": "1 to 1000", "--rounds=0": "1 to 100", "--duration=0s": "more than 0",
		"--duration=1h": "at most 10m0s", "--warm=-1s": "0 to 10m0s",
		"--stores=redis,oracle": "there are linchpin, linchpin3, postgres, etcd, redis",
		"--stores=":             "names no store", "--no-such-flag": "unknown flag",
	} {
		_, err := call(t, flag)
		require.ErrorContains(t, err, says, flag)
	}
	_, err := call(t, "counter")
	require.ErrorContains(t, err, "unknown command")
}

func TestStoresAreThoseThatWereAskedFor(t *testing.T) {
	o := options{stores: []string{"redis", "linchpin"}}
	kinds := o.kinds()
	require.Len(t, kinds, 2)
	require.Equal(t, []string{"linchpin", "redis"}, []string{kinds[0].Key, kinds[1].Key})
}

func TestAStoreThatIsNotThereIsSkippedInWords(t *testing.T) {
	gone := stores.Kind{Name: "Gone", Needs: []debian.Program{{Name: "gone-server", Package: "gone"}}}
	here := stores.Kind{Name: "Here", Needs: []debian.Program{{Name: "go", Package: "golang"}}}
	var out strings.Builder
	kinds, paths, err := programs(t.Context(), &out, &options{}, []stores.Kind{gone, here}, t.TempDir())
	require.NoError(t, err)
	require.Len(t, kinds, 1)
	require.Equal(t, "Here", kinds[0].Name)
	require.FileExists(t, paths["go"])
	require.Equal(t, "Gone is skipped: there is no program \"gone-server\" here; install it, on Debian as root with: "+
		"apt-get install gone\n", out.String())
	_, _, err = programs(t.Context(), &out, &options{}, []stores.Kind{gone}, t.TempDir())
	require.ErrorContains(t, err, "no store left")
	require.Equal(t, []string{"a", "b"}, packages([]debian.Program{{Package: "b"}, {Package: "a"}, {Package: "b"}}))
}

// table is of made up numbers: three rounds of three ways.
func table() (rounds.Series, []*meter) {
	meters := []*meter{{way: stores.Way{Name: stores.LinchpinName}}, {way: stores.Way{Name: "slow", AtLeast: 20}},
		{way: stores.Way{Name: "fast", AtLeast: 0.5}}}
	for _, m := range meters {
		m.p50, m.p99, m.serverCPU, m.clientCPU = []float64{3, 1, 2}, []float64{30, 10, 20}, []float64{7, 5, 6},
			[]float64{4, 8, 9}
		m.acknowledged.Store(12)
	}
	return rounds.Series{stores.LinchpinName: {100, 300, 200}, "slow": {5, 10, 10}, "fast": {400, 900, 500}}, meters
}

func TestTheTableHasMediansAndRatiosOfRounds(t *testing.T) {
	s, meters := table()
	require.Equal(t, []string{stores.LinchpinName, "200", "100", "300", "2.00", "20.0", "6.00", "8.00", "", ""},
		row(s, meters[0]))
	require.Equal(t, []string{"slow", "10.0", "5.00", "10.0", "2.00", "20.0", "6.00", "8.00", "20.0× (20.0 to 30.0)",
		"≥ 20, met"}, row(s, meters[1]))
	require.Equal(t, []string{"0.33× (0.25 to 0.40)", "≥ 0.5, MISSED"}, row(s, meters[2])[8:])
	for _, m := range meters {
		require.Len(t, row(s, m), len(heads))
	}
	delete(s, stores.LinchpinName)
	require.Equal(t, []string{"", ""}, row(s, meters[1])[8:], "there is nothing to hold it against")
}

func TestTheTableForATerminalAndForAPage(t *testing.T) {
	s, meters := table()
	var out strings.Builder
	require.NoError(t, report(&out, &options{rounds: 3}, s, meters))
	require.Contains(t, out.String(), "Medians of 3 interleaved rounds")
	require.Regexp(t, `(?m)^counter +increments/s +least`, out.String())
	require.Contains(t, out.String(), "slow: 12 acknowledged, 0 unknown\n")
	out.Reset()
	require.NoError(t, report(&out, &options{rounds: 3, markdown: true}, s, meters))
	require.Contains(t, out.String(), "\n| slow | 10.0 | 5.00 |")
	require.Contains(t, out.String(), "\n|---|---|")
}

func TestACounterHoldsWhatWasAcknowledged(t *testing.T) {
	boom := errors.New("boom")
	holds, next := int64(0), error(nil)
	m := &meter{way: stores.Way{
		Increment: func(context.Context, int) error { return next },
		Value:     func(context.Context) (int64, error) { return holds, nil },
	}}
	require.NoError(t, m.verify(t.Context()))
	require.NoError(t, m.increment(t.Context(), 0))
	require.ErrorContains(t, m.verify(t.Context()), "holds 0 after 1")
	holds = 1
	require.NoError(t, m.verify(t.Context()))
	holds = 2
	require.ErrorContains(t, m.verify(t.Context()), "holds 2 after 1")

	next = errors.Join(stores.ErrUnknown, boom)
	require.NoError(t, m.increment(t.Context(), 0), "counted apart")
	require.Equal(t, []int64{1, 1}, []int64{m.acknowledged.Load(), m.unknown.Load()})
	require.NoError(t, m.verify(t.Context()), "it may have been done")
	holds = 1
	require.NoError(t, m.verify(t.Context()), "or not")
	m.unknown.Store(mostUnknown)
	require.ErrorIs(t, m.increment(t.Context(), 0), boom)
	next = boom
	require.Equal(t, boom, m.increment(t.Context(), 0), "one that was not done ends the run")
}

// TestAWholeRun compares linchpin with whichever stores are here, for a moment.
func TestAWholeRun(t *testing.T) {
	for _, k := range stores.All() {
		t.Run(k.Key, func(t *testing.T) {
			for _, p := range k.Needs {
				if _, ok := p.Find(); !ok && p.Name != stores.Linchpin {
					t.Skip(p.Advice())
				}
			}
			dir := t.TempDir()
			// The user that PostgreSQL runs as has to come by.
			for at := dir; at != filepath.Dir(at) && strings.HasPrefix(at,
				os.TempDir()+string(filepath.Separator)); at = filepath.Dir(at) {
				require.NoError(t, os.Chmod(at, 0o711))
			}
			out, err := call(t, "--stores", k.Key, "--dir", dir, "--rounds", "1", "--warm", "10ms", "--duration", "300ms",
				"--clients", "4")
			require.NoError(t, err, out)
			require.Contains(t, out, k.Name)
			require.NotRegexp(t, ` 0 acknowledged`, out)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options{clients: 4, rounds: 1, measure: time.Minute, stores: []string{"linchpin"}, dir: dir}
	err := run(ctx, writerFunc(func(p []byte) {
		if bytes.Contains(p, []byte("round 1")) {
			cancel()
		}
	}), &o)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

func TestAnFsyncTakesTime(t *testing.T) {
	dir := t.TempDir()
	took, err := fsyncTakes(dir)
	require.NoError(t, err)
	require.Positive(t, took)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = fsyncTakes(filepath.Join(dir, "gone"))
	require.Error(t, err)
}
