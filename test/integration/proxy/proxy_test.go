package proxy_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/test/integration/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo starts an echo server. ended receives a value for each connection that has ended.
func echo(t *testing.T) (addr string, ended chan struct{}) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lis.Close()) })
	ended = make(chan struct{}, 10)
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
				ended <- struct{}{}
			}()
		}
	}()
	return lis.Addr().String(), ended
}

func dial(t *testing.T, p *proxy.Proxy) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func send(t *testing.T, c net.Conn, line string) {
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
}

func receive(t *testing.T, r *bufio.Reader, line string) {
	got, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, line+"\n", got)
}

func TestProxy(t *testing.T) {
	addr, ended := echo(t)
	p, err := proxy.Start(addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)

	c, r := dial(t, p)
	send(t, c, "flows")
	receive(t, r, "flows")

	p.Swallow()
	send(t, c, "late")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = r.ReadByte()
	require.Error(t, err, "a black hole delivers nothing")
	silent, sr := dial(t, p) // accepted nevertheless
	send(t, silent, "hello?")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	p.Heal()
	receive(t, r, "late")
	receive(t, sr, "hello?")

	p.Cut()
	_, err = r.ReadByte()
	require.Error(t, err)
	<-ended // on both sides
	<-ended
	refused, rr := dial(t, p)
	_, _ = io.WriteString(refused, "refused\n") // it may be accepted before it is closed
	_, err = rr.ReadByte()
	require.Error(t, err)

	p.Heal()
	c, r = dial(t, p)
	send(t, c, "again")
	receive(t, r, "again")
	p.Break()
	_, err = r.ReadByte()
	require.Error(t, err)
	require.Equal(t, 4, p.Accepted())

	p.Swallow() // Close ends retained connections too
	_, _ = dial(t, p)
	p.Close()
	p.Close()
}
