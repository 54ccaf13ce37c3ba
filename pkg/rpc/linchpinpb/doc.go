// Package linchpinpb is the interface of a linchpin node as generated from
// linchpin.proto, which has a paragraph for each message. Its messages are
// gogo/protobuf's: clients and servers must be made with the codec of package
// rpc/codec, which is also several times faster than the stock one.
//
// To generate it anew: go run ./tools/protogen grpc:pkg/rpc/linchpinpb/linchpin.proto
package linchpinpb
