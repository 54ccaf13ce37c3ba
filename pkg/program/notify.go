package program

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// notify reports the state of the service to systemd (sd_notify), if NOTIFY_SOCKET is set. A failure does not end the
// service: systemd decides that itself.
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
		fmt.Fprintln(errs, "linchpin: cannot notify systemd:", err)
		return
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		fmt.Fprintln(errs, "linchpin: cannot notify systemd:", err)
	}
}
