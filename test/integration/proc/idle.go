package proc

import (
	"errors"
	"io"
	"net"
	"time"
)

// preface is what an HTTP/2 client says before all else, with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// DialIdle opens a connection as clients do, on which nothing happens then. It
// fails if the node does not answer within a time.
func DialIdle(addr string, within time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, within)
	if err != nil {
		return nil, err
	}
	err = conn.SetDeadline(time.Now().Add(within))
	if err == nil {
		_, err = io.WriteString(conn, preface)
	}
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 9)) // the head of its settings
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// CloseAll closes connections.
func CloseAll(conns []net.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close() // the other end may have been first
		}
	}
}
