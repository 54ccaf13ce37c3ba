package msg

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	// resultFrame, pairFrame and datumFrame bound the additional length of a result, pair or datum in a response to a
	// client, compared with a message between shards: the number of a counter, and the frame around it.
	resultFrame = 24
	pairFrame   = 16
	datumFrame  = 10
	// firstNamed is the first user-defined type. Responses have the names of these types.
	firstNamed = 128
	// nameBytes bounds the name of a type, with its frame.
	nameBytes = kv.MaxTypeName + 2
)

// ResponseBytes is an upper bound of the length in bytes of results in a response to a client (linchpin.v1.Result). A
// test of package server compares the two.
func ResponseBytes(rs []Result) int {
	n := 0
	for i := range rs {
		r := &rs[i]
		n += r.Size() + resultFrame + pairFrame*len(r.Pairs) + datumFrame*len(r.Data) + typeNameBytes(r.Type)
		for j := range r.Pairs {
			n += typeNameBytes(r.Pairs[j].Type)
		}
	}
	return n
}

func typeNameBytes(t uint32) int {
	if t < firstNamed {
		return 0
	}
	return nameBytes
}

// ResponseTooLarge returns the failure of a request whose results, of at least resultBytes, exceed a response of
// maxResponse bytes; nil if they fit. maxResponse 0 is no bound.
func ResponseTooLarge(resultBytes int, maxResponse uint32) *Failure {
	if maxResponse == 0 || resultBytes+kv.ResponseHeadroom <= int(maxResponse) {
		return nil
	}
	text := "the response would be larger than max_response_bytes, %d: it has about %d bytes of results, perhaps more"
	f := Fail(ReasonRequest, kv.KindInvalid, fmt.Sprintf(text, maxResponse, resultBytes))
	f.Hint = "nothing was applied; read less in one transaction, use Scan, " +
		"or raise max_response_bytes and the gRPC client's receive limit"
	return f
}

// MessageTooLarge returns the failure of reads whose results exceed one message; nil if they fit.
func MessageTooLarge(rs []Result) *Failure {
	n := ResponseBytes(rs)
	if n <= kv.MaxShardResultBytes {
		return nil
	}
	text := "the request reads about %d bytes on one shard, more than the %d that a shard sends at a time"
	f := Fail(ReasonRequest, kv.KindInvalid, fmt.Sprintf(text, n, kv.MaxShardResultBytes))
	f.Hint = "read less in one request, or use Scan"
	return f
}
