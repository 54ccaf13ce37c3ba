// Package clientlink gives linchpin's own packages what package client does not export: calls of
// operators on its connection, read plans, and conversions from the messages of the interface. Package
// client sets the functions when it is imported; an argument or a result of type any is of its types,
// which this package cannot import.
package clientlink

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

var (
	// Begin begins a call on the connection of a *client.DB, with its options. With once set there is one
	// attempt: the call must not be repeated. It fails in a transaction of the DB. The call must be ended.
	Begin func(ctx context.Context, db any, once bool) (*link.Call, error)
	// Error returns the *client.Error of an error of the link, nil of nil.
	Error func(*link.Error) error
	// Outcome queries the outcome of a client.TxID.
	Outcome func(ctx context.Context, db, id any) (*pb.OutcomeResponse, error)
	// Addr returns the address of the node that a *client.DB is connected to, empty if it is not.
	Addr func(db any) string
	// Whole returns a client.Op that does what op, a client.Op, does. It is a *client.Result[pb.Result],
	// whose value is all that the node has returned.
	Whole func(op any) any
	// DropSnapshot drops a named snapshot and returns what it was, a client.SnapshotInfo.
	DropSnapshot func(ctx context.Context, db any, nameOrID string) (any, error)
	// Entry returns a client.Entry of an entry of a scan; ResultEntry that of a result without its key.
	Entry       func(*pb.Entry) any
	ResultEntry func(*pb.Result) any
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
