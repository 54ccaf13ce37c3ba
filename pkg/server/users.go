package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
)

// Directory keeps the users; a guard.Directory is one.
type Directory interface {
	// Users are all of them, by name, as they are now.
	Users(ctx context.Context) ([]*users.User, error)
	// Change has the table be what change makes of it; change may be called
	// several times, and its errors end the attempt.
	Change(ctx context.Context, change func(*users.Table) (*users.Table, error)) error
}

// longestTTL is the longest time for which a token can be good or kept, besides
// for ever.
const longestTTL = 10 * 365 * 24 * time.Hour

// userService implements the methods of pb.AdminServer about users.
type userService struct{ opts *Options }

func (s userService) directory() (Directory, error) {
	if s.opts.Users == nil {
		return nil, statusOf(invalid("the node has no table of users",
			"use a node of a cluster that was started with \\\"linchpin start\\\""), kv.TxnID{})
	}
	return s.opts.Users, nil
}

// CreateUser makes a user.
func (s userService) CreateUser(ctx context.Context, in *pb.CreateUserRequest) (*pb.UserResponse, error) {
	now := time.Now()
	token, text, kerr := newToken(now, in.TokenTtlMs)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	made := &users.User{Name: in.Name, Created: now.UnixNano(), Admin: in.Rights.Admin, Monitor: in.Rights.Monitor}
	made = made.Granted(grants(in.Rights.Grants)...)
	if in.NoToken {
		text = ""
	} else {
		made.Tokens = []users.Token{token}
	}
	return s.changed(ctx, "created", in.Name, text, func(t *users.Table, u *users.User) (*users.User, error) {
		if u != nil {
			return nil, &kv.Error{Kind: kv.KindConditionFailed, Op: -1, Text: fmt.Sprintf("user %q already exists", in.Name),
				Hint: "to add grants, use: linchpin user grant"}
		}
		return made, nil
	})
}

// newToken makes a token, and gives what is stored of it and its text.
func newToken(now time.Time, ttlMs uint64) (users.Token, string, *kv.Error) {
	lasts, kerr := lifetime(ttlMs)
	if kerr != nil {
		return users.Token{}, "", kerr
	}
	var secret [users.SecretBytes]byte
	rand.Read(secret[:]) // never fails
	text := users.TokenText(secret)
	hash, _ := users.HashToken(text)
	t := users.Token{Hash: hash[:], Created: now.UnixNano()}
	if lasts > 0 {
		t.Expires = now.Add(lasts).UnixNano()
	}
	return t, text, nil
}

func lifetime(ms uint64) (time.Duration, *kv.Error) {
	if ms > uint64(longestTTL/time.Millisecond) {
		return 0, invalid(fmt.Sprintf("the token's time to live is %d ms", ms),
			fmt.Sprintf("the limit is %.0f h; 0 means that it does not expire", longestTTL.Hours()))
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// ListUsers lists the users.
func (s userService) ListUsers(ctx context.Context, _ *pb.ListUsersRequest) (*pb.ListUsersResponse, error) {
	all, err := s.allUsers(ctx)
	if err != nil {
		return nil, err
	}
	return listOf(all), nil
}

func (s userService) allUsers(ctx context.Context) ([]*users.User, error) {
	d, err := s.directory()
	if err != nil {
		return nil, err
	}
	all, err := d.Users(ctx)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	return all, nil
}

func listOf(all []*users.User) *pb.ListUsersResponse {
	out := new(pb.ListUsersResponse)
	for _, u := range all {
		out.Users = append(out.Users, userOf(u))
	}
	return out
}

// ExportUsers gives all users as they are stored.
func (s userService) ExportUsers(ctx context.Context, _ *pb.ExportUsersRequest) (*pb.ExportUsersResponse, error) {
	all, err := s.allUsers(ctx)
	if err != nil {
		return nil, err
	}
	t, err := users.TableOf(all)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	raw, err := t.Encode()
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	s.opts.Log.Info("users exported", "count", len(all), "by", changer(ctx))
	return &pb.ExportUsersResponse{Table: raw}, nil
}

// ImportUsers creates users that were exported, and returns them.
func (s userService) ImportUsers(ctx context.Context, in *pb.ImportUsersRequest) (*pb.ListUsersResponse, error) {
	d, err := s.directory()
	if err != nil {
		return nil, err
	}
	if len(in.Table) == 0 {
		return nil, statusOf(invalid("the import has no users", `use the output of "linchpin user export"`), kv.TxnID{})
	}
	from, err := users.Parse(in.Table)
	if err != nil {
		return nil, statusOf(invalid("the users cannot be imported: "+errorOf(err).Text,
			`use the output of "linchpin user export"`), kv.TxnID{})
	}
	err = d.Change(ctx, func(t *users.Table) (*users.Table, error) { return t.Merged(from, in.Replace) })
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	for _, u := range from.Users() {
		s.noteChange(ctx, "imported", u.Name)
	}
	return listOf(from.Users()), nil
}

// GrantUser allows a user more.
func (s userService) GrantUser(ctx context.Context, in *pb.GrantUserRequest) (*pb.UserResponse, error) {
	return s.existing(ctx, "granted", in.Name, "", func(u *users.User) (*users.User, error) {
		u = u.Granted(grants(in.Rights.Grants)...)
		u.Admin, u.Monitor = u.Admin || in.Rights.Admin, u.Monitor || in.Rights.Monitor
		return u, nil
	})
}

// RevokeUser allows a user less.
func (s userService) RevokeUser(ctx context.Context, in *pb.RevokeUserRequest) (*pb.UserResponse, error) {
	return s.existing(ctx, "revoked", in.Name, "", func(u *users.User) (*users.User, error) {
		u, err := u.Revoked(grants(in.Rights.Grants)...)
		if err != nil {
			return nil, err
		}
		u.Admin, u.Monitor = u.Admin && !in.Rights.Admin, u.Monitor && !in.Rights.Monitor
		return u, nil
	})
}

// RotateToken makes a new token.
func (s userService) RotateToken(ctx context.Context, in *pb.RotateTokenRequest) (*pb.UserResponse, error) {
	now := time.Now()
	token, text, kerr := newToken(now, in.TokenTtlMs)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	keep, kerr := lifetime(in.KeepMs)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	return s.existing(ctx, "rotated", in.Name, text, func(u *users.User) (*users.User, error) {
		return u.WithToken(token, now.Add(keep).UnixNano(), now), nil
	})
}

// DropUser removes a user.
func (s userService) DropUser(ctx context.Context, in *pb.DropUserRequest) (*pb.UserResponse, error) {
	d, err := s.directory()
	if err != nil {
		return nil, err
	}
	var was *users.User
	err = d.Change(ctx, func(t *users.Table) (*users.Table, error) {
		was = t.User(in.Name)
		if was == nil {
			return nil, noUser(in.Name)
		}
		next, _ := t.Without(in.Name)
		return next, nil
	})
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	s.noteChange(ctx, "dropped", in.Name)
	return &pb.UserResponse{User: userOf(was)}, nil
}

func noUser(name string) error {
	return &kv.Error{Kind: kv.KindNotFound, Op: -1, Text: fmt.Sprintf("user %q does not exist", name),
		Hint: `"linchpin user list" lists the users`}
}

// existing changes a user that must be there.
func (s userService) existing(ctx context.Context, what, name, token string,
	change func(*users.User) (*users.User, error)) (*pb.UserResponse, error) {
	return s.changed(ctx, what, name, token, func(_ *users.Table, u *users.User) (*users.User, error) {
		if u == nil {
			return nil, noUser(name)
		}
		return change(u)
	})
}

// changed changes or creates a user, and returns it.
func (s userService) changed(ctx context.Context, what, name, token string,
	change func(*users.Table, *users.User) (*users.User, error)) (*pb.UserResponse, error) {
	d, err := s.directory()
	if err != nil {
		return nil, err
	}
	var is *users.User
	err = d.Change(ctx, func(t *users.Table) (*users.Table, error) {
		var err error
		is, err = change(t, t.User(name))
		if err != nil {
			return nil, err
		}
		return t.With(is)
	})
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	s.noteChange(ctx, what, name)
	return &pb.UserResponse{User: userOf(is), Token: token}, nil
}

// noteChange logs a change of a user, and the caller that made it.
func (s userService) noteChange(ctx context.Context, what, name string) {
	s.opts.Log.Info("user "+what, "user", name, "by", changer(ctx))
}

// changer is who makes a change, for the log.
func changer(ctx context.Context) string {
	if c := guard.CallerOf(ctx); c.Known() {
		return c.Name()
	}
	return "anonymous, without TLS"
}

// WhoAmI returns the user that the caller has authenticated as.
func (s userService) WhoAmI(ctx context.Context, _ *pb.WhoAmIRequest) (*pb.User, error) {
	u, err := guard.CallerOf(ctx).User()
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	out := userOf(u)
	return &out, nil
}

// grants converts grants.
func grants(in []pb.Grant) []users.Grant {
	out := make([]users.Grant, len(in))
	for i := range in {
		out[i] = users.Grant{Prefix: append([]byte{}, in[i].Prefix...), Write: in[i].Write}
	}
	return out
}

func userOf(u *users.User) pb.User {
	out := pb.User{Name: u.Name, CreatedNs: u.Created, Rights: pb.Rights{Admin: u.Admin, Monitor: u.Monitor}}
	for _, g := range u.Grants {
		out.Rights.Grants = append(out.Rights.Grants, pb.Grant{Prefix: g.Prefix, Write: g.Write})
	}
	for _, t := range u.Tokens {
		out.Tokens = append(out.Tokens, pb.TokenInfo{CreatedNs: t.Created, ExpiresNs: t.Expires})
	}
	return out
}
