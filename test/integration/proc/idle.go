package proc

import (
	"errors"
	"io"
	"net"
	"time"
)

// preface is the beginning of every HTTP/2 connection of a client, with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// DialIdle opens a connection with an HTTP/2 preface and then leaves it idle. It fails if the node does not
// respond within a time.
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
		_, err = io.ReadFull(conn, make([]byte, 9)) // the header of the node's SETTINGS frame
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
			_ = c.Close() // the peer may have closed it
		}
	}
}
