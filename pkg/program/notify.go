package program

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// notify tells systemd how the service is (sd_notify), if that has started it and wants
// to know. A failure to tell is no reason to end: systemd sees to that itself.
func notify(errs io.Writer, state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if strings.HasPrefix(socket, "@") { // an abstract one
		socket = "\x00" + socket[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		fmt.Fprintln(errs, "linchpin: cannot tell systemd:", err)
		return
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		fmt.Fprintln(errs, "linchpin: cannot tell systemd:", err)
	}
}
