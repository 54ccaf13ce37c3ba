package program

import (
	"bytes"
	"context"
	"strings"
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
	} {
		var out, errs bytes.Buffer
		s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
		store := t.TempDir() + "/store"
		require.Equal(t, cli.ExitUsage, run(context.Background(), s, append([]string{"start", "--store", store}, args...)), text)
		require.Contains(t, errs.String(), text)
		require.Contains(t, errs.String(), "hint: see: linchpin start --help")
		require.NoDirExists(t, store, "nothing was begun")
	}
}

func TestNoHistoryIsANegativeOne(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: -1, 1: 1, kv.DefaultHistory: kv.DefaultHistory, 24 * time.Hour: 24 * time.Hour} {
		for _, every := range []time.Duration{10 * time.Millisecond, kv.DefaultPinEvery, time.Hour} {
			h, e, err := historyOf(&cobra.Command{}, given, every)
			require.NoError(t, err)
			require.Equal(t, want, h)
			require.Equal(t, every, e)
		}
	}
}
