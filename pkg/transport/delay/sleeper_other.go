//go:build !linux

package delay

import (
	"sync"
	"time"
)

// Sleeper sleeps for one goroutine. On this platform it is the Go runtime's timer, whose shortest sleeps
// take about 1 ms.
type Sleeper struct {
	timer  *time.Timer
	closed chan struct{}
	once   sync.Once
}

// NewSleeper makes a sleeper.
func NewSleeper() (*Sleeper, error) {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &Sleeper{timer: t, closed: make(chan struct{})}, nil
}

// Sleep returns true after d, and false if the sleeper is closed.
func (s *Sleeper) Sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	s.timer.Reset(d)
	select {
	case <-s.timer.C:
		return true
	case <-s.closed:
		s.timer.Stop()
		return false
	}
}

// Close wakes a pending Sleep.
func (s *Sleeper) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
