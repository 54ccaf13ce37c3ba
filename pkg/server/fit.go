package server

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// maxResponse is the largest response to a request with this max_response_bytes.
func maxResponse(asked uint32) (uint32, *kv.Error) {
	switch {
	case asked == 0:
		return kv.DefaultMaxResponseBytes, nil
	case asked < kv.MinMaxResponseBytes:
		return 0, invalid(fmt.Sprintf("max_response_bytes is %d", asked),
			fmt.Sprintf("the minimum is %d; 0 means %d", kv.MinMaxResponseBytes, kv.DefaultMaxResponseBytes))
	}
	return min(asked, pb.MaxMessageBytes), nil
}

// limitOf is that for a request which may have been refused for it.
func limitOf(asked uint32) int {
	limit, err := maxResponse(asked)
	if err != nil {
		limit = kv.MinMaxResponseBytes
	}
	return int(limit)
}

// tooLarge fails results that do not fit into a response of at most limit bytes.
func tooLarge(rs []msg.Result, limit uint32) *kv.Error {
	f := msg.ResponseTooLarge(msg.ResponseBytes(rs), limit)
	if f == nil {
		return nil
	}
	return &kv.Error{Kind: kv.Kind(f.Kind), Op: -1, Text: f.Text, Hint: f.Hint}
}

// frameBytes is more than the frames around a response in a message have.
const frameBytes = 64

// fit drops from a response what is not needed, if it is longer than limit: how it waited. Its results
// fit (tooLarge).
func fit(out *pb.ExecuteResponse, limit int) {
	if out.Size()+frameBytes > limit {
		out.Receipt, out.AbortReasons = nil, nil
	}
}

// fitError does that for a failure: first what a key holds, then how it waited.
func fitError(d *pb.ErrorDetail, limit int) {
	if d.Size()+frameBytes > limit {
		d.Current = nil
	}
	if d.Size()+frameBytes > limit {
		d.Receipt = nil
	}
}
