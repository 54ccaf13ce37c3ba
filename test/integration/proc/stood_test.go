package proc

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatAYardstickHasSeen: only slow pulses count, each as far as it is within the times
// asked about, and so does one that has not ended.
func TestWhatAYardstickHasSeen(t *testing.T) {
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var y yardstick
	y.end(at(50), at(55)) // as usual
	y.end(at(100), at(400))
	y.end(at(450), at(460))
	y.end(at(500), at(1500))
	for _, c := range []struct{ from, till, stood int }{
		{0, 2000, 1300}, {0, 90, 0}, {200, 300, 100}, {300, 600, 200}, {400, 500, 0}, {1500, 2000, 0},
	} {
		require.Equal(t, time.Duration(c.stood)*time.Millisecond, y.between(at(c.from), at(c.till)), "%v", c)
	}
	y.begin(at(1600))
	require.Equal(t, 1300*time.Millisecond, y.between(at(0), at(1610)), "it may yet be as usual")
	require.Equal(t, 1700*time.Millisecond, y.between(at(0), at(2000)))
	require.Equal(t, 100*time.Millisecond, y.between(at(1900), at(2000)))
	for i := range pulsesKept {
		y.end(at(2000+100*i), at(2050+100*i))
	}
	require.LessOrEqual(t, len(y.stood), pulsesKept)
	require.Equal(t, 50*time.Millisecond, y.between(at(2000+100*(pulsesKept-1)), at(2000+100*pulsesKept)), "the last one")
}

// TestAYardstickThatIsHeldUp: a machine on which nothing ends is seen to stand still at once.
func TestAYardstickThatIsHeldUp(t *testing.T) {
	held, hold, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	pulses := 0
	y := &yardstick{pulse: func() {
		pulses++
		if pulses == 1 {
			close(held)
			<-hold
		}
	}}
	go func() {
		defer close(done)
		y.run(stop)
	}()
	<-held
	begin := time.Now()
	Until(t, "it is seen", func(context.Context) bool { return y.between(begin, time.Now()) > 100*time.Millisecond }, func() string { return "it is not" })
	now := time.Now()
	require.InDelta(t, now.Sub(begin).Seconds(), y.between(begin, now).Seconds(), 0.001)
	close(hold)
	close(stop)
	<-done
}
