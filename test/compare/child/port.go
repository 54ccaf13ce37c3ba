package child

import (
	"net"
	"strconv"
)

// FreePorts finds free ports of the loopback, all
// different. Another process may take one before it is used; then the server ends, and
// may be started with others (ErrEnded).
func FreePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only at the end, so that no port is given twice
		ports[i] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Loopback is the address of a port.
func Loopback(port string) string { return net.JoinHostPort("127.0.0.1", port) }
