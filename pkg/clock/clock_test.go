package clock

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var _, _ Clock = Real{}, (*Manual)(nil)

// TestRealNowIsBoottime: up to the time between two reads, for many goroutines at once; for none of them it decreases.
func TestRealNowIsBoottime(t *testing.T) {
	c, err := NewReal()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := int64(0)
			for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
				before, err := boottime()
				assert.NoError(t, err)
				now := c.Now()
				after, err := boottime()
				assert.NoError(t, err)
				if now < last || now < before-int64(time.Millisecond) || now > after {
					t.Errorf("%d is not after %d, from %d to %d", now, last, before, after)
					return
				}
				last = now
			}
		})
	}
	wg.Wait()
}

// TestNowIncludesSuspends: whenever the machine is suspended, or the time of day is set; also between two clocks of one
// reading.
func TestNowIncludesSuspends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wall, monotonic, boot, now int64
		var r *reading
		suspended, set := false, false // since a reading began; not both, since one may hide the other
		pass := func() {
			d := rapid.Int64Range(0, maxAge/2).Draw(t, "running")
			wall, monotonic, boot = wall+d, monotonic+d, boot+d
			switch d := rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "jump"); {
			case rapid.IntRange(0, 3).Draw(t, "steady") > 0:
			case rapid.Bool().Draw(t, "set") && !suspended:
				wall, set = wall+d, true
			case d > 0 && !set:
				wall, boot, suspended = wall+d, boot+d, true
			}
		}
		for range 40 {
			pass()
			got, ok := r.now(wall, monotonic)
			if ok {
				require.Less(t, boot-got, maxAge, "%+v", r)
			} else {
				suspended, set = false, false
				w, m := wall, monotonic
				pass()
				b := boot
				pass()
				r = r.next(w, m, b, monotonic)
				got = monotonic + r.boot
			}
			require.LessOrEqual(t, got, boot)
			require.GreaterOrEqual(t, got, now, "decreases")
			now = got
		}
	})
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
