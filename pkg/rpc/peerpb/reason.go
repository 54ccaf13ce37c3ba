package peerpb

import (
	"strings"

	"google.golang.org/grpc/status"
)

// Reason says why a call to a peer failed, without the words of gRPC, in which the failure of a
// connection is wrapped several times.
func Reason(err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return err.Error()
	}
	text := s.Message()
	for _, start := range []string{"Error while dialing: ", "authentication handshake failed: "} {
		if _, reason, ok := strings.Cut(text, start); ok {
			return strings.TrimRight(reason, `\"`)
		}
	}
	for _, closed := range []string{"EOF", "closing transport", "goaway", "connection reset by peer",
		"use of closed network connection"} {
		if strings.Contains(text, closed) {
			return "the peer closed the connection"
		}
	}
	return text
}
