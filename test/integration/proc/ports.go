package proc

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// The ports are below the range from which systems take the ports of outgoing connections. So no connection
// takes a port between the check that it is free and the listen call of a node.
const firstPort, lastPort = 12_000, 30_000

var ports struct {
	sync.Mutex
	next int
}

// FreeAddr returns a loopback address on which no process listens. It returns each address once.
func FreeAddr(t testing.TB) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		// Test binaries that run concurrently begin at different ports.
		ports.next = firstPort + os.Getpid()*97%(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		addr := fmt.Sprintf("127.0.0.1:%d", ports.next)
		ports.next++
		if ports.next >= lastPort {
			ports.next = firstPort
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
