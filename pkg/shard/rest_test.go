package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestACleanShutdownWithinTheLeaseSaysNothingOfReaders: an incarnation that ends while readers of the one
// before may still be registered must not note that there are none, or the next one would seal at once.
func TestACleanShutdownWithinTheLeaseSaysNothingOfReaders(t *testing.T) {
	rec := shard.Recovered{State: entry.State{Incarnation: 1, Index: 5, LeaseNanos: int64(2 * time.Second)}}
	rest := func(after time.Duration) []entry.Entry {
		m, _ := shard.New(shard.Config{}, rec, 1, 1)
		m.Step(shard.Input{Now: int64(after), Wall: 1})
		return m.Rest()
	}
	require.Empty(t, rest(time.Second))
	require.NotEmpty(t, rest(3*time.Second))
}
