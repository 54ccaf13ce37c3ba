package echo

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// request is a put of a key of 16 bytes.
func request(id uint64, value []byte) pb.ExecuteRequest {
	return pb.ExecuteRequest{TxnId: kv.TxnID{Time: 1 << 60, Rand: id},
		Ops: []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: fmt.Appendf(nil, "bench/%010d", id), Value: value}}}}}
}

// response is what a node answers to a put.
func response(id kv.TxnID) pb.ExecuteResponse {
	return pb.ExecuteResponse{TxnId: id, Attempts: 1, Results: []pb.Result{{Version: kv.Version{Shard: 1,
		Write: id.Rand}}}}
}

// Sizes are the bytes of a request and of an answer on the stream.
func Sizes(valueBytes int) (asked, answered int) {
	r := request(1<<20, make([]byte, valueBytes))
	call := pb.Call{Handle: 1 << 20, Request: r}
	answer := pb.CallResponse{Handle: 1 << 20, Response: response(r.TxnId)}
	return call.Size(), answer.Size()
}
