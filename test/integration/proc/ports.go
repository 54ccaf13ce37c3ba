package proc

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// Ports are dealt from below the range that systems take the ports of
// outgoing connections from, so that nobody gets one by chance between the
// time it is found free and the time a node listens on it.
const firstPort, lastPort = 12_000, 30_000

var ports struct {
	sync.Mutex
	next int
}

// FreeAddr gives an address of the loopback on which nobody listens, and gives
// it once.
func FreeAddr(t testing.TB) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		// Test binaries that run at the same time begin at different places.
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
