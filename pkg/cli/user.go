package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func userCommand() *cobra.Command {
	return group("user", "Manage users and their roles and grants", `
Manage users and what they may do. Users are kept in the cluster, and apply on nodes with TLS. A user
authenticates with a token, or with a certificate that has its name ("linchpin cert create-client"). A user reads or
writes the keys with the prefixes that it is granted; a grant to write includes reading. A monitor may view the
cluster, and an admin may do everything. Only admins manage users; the first one is root, by its certificate.

Changes take effect on all nodes within about 2 s, for open connections and transactions as well.`, `
  linchpin user create alice --write orders/ --read catalog/ --out alice.token
  linchpin user list
  linchpin user rotate alice --keep 1h --out alice.token`,
		userCreate(), userList(), userChange("grant", "Grant a user roles and prefixes"),
		userChange("revoke", "Revoke roles and prefixes of a user"), userDrop(), userRotate(), userWhoAmI(),
		userExport(), userImport())
}

// rights are the flags for roles and grants.
type rights struct {
	admin, monitor bool
	read, write    []string
}

func (r *rights) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&r.read, "read", nil, "read the keys with this `prefix`; \"\" for all keys (repeatable)")
	f.StringArrayVar(&r.write, "write", nil, "read and write the keys with this `prefix` (repeatable)")
	f.BoolVar(&r.monitor, "monitor", false, "view the cluster: shards, hot keys and metrics, which include names of keys")
	f.BoolVar(&r.admin, "admin", false, "do everything, including managing users")
}

func (r *rights) of(s *session) (out admin.Rights, err error) {
	out.Admin, out.Monitor = r.admin, r.monitor
	for _, p := range []struct {
		prefixes []string
		write    bool
	}{{r.read, false}, {r.write, true}} {
		for _, text := range p.prefixes {
			prefix, err := s.decode(text)
			if err != nil {
				return out, err
			}
			out.Grants = append(out.Grants, admin.Grant{Prefix: prefix, Write: p.write})
		}
	}
	return out, nil
}

func userCreate() *cobra.Command {
	var r rights
	var ttl time.Duration
	var out string
	var noToken bool
	cmd := command("create NAME", "Create a user", `
Create a user, with a token unless --no-token is given. The token is shown once: the cluster keeps only its hash.
With --out it is written to a file that only its owner can read, and not shown.`, `
  linchpin user create alice --write orders/ --out alice.token
  linchpin user create prometheus --monitor --token-ttl 2160h
  linchpin user create bob --read "" --no-token`, 1, 1)
	r.addTo(cmd)
	cmd.Flags().BoolVar(&noToken, "no-token", false, "create no token; the user has a certificate")
	tokenFlags(cmd, &ttl, &out)
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		if err := s.checkTTL(ttl); err != nil {
			return err
		}
		may, err := r.of(s)
		if err != nil {
			return err
		}
		u, token, err := s.admin().CreateUser(ctx, args[0], may, admin.TokenOptions{None: noToken, TTL: ttl})
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printMade(&u, token, out)
	})
}

func tokenFlags(cmd *cobra.Command, ttl *time.Duration, out *string) {
	cmd.Flags().DurationVar(ttl, "token-ttl", 0, "time until the token expires; 0 for never")
	cmd.Flags().StringVar(out, "out", "", "write the token to this `file`, and do not show it")
}

func (s *session) checkTTL(ttl time.Duration) error {
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return usagef(s.cmd, "--token-ttl is %v, want a millisecond or more, or 0", ttl)
	}
	return nil
}

// printMade shows a user and its token, or writes the token to a file.
func (s *printer) printMade(u *admin.User, token, out string) error {
	if token != "" && out != "" {
		if err := certs.WriteSecret(out, []byte(token+"\n")); err != nil {
			return fmt.Errorf("the user was changed, but its token could not be written; "+
				"create another with: linchpin user rotate %s: %w", u.Name, err)
		}
		token = ""
	}
	if s.json {
		return s.object(struct {
			userItem
			Token string `json:"token,omitempty"`
		}{s.userItem(u), token})
	}
	if err := s.printUsers([]admin.User{*u}); err != nil || token == "" {
		return err
	}
	return s.printf("\ntoken (shown once): %s\n", token)
}

func userList() *cobra.Command {
	return connects(command("list", "List the users", `
List the users by name, with their roles, grants and number of tokens.`,
		`  linchpin user list --output json`, 0, 0), true, func(ctx context.Context, s *session, _ []string) error {
		all, err := s.admin().Users(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			s.none("no users")
			return nil
		}
		return s.printUsers(all)
	})
}

func userChange(verb, short string) *cobra.Command {
	var r rights
	long := `Grant a user roles and prefixes. A grant to write replaces one to read the same prefix.`
	if verb == "revoke" {
		long = `
Revoke roles and prefixes of a user. --write leaves the grant to read the prefix, --read removes both. The prefix must
be one that was granted: a part of a granted prefix cannot be revoked.`
	}
	cmd := command(verb+" NAME", short, long,
		"  linchpin user "+verb+" alice --write orders/ --read catalog/", 1, 1)
	r.addTo(cmd)
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		may, err := r.of(s)
		if err != nil {
			return err
		}
		if !may.Admin && !may.Monitor && len(may.Grants) == 0 {
			return usagef(s.cmd, "there is nothing to %s: give --read, --write, --monitor or --admin", verb)
		}
		change := s.admin().GrantUser
		if verb == "revoke" {
			change = s.admin().RevokeUser
		}
		u, err := change(ctx, args[0], may)
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printUsers([]admin.User{u})
	})
}

func userDrop() *cobra.Command {
	return connects(command("drop NAME", "Drop a user", `
Drop a user. Its tokens and certificates are rejected from then on.`,
		`  linchpin user drop alice`, 1, 1), true, func(ctx context.Context, s *session, args []string) error {
		u, err := s.admin().DropUser(ctx, args[0])
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printUsers([]admin.User{u})
	})
}

func userRotate() *cobra.Command {
	var keep, ttl time.Duration
	var out string
	cmd := command("rotate NAME", "Create a new token for a user", `
Create a new token for a user. The old tokens expire at once, or after --keep, so that programs can switch. A
program with --token-file reads the file at each connection.`,
		`  linchpin user rotate alice --keep 1h --out alice.token`, 1, 1)
	cmd.Flags().DurationVar(&keep, "keep", 0, "for how long the old tokens stay valid")
	tokenFlags(cmd, &ttl, &out)
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		if err := s.checkTTL(ttl); err != nil {
			return err
		}
		if keep < 0 {
			return usagef(s.cmd, "--keep is %v, want 0 or more", keep)
		}
		u, token, err := s.admin().RotateToken(ctx, args[0], admin.TokenOptions{TTL: ttl, KeepOld: keep})
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printMade(&u, token, out)
	})
}

func userWhoAmI() *cobra.Command {
	return connects(command("whoami", "Show the user you are authenticated as", `
Show the user you are authenticated as, with its roles and grants. Without TLS every caller is root.`,
		`  linchpin user whoami --certs-dir certs`, 0, 0), true, func(ctx context.Context, s *session, _ []string) error {
		u, err := s.admin().WhoAmI(ctx)
		if err != nil {
			return err
		}
		return s.printUsers([]admin.User{u})
	})
}

// userItem is a user as JSON.
type userItem struct {
	Name    string      `json:"name"`
	Admin   bool        `json:"admin"`
	Monitor bool        `json:"monitor"`
	Grants  []grantItem `json:"grants"`
	Tokens  []tokenItem `json:"tokens"`
	Created *time.Time  `json:"created,omitempty"`
}

type grantItem struct {
	item
	Write bool `json:"write"`
}

type tokenItem struct {
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
}

func (s *printer) userItem(u *admin.User) userItem {
	out := userItem{Name: u.Name, Admin: u.Rights.Admin, Monitor: u.Rights.Monitor,
		Grants: []grantItem{}, Tokens: []tokenItem{}, Created: moment(u.Created)}
	for i := range u.Rights.Grants {
		out.Grants = append(out.Grants, grantItem{s.keyItem(u.Rights.Grants[i].Prefix), u.Rights.Grants[i].Write})
	}
	for _, t := range u.Tokens {
		out.Tokens = append(out.Tokens, tokenItem{t.Created.UTC(), moment(t.Expires)})
	}
	return out
}

// moment is nil for the zero time.
func moment(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

func (s *printer) printUsers(all []admin.User) error {
	if s.json {
		return objects(s, all, func(u *admin.User) any { return s.userItem(u) })
	}
	t := s.table("NAME", "MAY", "TOKENS")
	for i := range all {
		t.row(all[i].Name, s.may(&all[i].Rights), tokensOf(all[i].Tokens))
	}
	return t.flush()
}

// may lists roles and grants.
func (s *printer) may(r *admin.Rights) string {
	var out []string
	if r.Admin {
		out = append(out, "admin")
	}
	if r.Monitor {
		out = append(out, "monitor")
	}
	for _, g := range r.Grants {
		verb := "read "
		if g.Write {
			verb = "write "
		}
		out = append(out, verb+s.prefix(g.Prefix))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// prefix shows a prefix, the empty one as a word.
func (s *printer) prefix(p string) string {
	if p == "" {
		return "all keys"
	}
	return s.text(p)
}

// tokensOf is the number of tokens, and when the first of them expires.
func tokensOf(all []admin.Token) string {
	if len(all) == 0 {
		return "none"
	}
	var first time.Time
	for _, t := range all {
		if !t.Expires.IsZero() && (first.IsZero() || t.Expires.Before(first)) {
			first = t.Expires
		}
	}
	if first.IsZero() {
		return fmt.Sprint(len(all))
	}
	return fmt.Sprintf("%d, until %s", len(all), stamp(first))
}
