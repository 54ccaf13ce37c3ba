package peerpb

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestReasonsAreWithoutTheWordsOfGRPC(t *testing.T) {
	for text, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp :1: connect: connection refused"`://
		"dial tcp :1: connect: connection refused",
		`connection error: desc = "transport: authentication handshake failed: tls: bad certificate"`://
		"tls: bad certificate",
		`closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway`://
		"the peer closed the connection",
		`error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer`://
		"the peer closed the connection",
		`the node is stopping`: "the node is stopping",
	} {
		require.Equal(t, want, Reason(status.Error(codes.Unavailable, text)))
	}
	require.Equal(t, "other", Reason(errors.New("other")))
}
