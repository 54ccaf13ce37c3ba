package client

import (
	"context"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// CreateUser makes a user, which nodes know of within a moment. The answer has the
// token, which cannot be told again.
func (db *DB) CreateUser(ctx context.Context, user pb.CreateUserRequest) (*pb.UserResponse, error) {
	return once(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.UserResponse, error) { return a.CreateUser(ctx, &user) })
}

// Users lists the users by name.
func (db *DB) Users(ctx context.Context) ([]pb.User, error) {
	r, err := administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.ListUsersResponse, error) {
		return a.ListUsers(ctx, &pb.ListUsersRequest{})
	})
	if err != nil {
		return nil, err
	}
	return r.Users, nil
}

// ExportUsers gives all users as they are stored, with the hashes of their tokens, for
// ImportUsers.
func (db *DB) ExportUsers(ctx context.Context) ([]byte, error) {
	r, err := administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.ExportUsersResponse, error) {
		return a.ExportUsers(ctx, &pb.ExportUsersRequest{})
	})
	if err != nil {
		return nil, err
	}
	return r.Table, nil
}

// ImportUsers makes the users that ExportUsers has given, and lists them. Those that are
// there already must be the same, unless replace is set; else it is a KindConditionFailed, and
// nothing is done.
func (db *DB) ImportUsers(ctx context.Context, table []byte, replace bool) ([]pb.User, error) {
	r, err := administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.ListUsersResponse, error) {
		return a.ImportUsers(ctx, &pb.ImportUsersRequest{Table: table, Replace: replace})
	})
	if err != nil {
		return nil, err
	}
	return r.Users, nil
}

// GrantUser allows a user more.
func (db *DB) GrantUser(ctx context.Context, name string, rights pb.Rights) (*pb.UserResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.UserResponse, error) {
		return a.GrantUser(ctx, &pb.GrantUserRequest{Name: name, Rights: rights})
	})
}

// RevokeUser allows a user less.
func (db *DB) RevokeUser(ctx context.Context, name string, rights pb.Rights) (*pb.UserResponse, error) {
	return once(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.UserResponse, error) {
		return a.RevokeUser(ctx, &pb.RevokeUserRequest{Name: name, Rights: rights})
	})
}

// DropUser removes a user.
func (db *DB) DropUser(ctx context.Context, name string) (*pb.UserResponse, error) {
	return once(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.UserResponse, error) {
		return a.DropUser(ctx, &pb.DropUserRequest{Name: name})
	})
}

// RotateToken makes a new token for a user, which the answer has.
func (db *DB) RotateToken(ctx context.Context, rotate pb.RotateTokenRequest) (*pb.UserResponse, error) {
	return once(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.UserResponse, error) {
		return a.RotateToken(ctx, &rotate)
	})
}

// WhoAmI tells whom the connected node takes the client for.
func (db *DB) WhoAmI(ctx context.Context) (*pb.User, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.User, error) {
		return a.WhoAmI(ctx, &pb.WhoAmIRequest{})
	})
}

// once asks a single time: what was done already would fail the second time, and a
// token that was made would be lost.
func once[A any](db *DB, ctx context.Context, ask func(context.Context, pb.AdminClient) (A, error)) (A, error) {
	r := newRetrier(db, ctx)
	defer r.stop()
	s, failed := r.use()
	if failed != nil {
		return *new(A), failed
	}
	defer s.unuse()
	answer, err := ask(r.bounded(), s.admin)
	if err != nil {
		return answer, failure(r.bounded(), err)
	}
	return answer, nil
}
