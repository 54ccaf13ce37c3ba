package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var _, _ Clock = Real{}, (*Manual)(nil)

func TestRealNowIsBoottimeAndNeverDecreases(t *testing.T) {
	c, err := NewReal()
	require.NoError(t, err)
	var before, after unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_BOOTTIME, &before))
	last := c.Now()
	require.GreaterOrEqual(t, last, before.Nano())
	for range 1000 {
		now := c.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.NoError(t, unix.ClockGettime(unix.CLOCK_BOOTTIME, &after))
	require.LessOrEqual(t, last, after.Nano())
}

func TestRealWallIsUnixTime(t *testing.T) {
	lo := time.Now().UnixNano()
	w := Real{}.Wall()
	require.GreaterOrEqual(t, w, lo)
	require.LessOrEqual(t, w, time.Now().UnixNano())
}

func TestManualClockMovesOnCommand(t *testing.T) {
	m := NewManual(5, 100)
	require.EqualValues(t, 5, m.Now())
	require.EqualValues(t, 100, m.Wall())
	m.Advance(3 * time.Nanosecond)
	require.EqualValues(t, 8, m.Now())
	require.EqualValues(t, 103, m.Wall())
	m.SetWall(1)
	require.EqualValues(t, 8, m.Now(), "setting the time of day does not move Now")
	require.EqualValues(t, 1, m.Wall())
	require.Panics(t, func() { m.Advance(-1) })
	require.EqualValues(t, 8, m.Now())
}
