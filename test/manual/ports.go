package manual

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// named are the ports that pages name: of nodes, of their HTTP servers 100 above, and
// of Prometheus. Each is replaced by a port as far from base as it is from 7000.
var named = []int{7001, 7002, 7003, 7070, 7071, 7101, 7102, 7103, 7170, 9190}

// span is how far the ports of one shell lie from each other, at most.
const span = 400

// offset is where a named port lies in the span.
func offset(port int) int {
	if port == 9190 {
		return 300
	}
	return port - 7000
}

var bases struct {
	sync.Mutex
	next int
}

// Ports has a free port for each that pages name.
type Ports map[string]string

// FreePorts gives ports of the loopback. They are below the range that systems take the
// ports of outgoing connections from.
func FreePorts(t testing.TB) Ports {
	t.Helper()
	bases.Lock()
	defer bases.Unlock()
	const first, last = 12_000, 30_000
	if bases.next == 0 {
		bases.next = first + os.Getpid()*span%(last-first)
	}
	for range (last - first) / span {
		base := bases.next
		bases.next += span
		if bases.next+span > last {
			bases.next = first
		}
		if !slices.ContainsFunc(named, func(p int) bool { return !free(base + offset(p)) }) {
			out := Ports{}
			for _, p := range named {
				out[strconv.Itoa(p)] = strconv.Itoa(base + offset(p))
			}
			return out
		}
	}
	t.Fatal("there are no free ports")
	return nil
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return err == nil && l.Close() == nil
}
