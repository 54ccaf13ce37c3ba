package server

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Types lists data types as they are declared to this program.
func (s *service) Types(_ context.Context, in *pb.TypesRequest) (*pb.TypesResponse, error) {
	types := adt.All()
	if in.Type != "" {
		t, err := adt.FindType(in.Type)
		if err != nil {
			return nil, statusOf(hinted(err), kv.TxnID{})
		}
		types = []*adt.Type{t}
	}
	out := new(pb.TypesResponse)
	for _, t := range types {
		out.Types = append(out.Types, typeInfo(t))
	}
	return out, nil
}

func typeInfo(t *adt.Type) pb.TypeInfo {
	out := pb.TypeInfo{Number: uint32(t.ID), Name: t.Name, Doc: t.Doc}
	for _, m := range t.Methods {
		info := pb.MethodInfo{Name: m.Name, Doc: m.Doc, Usage: m.Usage(), Updates: m.Changes, Returns: m.Answers,
			Lock: t.Kinds[m.Kind-1].Name}
		for _, p := range m.Params {
			info.Params = append(info.Params, pb.ParamInfo{Name: p.Name, Kind: pb.DatumKind(p.Kind), Optional: p.Optional,
				Many: p.Many})
		}
		out.Methods = append(out.Methods, info)
	}
	for i, k := range t.Kinds {
		lock := pb.LockInfo{Name: k.Name, Updates: k.Changes}
		for j, other := range t.Kinds {
			switch t.Relation(adt.Kind(i+1), adt.Kind(j+1)) {
			case adt.Always:
				lock.Commutes = append(lock.Commutes, other.Name)
			case adt.OtherPart:
				lock.CommutesApart = append(lock.CommutesApart, other.Name)
			}
		}
		out.Locks = append(out.Locks, lock)
	}
	return out
}
