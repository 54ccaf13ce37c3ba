package echo_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/bench/echo"
)

func TestEveryCallerIsAnsweredOnAllWays(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := echo.NewServer(40)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	const callers = 16
	c, err := echo.Dial(lis.Addr().String(), callers, 128)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range 100 {
				if err := c.Stream(t.Context(), i); err != nil {
					t.Error(err)
				}
				if err := c.Yielding(t.Context(), i); err != nil {
					t.Error(err)
				}
				if err := c.Raw(t.Context(), i); err != nil {
					t.Error(err)
				}
				if err := c.Unary(t.Context(), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Stop()
	require.NoError(t, <-served)
	require.Error(t, c.Stream(t.Context(), 0), "a call after the server has gone must fail, not hang")
	require.NoError(t, c.Close())
}
