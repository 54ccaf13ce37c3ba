package admin

import (
	"context"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// User is a user of the cluster.
type User struct {
	Name   string
	Rights Rights
	// Tokens are the API tokens that are valid, without their secrets.
	Tokens  []Token
	Created time.Time
}

// Rights are what a user may do.
type Rights struct {
	// Admin: everything. Monitor: see the state of the cluster.
	Admin, Monitor bool
	Grants         []Grant
}

// Grant is the right to read the keys with a prefix and, with Write, to write them. The empty prefix is
// that of all keys.
type Grant struct {
	Prefix string
	Write  bool
}

// Token is an API token. Expires is zero if it does not expire.
type Token struct{ Created, Expires time.Time }

// TokenOptions are those of a new API token.
type TokenOptions struct {
	// None makes no token: the user has only a certificate.
	None bool
	// TTL is for how long it is valid, 0 for ever.
	TTL time.Duration
	// KeepOld is for how long older tokens stay valid when a token is rotated.
	KeepOld time.Duration
}

// WhoAmI returns the user as which the node has authenticated the client.
func (a *Admin) WhoAmI(ctx context.Context) (User, error) {
	u, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.User, error) {
		return c.WhoAmI(ctx, &pb.WhoAmIRequest{})
	})
	if err != nil {
		return User{}, err
	}
	return user(u), nil
}

// Users returns the users, by name.
func (a *Admin) Users(ctx context.Context) ([]User, error) {
	return users(ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.ListUsersResponse, error) {
		return c.ListUsers(ctx, &pb.ListUsersRequest{})
	}))
}

// CreateUser creates a user and returns it with its API token, which cannot be read again. A name has 1
// to 63 of a-z, A-Z, 0-9, ".", "_", "@" and "-", and begins with a letter.
func (a *Admin) CreateUser(ctx context.Context, name string, rights Rights, o TokenOptions) (_ User, token string,
	_ error) {
	return withToken(once(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.UserResponse, error) {
		return c.CreateUser(ctx, &pb.CreateUserRequest{Name: name, Rights: rights.wire(), NoToken: o.None,
			TokenTtlMs: uint64(o.TTL.Milliseconds())})
	}))
}

// GrantUser adds rights to a user.
func (a *Admin) GrantUser(ctx context.Context, name string, rights Rights) (User, error) {
	u, _, err := withToken(change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.UserResponse, error) {
		return c.GrantUser(ctx, &pb.GrantUserRequest{Name: name, Rights: rights.wire()})
	}))
	return u, err
}

// RevokeUser removes rights of a user. Of a grant to write, the right to read stays. A grant must be
// there as it is named.
func (a *Admin) RevokeUser(ctx context.Context, name string, rights Rights) (User, error) {
	u, _, err := withToken(once(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.UserResponse, error) {
		return c.RevokeUser(ctx, &pb.RevokeUserRequest{Name: name, Rights: rights.wire()})
	}))
	return u, err
}

// DropUser drops a user and returns what it was. Its tokens and certificates are rejected from then on.
func (a *Admin) DropUser(ctx context.Context, name string) (User, error) {
	u, _, err := withToken(once(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.UserResponse, error) {
		return c.DropUser(ctx, &pb.DropUserRequest{Name: name})
	}))
	return u, err
}

// RotateToken makes a new API token for a user, and returns it.
func (a *Admin) RotateToken(ctx context.Context, name string, o TokenOptions) (_ User, token string, _ error) {
	return withToken(once(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.UserResponse, error) {
		return c.RotateToken(ctx, &pb.RotateTokenRequest{Name: name, KeepMs: uint64(o.KeepOld.Milliseconds()),
			TokenTtlMs: uint64(o.TTL.Milliseconds())})
	}))
}

// ExportUsers returns all users for [Admin.ImportUsers], with hashes of their tokens, as JSON.
func (a *Admin) ExportUsers(ctx context.Context) ([]byte, error) {
	r, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.ExportUsersResponse, error) {
		return c.ExportUsers(ctx, &pb.ExportUsersRequest{})
	})
	if err != nil {
		return nil, err
	}
	return r.Table, nil
}

// ImportUsers creates the users that ExportUsers has returned, or none of them, and returns all users. A
// user that exists must be the same, unless replace is set; else the error is of kind ConditionFailed.
func (a *Admin) ImportUsers(ctx context.Context, table []byte, replace bool) ([]User, error) {
	return users(change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.ListUsersResponse, error) {
		return c.ImportUsers(ctx, &pb.ImportUsersRequest{Table: table, Replace: replace})
	}))
}

func users(r *pb.ListUsersResponse, err error) ([]User, error) {
	if err != nil {
		return nil, err
	}
	return each(r.Users, user), nil
}

func withToken(r *pb.UserResponse, err error) (User, string, error) {
	if err != nil {
		return User{}, "", err
	}
	return user(&r.User), r.Token, nil
}

func user(u *pb.User) User {
	return User{Name: u.Name, Created: moment(u.CreatedNs),
		Rights: Rights{u.Rights.Admin, u.Rights.Monitor,
			each(u.Rights.Grants, func(g *pb.Grant) Grant { return Grant{string(g.Prefix), g.Write} })},
		Tokens: each(u.Tokens, func(t *pb.TokenInfo) Token { return Token{moment(t.CreatedNs), moment(t.ExpiresNs)} })}
}

func (r Rights) wire() pb.Rights {
	out := pb.Rights{Admin: r.Admin, Monitor: r.Monitor}
	for _, g := range r.Grants {
		out.Grants = append(out.Grants, pb.Grant{Prefix: []byte(g.Prefix), Write: g.Write})
	}
	return out
}
