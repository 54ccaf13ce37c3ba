package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
)

func TestEachReasonOfARetryIsExplained(t *testing.T) {
	n := 0
	for r := msg.ReasonNone + 1; r.Word() != "unknown"; r++ {
		if r != msg.ReasonRequest { // an error of the request is not retried
			n++
			require.NotEmpty(t, legend[r.Word()], r.Word())
		}
	}
	require.Greater(t, n, 10)
}
