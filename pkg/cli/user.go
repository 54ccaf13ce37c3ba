package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Make users, and say what they may do",
		Long: `Make users, and say what they may do. Users are kept in the cluster, and count on
nodes with TLS. A user shows who it is by a token, or by a certificate with its
name ("linchpin cert create-client"). It may read or write the keys with the
prefixes that it is granted; to write includes to read. A monitor may look at the
cluster, and an admin may do everything. Only admins change users; the first one
is root, by its certificate.

What is changed is in force on all nodes within two seconds or so, on connections
and in transactions that are open as well.`,
		Example: `  linchpin user create alice --write orders/ --read catalog/ --out alice.token
  linchpin user list
  linchpin user rotate alice --keep 1h --out alice.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(userCreate(), userList(), userChange("grant", "Allow a user more"), userChange("revoke", "Allow a user less"), userDrop(), userRotate(), userWhoAmI(),
		userExport(), userImport())
	return cmd
}

// rights are the flags that say what a user may do.
type rights struct {
	admin, monitor bool
	read, write    []string
}

func (r *rights) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&r.read, "read", nil, "the keys with this `prefix`, to read; \"\" is all keys (repeatable)")
	f.StringArrayVar(&r.write, "write", nil, "the keys with this `prefix`, to write and read (repeatable)")
	f.BoolVar(&r.monitor, "monitor", false, "to look at the cluster: shards, hot keys, metrics, which show names of keys")
	f.BoolVar(&r.admin, "admin", false, "everything, users included")
}

func (r *rights) of(s *session) (out pb.Rights, err error) {
	out.Admin, out.Monitor = r.admin, r.monitor
	for _, p := range []struct {
		prefixes []string
		write    bool
	}{{r.read, false}, {r.write, true}} {
		for _, text := range p.prefixes {
			prefix, err := s.bytes(text)
			if err != nil {
				return out, err
			}
			out.Grants = append(out.Grants, pb.Grant{Prefix: prefix, Write: p.write})
		}
	}
	return out, nil
}

func userCreate() *cobra.Command {
	var f flags
	var r rights
	var ttl time.Duration
	var out string
	var noToken bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a user",
		Long: `Make a user, with a token unless --no-token is given. The token is told this once:
the cluster keeps a hash of it. --out has it written to a file that only its owner
can read, and not shown.`,
		Example: `  linchpin user create alice --write orders/ --out alice.token
  linchpin user create prometheus --monitor --token-ttl 2160h
  linchpin user create bob --read "" --no-token`,
		Args: arguments(1, 1),
	}
	f.addTo(cmd, true)
	r.addTo(cmd)
	cmd.Flags().BoolVar(&noToken, "no-token", false, "the user has a certificate, and no token")
	tokenFlags(cmd, &ttl, &out)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		if err := s.checkTTL(ttl); err != nil {
			return err
		}
		may, err := r.of(s)
		if err != nil {
			return err
		}
		u, err := s.db.CreateUser(ctx, pb.CreateUserRequest{Name: args[0], Rights: may, NoToken: noToken, TokenTtlMs: uint64(ttl.Milliseconds())})
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printMade(u, out)
	})
	return cmd
}

func tokenFlags(cmd *cobra.Command, ttl *time.Duration, out *string) {
	cmd.Flags().DurationVar(ttl, "token-ttl", 0, "for how long the token is good; 0 is for ever")
	cmd.Flags().StringVar(out, "out", "", "write the token to this `file`, and do not show it")
}

func (s *session) checkTTL(ttl time.Duration) error {
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return usagef(s.cmd, "--token-ttl is %v, want a millisecond or more, or 0", ttl)
	}
	return nil
}

// printMade shows a user with its token, or puts the token into a file.
func (s *session) printMade(u *pb.UserResponse, out string) error {
	token := u.Token
	if token != "" && out != "" {
		if err := certs.WriteSecret(out, []byte(token+"\n")); err != nil {
			return fmt.Errorf("the user was changed, but its token could not be written; make another with: linchpin user rotate %s: %w", u.User.Name, err)
		}
		token = ""
	}
	if s.json {
		return s.object(struct {
			userItem
			Token string `json:"token,omitempty"`
		}{s.userItem(&u.User), token})
	}
	if err := s.printUsers([]pb.User{u.User}); err != nil || token == "" {
		return err
	}
	return s.printf("\ntoken, told this once: %s\n", token)
}

func userList() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the users and what they may do",
		Long:    `List the users by name, with what they may do and how many tokens they have.`,
		Example: `  linchpin user list --output json`,
		Args:    arguments(0, 0),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		all, err := s.db.Users(ctx)
		if err != nil {
			return err
		}
		return s.printUsers(all)
	})
	return cmd
}

func userChange(verb, short string) *cobra.Command {
	var f flags
	var r rights
	long := `Allow a user more. A grant to write takes the place of one to read the same prefix.`
	if verb == "revoke" {
		long = `Allow a user less. --write leaves the permission to read the prefix, and --read leaves
nothing of it. The prefix must be one that was granted: a longer one cannot be taken
out of a shorter one.`
	}
	cmd := &cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Long:    long,
		Example: "  linchpin user " + verb + " alice --write orders/ --read catalog/",
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	r.addTo(cmd)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		may, err := r.of(s)
		if err != nil {
			return err
		}
		if !may.Admin && !may.Monitor && len(may.Grants) == 0 {
			return usagef(cmd, "nothing is named to %s: use --read, --write, --monitor or --admin", verb)
		}
		change := s.db.GrantUser
		if verb == "revoke" {
			change = s.db.RevokeUser
		}
		u, err := change(ctx, args[0], may)
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printUsers([]pb.User{u.User})
	})
	return cmd
}

func userDrop() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "drop NAME",
		Short:   "Remove a user",
		Long:    `Remove a user. Its tokens are nobody's then, and its certificates let nobody in.`,
		Example: `  linchpin user drop alice`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		u, err := s.db.DropUser(ctx, args[0])
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printUsers([]pb.User{u.User})
	})
	return cmd
}

func userRotate() *cobra.Command {
	var f flags
	var keep, ttl time.Duration
	var out string
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Make a new token for a user",
		Long: `Make a new token for a user. The old ones end at once, or after --keep, within which
programs can change over. A program that takes its token from a file reads it anew
with every connection.`,
		Example: `  linchpin user rotate alice --keep 1h --out alice.token`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.Flags().DurationVar(&keep, "keep", 0, "for how long the old tokens are good beside the new one")
	tokenFlags(cmd, &ttl, &out)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		if err := s.checkTTL(ttl); err != nil {
			return err
		}
		if keep < 0 {
			return usagef(cmd, "--keep is %v, want 0 or more", keep)
		}
		u, err := s.db.RotateToken(ctx, pb.RotateTokenRequest{Name: args[0], KeepMs: uint64(keep.Milliseconds()), TokenTtlMs: uint64(ttl.Milliseconds())})
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printMade(u, out)
	})
	return cmd
}

func userWhoAmI() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "whoami",
		Short:   "Show whom the node takes you for",
		Long:    `Show whom the node takes you for, and what you may do. Without TLS everybody is root.`,
		Example: `  linchpin user whoami --certs-dir certs`,
		Args:    arguments(0, 0),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		u, err := s.db.WhoAmI(ctx)
		if err != nil {
			return err
		}
		return s.printUsers([]pb.User{*u})
	})
	return cmd
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

func (s *session) userItem(u *pb.User) userItem {
	out := userItem{Name: u.Name, Admin: u.Rights.Admin, Monitor: u.Rights.Monitor, Grants: []grantItem{}, Tokens: []tokenItem{}, Created: moment(u.CreatedNs)}
	for i := range u.Rights.Grants {
		out.Grants = append(out.Grants, grantItem{s.keyItem(u.Rights.Grants[i].Prefix), u.Rights.Grants[i].Write})
	}
	for _, t := range u.Tokens {
		out.Tokens = append(out.Tokens, tokenItem{time.Unix(0, t.CreatedNs).UTC(), moment(t.ExpiresNs)})
	}
	return out
}

// moment is nil for 0.
func moment(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	at := time.Unix(0, ns).UTC()
	return &at
}

func (s *session) printUsers(all []pb.User) error {
	if s.json {
		for i := range all {
			if err := s.object(s.userItem(&all[i])); err != nil {
				return err
			}
		}
		return nil
	}
	t := s.table("NAME", "MAY", "TOKENS")
	for i := range all {
		t.row(all[i].Name, s.may(&all[i].Rights), tokensOf(all[i].Tokens))
	}
	return t.flush()
}

// may is what rights allow, in words.
func (s *session) may(r *pb.Rights) string {
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

// prefix shows a prefix; the empty one needs a word.
func (s *session) prefix(p []byte) string {
	if len(p) == 0 {
		return "all keys"
	}
	return s.text(p)
}

// tokensOf counts tokens, and says when the first of them expires.
func tokensOf(all []pb.TokenInfo) string {
	if len(all) == 0 {
		return "none"
	}
	first := int64(0)
	for _, t := range all {
		if t.ExpiresNs != 0 && (first == 0 || t.ExpiresNs < first) {
			first = t.ExpiresNs
		}
	}
	if first == 0 {
		return fmt.Sprint(len(all))
	}
	return fmt.Sprintf("%d, until %s", len(all), stamp(time.Unix(0, first)))
}
