package delay_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/transport/delay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ends returns a delayed connection and its plain other end.
func ends(t testing.TB, d time.Duration) (*delay.Conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	b, err := l.Accept()
	require.NoError(t, err)
	c, err := delay.Wrap(a, d)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); b.Close() })
	return c, b
}

// echo sends back received data until the connection ends.
func echo(c net.Conn) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(c, c)
	}()
	return done
}

func TestDelayAppliesInBothDirections(t *testing.T) {
	for _, d := range []time.Duration{200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		c, b := ends(t, d)
		done := echo(b)
		var trips []time.Duration
		buf := make([]byte, 5)
		for range 40 {
			began := time.Now()
			_, err := c.Write([]byte("hello"))
			require.NoError(t, err)
			_, err = io.ReadFull(c, buf)
			require.NoError(t, err)
			require.Equal(t, "hello", string(buf))
			trips = append(trips, time.Since(began))
		}
		slices.Sort(trips)
		require.GreaterOrEqual(t, trips[0], 2*d, "never early")
		// On a busy machine some trips are late. The fastest one shows the resolution; a sleep of the runtime
		// would be slower.
		require.Less(t, trips[0], 2*d+1500*time.Microsecond, "delay %v", d)
		require.NoError(t, c.Close())
		<-done
	}
}

func TestDelayDoesNotLimitThroughput(t *testing.T) {
	const d, size, count = 50 * time.Millisecond, 8 << 10, 1000
	c, b := ends(t, d)
	sent := make([]byte, size*count)
	rand.Read(sent)
	began := time.Now()
	go func() {
		for part := range slices.Chunk(sent, size) {
			c.Write(part)
		}
	}()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(b, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got), "in order and complete")
	require.GreaterOrEqual(t, time.Since(began), d)
	require.Less(t, time.Since(began), 10*time.Second, "sequential segments would take 50 s")
}

func TestCloseOfOtherEndIsReadAfterData(t *testing.T) {
	c, b := ends(t, time.Millisecond)
	_, err := b.Write([]byte("last data"))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	got, err := io.ReadAll(c)
	require.NoError(t, err, "EOF is not an error")
	require.Equal(t, "last data", string(got), "data in flight precedes EOF")
	require.Eventually(t, func() bool {
		_, err := c.Write([]byte("x"))
		return err != nil
	}, 10*time.Second, time.Millisecond, "writes fail eventually")
}

func TestCloseUnblocksReader(t *testing.T) {
	c, _ := ends(t, time.Hour)
	_, err := c.Write([]byte("not delivered"))
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		failed <- err
	}()
	require.NoError(t, c.Close())
	require.Error(t, <-failed)
	_, err = c.Write([]byte("x"))
	require.Error(t, err)
}

func TestReadDeadline(t *testing.T) {
	c, b := ends(t, time.Millisecond)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.True(t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
	require.NoError(t, c.SetDeadline(time.Time{}))
	_, err = b.Write([]byte("x"))
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestSleeperSleepsAndCloses(t *testing.T) {
	s, err := delay.NewSleeper()
	require.NoError(t, err)
	for _, d := range []time.Duration{-1, 0, 50 * time.Microsecond, 3 * time.Millisecond} {
		began := time.Now()
		require.True(t, s.Sleep(d))
		require.GreaterOrEqual(t, time.Since(began), d)
	}
	woken := make(chan bool)
	go func() { woken <- s.Sleep(time.Hour) }()
	require.NoError(t, s.Close())
	require.False(t, <-woken)
	require.False(t, s.Sleep(time.Millisecond), "stays closed")
}
