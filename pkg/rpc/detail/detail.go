// Package detail carries linchpin's errors over gRPC and back: a *kv.Error
// with its kind, key, operation and hint becomes an ErrorDetail, which is part
// of the answers on streams and is attached to the status of failed calls.
//
// An error with a detail was returned by linchpin. One without came from gRPC
// itself, a proxy or a broken connection, and says nothing about what became
// of a transaction.
package detail

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	typeURL      = "type.googleapis.com/linchpin.v1.ErrorDetail"
	retryInfoURL = "type.googleapis.com/google.rpc.RetryInfo"
	// maxStatusValue bounds the current value in a status. A status travels
	// in HTTP/2 headers, of which some clients take no more than 8 KiB.
	maxStatusValue = 1 << 10
	// maxStatusText bounds the message of a status for the same reason.
	maxStatusText = 1 << 10
	// maxShownKey bounds the key in messages for people.
	maxShownKey = 64
)

var kinds = func() map[string]kv.Kind {
	m := make(map[string]kv.Kind)
	for _, k := range kv.Kinds() {
		m[k.String()] = k
	}
	return m
}()

// Of gives the detail of an error. The code is left to the caller.
func Of(e *kv.Error) *pb.ErrorDetail {
	d := &pb.ErrorDetail{Kind: e.Kind.String(), Message: e.Text, Key: e.Key, Hint: e.Hint, Retryable: e.Kind.Retryable(),
		RetryAfterMs: millis(e.RetryAfter), ServerTimeNs: e.ServerTime}
	if e.Op >= 0 {
		d.Op = uint32(e.Op) + 1
	}
	d.Down = downNode(e.Down)
	return d
}

func downNode(n *kv.Down) *pb.NodeDown {
	if n == nil {
		return nil
	}
	out := &pb.NodeDown{NodeId: uint32(n.Node), Address: n.Address, Hot: n.Hot, KeyspacePercent: n.Keyspace}
	for _, s := range n.Shards {
		out.Shards = append(out.Shards, uint32(s))
	}
	return out
}

func down(n *pb.NodeDown) *kv.Down {
	if n == nil {
		return nil
	}
	out := &kv.Down{Node: kv.NodeID(n.NodeId), Address: n.Address, Hot: n.Hot, Keyspace: n.KeyspacePercent}
	for _, s := range n.Shards {
		out.Shards = append(out.Shards, kv.ShardID(s))
	}
	return out
}

// Error returns the error that a detail describes. A kind that this program does
// not know, because the server is newer, becomes KindInternal.
func Error(d *pb.ErrorDetail) *kv.Error {
	k, ok := kinds[d.Kind]
	e := &kv.Error{Kind: k, Text: d.Message, Key: d.Key, Hint: d.Hint, Op: int(d.Op) - 1,
		RetryAfter: time.Duration(d.RetryAfterMs) * time.Millisecond, ServerTime: d.ServerTimeNs, Down: down(d.Down)}
	if !ok || k == kv.KindOK {
		e.Kind, e.Text = kv.KindInternal, fmt.Sprintf("%s (kind %q of a newer server)", d.Message, d.Kind)
	}
	return e
}

// Status gives the gRPC error that carries d, with d.Code as its code.
func Status(d *pb.ErrorDetail) error {
	s := status.New(codes.Code(d.Code), message(d))
	if d.Current != nil && len(d.Current.Value) > maxStatusValue {
		short, current := *d, *d.Current
		current.Value = nil
		short.Current = &current
		d = &short
	}
	raw, err := d.Marshal()
	if err != nil {
		return s.Err()
	}
	p := s.Proto()
	p.Details = []*anypb.Any{{TypeUrl: typeURL, Value: raw}}
	if d.RetryAfterMs > 0 {
		p.Details = append(p.Details, retryInfo(time.Duration(d.RetryAfterMs)*time.Millisecond))
	}
	return status.ErrorProto(p)
}

// millis rounds up: a wait must not become 0, which means at once.
func millis(d time.Duration) uint32 {
	return uint32((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// retryInfo is a google.rpc.RetryInfo, which clients know that know nothing of
// linchpin. It has one field, a google.protobuf.Duration with the number 1.
func retryInfo(d time.Duration) *anypb.Any {
	delay, err := proto.Marshal(durationpb.New(d))
	if err != nil {
		return &anypb.Any{TypeUrl: retryInfoURL}
	}
	value := protowire.AppendTag(nil, 1, protowire.BytesType)
	return &anypb.Any{TypeUrl: retryInfoURL, Value: protowire.AppendBytes(value, delay)}
}

// message is the error as people read it.
func message(d *pb.ErrorDetail) string {
	e := Error(d)
	if len(e.Key) > maxShownKey {
		e.Key = append(append([]byte(nil), e.Key[:maxShownKey]...), "..."...)
	}
	if d.Op > 0 {
		e.Text = fmt.Sprintf("operation %d: %s", d.Op, e.Text)
	}
	s := e.Error()
	if len(s) > maxStatusText {
		s = s[:maxStatusText] + "..."
	}
	return s
}

// From finds the detail in what a gRPC call returned; nil when there is none.
func From(err error) *pb.ErrorDetail {
	var se interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &se) {
		return nil
	}
	for _, a := range se.GRPCStatus().Proto().GetDetails() {
		if a.GetTypeUrl() != typeURL {
			continue
		}
		d := new(pb.ErrorDetail)
		if d.Unmarshal(a.GetValue()) == nil {
			return d
		}
	}
	return nil
}
