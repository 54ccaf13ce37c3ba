package server

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// callOperation is a call by the names of type and method.
func callOperation(in *pb.CallOp, out *msg.Op) *kv.Error {
	out.Key = in.Key
	if len(in.Args) > maxArgs {
		return tooManyArgs()
	}
	op, err := adt.Call(in.Key, in.Type, in.Method, pb.InsideAll(in.Args))
	if err != nil {
		return hinted(err)
	}
	*out = op
	return pointOperation(in.XXX_unrecognized, out)
}

// maxArgs is how many arguments take up all that a transaction may have.
const maxArgs = kv.MaxTxnBytes / datumFrame

func tooManyArgs() *kv.Error {
	return invalid(fmt.Sprintf("the call has more than %d arguments", maxArgs), "split the call")
}

func hinted(err error) *kv.Error {
	e := errorOf(err)
	if e.Hint == "" {
		e.Hint = `"linchpin types" lists the data types of a node and their methods`
	}
	return e
}

// argBytes is what arguments count of a transaction's bytes.
func argBytes(args []msg.Datum) (n int) {
	for i := range args {
		n += datumFrame + len(args[i].Bytes)
	}
	return n
}

// datumFrame is about what a datum takes beside its bytes.
const datumFrame = 16
