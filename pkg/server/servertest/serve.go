package servertest

import (
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/server"
)

// Server is a server that runs in front of a backend.
type Server struct {
	*server.Server
	// Addr is where it listens.
	Addr string
	// End stops it; the second time it does nothing.
	End func()
}

// Serve runs a server at addr, or at a free port if addr is empty, until the test
// ends. When it has been stopped nothing of it runs any more.
func Serve(t testing.TB, b server.Backend, addr string, o server.Options) *Server {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	lis, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	o.GRPC = append(slices.Clip(o.GRPC), grpc.WaitForHandlers(true))
	srv, err := server.New(b, o)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	s := &Server{Server: srv, Addr: lis.Addr().String()}
	s.End = sync.OnceFunc(func() {
		srv.Stop()
		require.NoError(t, <-done)
	})
	t.Cleanup(s.End)
	return s
}
