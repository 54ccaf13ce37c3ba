package delay

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Sleeper sleeps for one goroutine. On Linux it is a timerfd in the runtime's poller, because a sleep of
// the Go runtime takes at least 1.1 ms in a process that is otherwise idle.
type Sleeper struct {
	file *os.File
	buf  [8]byte
}

// NewSleeper makes a sleeper, which holds a file descriptor until Close.
func NewSleeper() (*Sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("delay: cannot create a timer: %w", err)
	}
	// The descriptor is non-blocking: a read of the file waits in the poller, and Close wakes it.
	return &Sleeper{file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// Sleep returns true after d, and false if the sleeper is closed.
func (s *Sleeper) Sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	raw, err := s.file.SyscallConn()
	if err != nil {
		return false
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	var set error
	if err := raw.Control(func(fd uintptr) { set = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); err != nil ||
		set != nil {
		return false
	}
	n, err := s.file.Read(s.buf[:])
	return err == nil && n == len(s.buf) && binary.NativeEndian.Uint64(s.buf[:]) > 0
}

// Close wakes a pending Sleep.
func (s *Sleeper) Close() error { return s.file.Close() }
