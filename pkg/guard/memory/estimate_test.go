package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEstimatesGoDownInTheirTime(t *testing.T) {
	var e Estimates
	at := func(d time.Duration) int64 { return int64(time.Hour + d) }
	require.EqualValues(t, 4<<20, e.At(Ranges, at(0)), "nothing is known")
	require.EqualValues(t, 64<<10, e.At(Points, at(0)))
	require.Zero(t, e.At(Blind, at(0)))
	for range 1000 { // small ones at once change nothing
		e.Saw(Ranges, 10, at(0))
		e.Saw(Blind, 10, at(0))
	}
	require.EqualValues(t, 4<<20, e.At(Ranges, at(0)))
	require.EqualValues(t, 1<<20, e.At(Ranges, at(4*time.Second)))
	require.EqualValues(t, 256<<10, e.At(Ranges, at(time.Hour)))
	e.Saw(Ranges, 17<<20, at(time.Hour))
	require.EqualValues(t, 17<<20, e.At(Ranges, at(time.Hour)), "a large one counts at once")
	e.Saw(Ranges, 1<<20, at(time.Hour))
	require.EqualValues(t, 17<<20, e.At(Ranges, at(time.Hour)))
	require.EqualValues(t, 64<<10, e.At(Points, at(time.Hour)), "another class")
	require.EqualValues(t, 17<<20, e.At(Ranges, at(0)), "the time may go back")
}
