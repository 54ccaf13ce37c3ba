package server

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// The conditions of each kind of operation, by their types.

func putCondition(in *pb.PutOp, out *msg.Op) *kv.Error {
	switch c := in.Condition.(type) {
	case *pb.PutOp_IfAbsent:
		return expect(out, msg.ExpectAbsent, c.IfAbsent)
	case *pb.PutOp_IfExists:
		return expect(out, msg.ExpectExists, c.IfExists)
	case *pb.PutOp_IfValue:
		return expectValue(out, c.IfValue)
	case *pb.PutOp_IfVersion:
		return expectVersion(out, c.IfVersion)
	}
	return nil
}

func deleteCondition(in *pb.DeleteOp, out *msg.Op) *kv.Error {
	switch c := in.Condition.(type) {
	case *pb.DeleteOp_IfExists:
		return expect(out, msg.ExpectExists, c.IfExists)
	case *pb.DeleteOp_IfValue:
		return expectValue(out, c.IfValue)
	case *pb.DeleteOp_IfVersion:
		return expectVersion(out, c.IfVersion)
	}
	return nil
}

func requireCondition(in *pb.RequireOp, out *msg.Op) *kv.Error {
	switch c := in.Condition.(type) {
	case *pb.RequireOp_Exists:
		return expect(out, msg.ExpectExists, c.Exists)
	case *pb.RequireOp_Absent:
		return expect(out, msg.ExpectAbsent, c.Absent)
	case *pb.RequireOp_Equals:
		return expectValue(out, c.Equals)
	case *pb.RequireOp_Version:
		return expectVersion(out, c.Version)
	}
	return invalid("require needs a condition", "set one of exists, absent, equals, version")
}

// expect sets a condition that has no operand. Its negation is refused: it
// would be easy to take "absent: false" for "must exist" or for nothing.
func expect(out *msg.Op, e msg.Expect, holds bool) *kv.Error {
	if !holds {
		return invalid("the condition is set to false", "omit it, or use the opposite condition")
	}
	out.Expect = e
	return nil
}

func expectValue(out *msg.Op, value []byte) *kv.Error {
	out.Expect, out.ExpectValue = msg.ExpectValue, value
	return nil
}

func expectVersion(out *msg.Op, raw []byte) *kv.Error {
	out.Expect = msg.ExpectVersion
	if err := out.ExpectVersion.Unmarshal(raw); err != nil || len(raw) == 0 {
		return invalid("the version of the condition did not come from a result",
			"pass the version of a result unchanged; if the key must not exist, use absent")
	}
	if out.ExpectVersion.IsZero() { // the result of a read of an absent key
		out.Expect = msg.ExpectAbsent
	}
	return nil
}
