// Package clientlink gives linchpin's own packages what package client does not export: the calls of
// operators and read plans, in the messages of the interface. Package client sets the functions when it
// is imported; their untyped arguments and results are of its types, which this package cannot import.
package clientlink

import (
	"context"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

var (
	// Call makes a unary call of the Admin service on the connection of a *client.DB, and retries it.
	// With once set there is one attempt: the call must not be repeated.
	Call func(ctx context.Context, db any, once bool, call func(context.Context, pb.AdminClient) error) error
	// Stream returns what a stream of the Admin service needs: its context, the service, what makes an
	// error of the client of one of the stream, and what ends it.
	Stream func(ctx context.Context, db any) (_ context.Context, _ pb.AdminClient, failure func(error) error, end func(), err error)
	// Outcome queries the outcome of a client.TxID.
	Outcome func(ctx context.Context, db, id any) (*pb.OutcomeResponse, error)
	// Addr returns the address of the node that a *client.DB is connected to, empty if it is not.
	Addr func(db any) string
	// Whole returns a client.Op that does what op, a client.Op, does. It is a *client.Result[pb.Result],
	// whose value is all that the node has returned.
	Whole func(op any) any
	// DropSnapshot drops a named snapshot and returns what it was, a client.SnapshotInfo.
	DropSnapshot func(ctx context.Context, db any, nameOrID string) (any, error)
	// Receipt returns a client.Receipt, and Conflict a *client.Conflict.
	Receipt  func(*pb.Receipt) any
	Conflict func(*pb.Conflict) any
	// Dump returns the client.Dump of the result of a dump, and DumpResult the result of a client.Dump:
	// Found, Type, TypeName, Value, Number and ExpiresAtMs.
	Dump       func(*pb.Result) any
	DumpResult func(dump any) *pb.Result
	// ByPlan returns a client.CallOption that forces how read-only transactions read. It is for
	// measurements.
	ByPlan func(pb.ReadPlan) any
)
