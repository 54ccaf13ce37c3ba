package program

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
)

func TestRunAssemblesTheCommandLine(t *testing.T) {
	var out, errs bytes.Buffer
	s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	require.Equal(t, cli.ExitOK, run(context.Background(), s, []string{"version"}))
	require.Contains(t, out.String(), "linchpin ")
	require.Equal(t, cli.ExitUsage, run(context.Background(), s, []string{"no-such-command"}))
	require.Contains(t, errs.String(), "no-such-command")
}
