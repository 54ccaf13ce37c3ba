package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheSimulatedTableIsWhole runs one mix for a moment.
func TestTheSimulatedTableIsWhole(t *testing.T) {
	s := sssOptions{options: &options{rounds: 2, only: "Zipf 1.2, 5k keys, 50 %"}, nodes: 3, clients: []int{2, asThePaper},
		delay: 20 * time.Microsecond, speed: 2,
		virtualWarm: 2 * time.Millisecond, span: 5 * time.Millisecond, message: 2 * time.Microsecond,
		parts: []string{"simulated"}}
	var b strings.Builder
	require.NoError(t, s.run(t.Context(), &b))
	for _, want := range []string{"Charged: 2µs", "MIX", "all that divided by 2", "1 on the hot shard",
		"snapshot / locking, saturated", ">= 7.00", "held, of updates' latency", "1 + aborts of readers"} {
		require.Contains(t, b.String(), want)
	}
	require.Equal(t, 1, strings.Count(b.String(), "<= 1.00 met"), b.String())
}
