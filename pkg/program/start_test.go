package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestFlagsAreChecked(t *testing.T) {
	for text, args := range map[string][]string{
		"--history is -1s, want 0 to 24h":               {"--history", "-1s"},
		"--history is 24h0m0.001s, want 0 to 24h":       {"--history", "24h1ms"},
		"--history-every is 0s, want 10ms to 1h":        {"--history-every", "0"},
		"--history-every is 9ms, want 10ms to 1h":       {"--history-every", "9ms"},
		"--history-every is -1s, want 10ms to 1h":       {"--history-every", "-1s"},
		"--history-every is 1h0m0.001s, want 10ms to 1": {"--history-every", "1h1ms"},
		"long": {"--history", "long"},
		`--hot is "on", want off, pinned or auto`: {"--hot", "on"},
		"--replicas is 2, want 1, 3, 5 or 7":      {"--replicas", "2"},
		"--replicas is 0, want 1, 3, 5 or 7":      {"--replicas", "0"},
		"--replicas is 9, want 1, 3, 5 or 7":      {"--replicas", "9"},
		"--shards is 0, want 1 to 1023":           {"--shards", "0", "--replicas", "3"},
	} {
		var out, errs bytes.Buffer
		s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
		store := t.TempDir() + "/store"
		require.Equal(t, cli.ExitUsage, run(context.Background(), s, append([]string{"start", "--store", store}, args...)),
			text)
		require.Contains(t, errs.String(), text)
		require.Contains(t, errs.String(), "hint: see: linchpin start --help")
		require.NoDirExists(t, store, "nothing was begun")
	}
}

// TestCommandLinesThatCannotWork have the exit code after which a service is not restarted.
func TestCommandLinesThatCannotWork(t *testing.T) {
	for line, text := range map[string]string{
		"start":             `required flag(s) "store" not set`,
		"start x --store d": `unknown command "x" for "linchpin start"`,
		"demo x":            `unknown command "x" for "linchpin demo"`,
		"shell x":           `unknown command "x" for "linchpin shell"`,
		"config x":          `there is no command "x" of "linchpin config"`,
		"config show x":     `unknown command "x" for "linchpin config show"`,
	} {
		var out, errs bytes.Buffer
		s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
		require.Equal(t, cli.ExitUsage, run(context.Background(), s, strings.Fields(line)), line)
		require.Contains(t, errs.String(), text)
		require.Contains(t, errs.String(), "hint: see: linchpin ")
	}
}

// TestFormationByFlags: what is not given is left to the cluster's size.
func TestFormationByFlags(t *testing.T) {
	for args, want := range map[string][2]int{"": {0, 0}, "--replicas 3": {0, 3}, "--shards 8": {8, 0},
		"--shards 4 --replicas 5": {4, 5}, "--replicas 1": {0, 1}} {
		var o startOptions
		c := &cobra.Command{}
		o.addTo(c.Flags())
		require.NoError(t, c.ParseFlags(strings.Fields(args)))
		opt, err := o.options(c)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{opt.Shards, opt.Replicas}, args)
	}
}

func TestNoHistoryIsANegativeOne(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: -1, 1: 1, kv.DefaultHistory: kv.DefaultHistory,
		24 * time.Hour: 24 * time.Hour} {
		for _, every := range []time.Duration{10 * time.Millisecond, kv.DefaultSnapshotInterval, time.Hour} {
			h, e, err := historyOf(&cobra.Command{}, given, every)
			require.NoError(t, err)
			require.Equal(t, want, h)
			require.Equal(t, every, e)
		}
	}
}

// said is what a command has written; it signals when it first has a text.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	once func()
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), s.want) {
		s.once()
	}
	return len(p), nil
}

// TestEndedBeforeItServes: a node that is asked to end while it waits for the other
// members has done what it was asked, and the next start finds the store in order.
func TestEndedBeforeItServes(t *testing.T) {
	args := []string{"start", "--store", t.TempDir() + "/store", "--listen", "127.0.0.1:0", "--advertise", "127.0.0.1:1",
		"--join", "127.0.0.1:1,127.0.0.1:2"}
	for range 2 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it does not meet the others"))
		errs := &said{want: "waiting for the initial members", once: sync.OnceFunc(cancel)}
		require.Equal(t, cli.ExitOK, run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: errs}, args),
			errs.text.String())
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.Contains(t, errs.text.String(), "the node was stopped before it served")
	}
}

// TestDrainedBeforeItServes: the same, at an operator's wish.
func TestDrainedBeforeItServes(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	addr := lis.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	drained := make(chan int, 1)
	errs := &said{want: "waiting for the initial members", once: sync.OnceFunc(func() {
		go func() {
			drained <- run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard},
				[]string{"drain", "--addr", addr})
		}()
	})}
	args := []string{"start", "--store", t.TempDir() + "/store", "--listen", addr, "--join", addr + ",127.0.0.1:2"}
	require.Equal(t, cli.ExitOK, run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: errs}, args),
		errs.text.String())
	require.NoError(t, ctx.Err())
	require.Contains(t, errs.text.String(), "the node was stopped before it served")
	require.Equal(t, cli.ExitOK, <-drained)
}
