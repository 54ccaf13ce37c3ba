// Package admin has the calls of operators and monitors on a cluster: its status, hot keys, activity,
// users, and the maintenance of nodes.
//
//	a := admin.New(db)
//	status, err := a.Status(ctx)
//
// Unless a comment says otherwise, a call is about the node that the client is connected to. Errors are
// *[client.Error]. With users, calls need the right to monitor, and those that change something the
// right to administrate.
package admin

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/internal/link"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Admin makes the calls of operators on the connection of a client.
type Admin struct{ db *client.DB }

// New returns the calls of operators on the connection of db, with its options. There is nothing to
// close.
func New(db *client.DB) *Admin { return &Admin{db} }

// Addr returns the address of the node that the client is connected to, empty if it is not connected.
func (a *Admin) Addr() string { return clientlink.Addr(a.db) }

// ask makes a call that reads, and retries it.
func ask[R any](ctx context.Context, a *Admin, call func(context.Context, pb.AdminClient) (R, error)) (R, error) {
	return request(ctx, a, false, link.Ask[R], call)
}

// change makes a call that changes something, and retries it.
func change[R any](ctx context.Context, a *Admin, call func(context.Context, pb.AdminClient) (R, error)) (R, error) {
	return request(ctx, a, false, link.Change[R], call)
}

// once makes a call that changes something a single time: a second one would fail, or would lose what the
// first has made.
func once[R any](ctx context.Context, a *Admin, call func(context.Context, pb.AdminClient) (R, error)) (R, error) {
	return request(ctx, a, true, link.Change[R], call)
}

func request[R any](ctx context.Context, a *Admin, once bool,
	send func(*link.Call, func(context.Context, *link.Session) (R, error)) (R, *link.Error),
	each func(context.Context, pb.AdminClient) (R, error)) (r R, err error) {
	call, err := clientlink.Begin(ctx, a.db, once)
	if err != nil {
		return r, err
	}
	defer call.End()
	r, failed := send(call, func(ctx context.Context, s *link.Session) (R, error) { return each(ctx, s.Admin) })
	return r, clientlink.Error(failed)
}

// stream opens a stream of responses and passes each to each, until it ends or each returns false. It is
// not retried when it breaks.
func stream[R any](ctx context.Context, a *Admin,
	open func(context.Context, pb.AdminClient) (grpc.ServerStreamingClient[R], error),
	each func(*R) (more bool, err error)) error {
	call, err := clientlink.Begin(ctx, a.db, false)
	if err != nil {
		return err
	}
	defer call.End()
	session, failed := call.Session()
	if failed != nil {
		return clientlink.Error(failed)
	}
	defer session.Release()
	whole := call.Context()
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	s, err := open(ctx, session.Admin)
	if err != nil {
		return clientlink.Error(link.Failure(whole, err))
	}
	for {
		r, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return clientlink.Error(link.Failure(whole, err))
		}
		more, err := each(r)
		if err != nil || !more {
			return err
		}
	}
}

func invalid(message, hint string) error {
	return &client.Error{Kind: client.KindInvalid, Message: message, Hint: hint, Op: -1}
}

// The conversions of what messages have.

func micros(us uint64) time.Duration { return time.Duration(us) * time.Microsecond }

func millis(ms uint64) time.Duration { return time.Duration(ms) * time.Millisecond }

// moment is a time in nanoseconds since 1970; zero if it is 0.
func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func ints(ns []uint32) []int {
	out := make([]int, len(ns))
	for i, n := range ns {
		out[i] = int(n)
	}
	return out
}

// word is the name of a constant on the wire as a word.
func word(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", "-")
}

// each converts a list.
func each[F, T any](list []F, convert func(*F) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = convert(&list[i])
	}
	return out
}
