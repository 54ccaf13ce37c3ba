package users

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TableKey is the key under which the table is stored.
const TableKey = kv.SystemStart + "users"

// format is the version of the stored form. What is newer is refused: to leave
// out what is not understood could be to allow what is forbidden.
const format = 1

// MaxUsers bounds the users, so that the table fits into a value if they have a
// few grants each. A table that is too large is refused however few they are.
const MaxUsers = 4096

// Table is all users. It does not change, and may be used by any number of
// goroutines. The zero value has none.
type Table struct {
	// users are in the order of their names.
	users  []*User
	byName map[string]*User
	byHash map[[hashBytes]byte]*User
}

// stored is the table as JSON, which people can read in an emergency.
type stored struct {
	Format int     `json:"format"`
	Users  []*User `json:"users"`
}

// Parse reads a stored table; nothing is a table without users. What it refuses
// is KindCorrupt.
func Parse(b []byte) (*Table, error) {
	if len(b) == 0 {
		return &Table{}, nil
	}
	bad := func(err error) (*Table, error) {
		return nil, &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: "the table of users cannot be decoded: " + err.Error(),
			Hint: "a newer release may have written it; run the same release on all nodes"}
	}
	var s stored
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return bad(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return bad(fmt.Errorf("there is data after its end"))
	}
	if s.Format != format {
		return bad(fmt.Errorf("its format is %d; this release knows %d", s.Format, format))
	}
	for _, u := range s.Users {
		if u == nil {
			return bad(fmt.Errorf("a user is null"))
		}
	}
	t, err := newTable(s.Users)
	if err != nil {
		return bad(err)
	}
	return t, nil
}

// TableOf is the table of some users.
func TableOf(all []*User) (*Table, error) { return newTable(slices.Clone(all)) }

// newTable makes a table, which owns users.
func newTable(users []*User) (*Table, error) {
	if len(users) > MaxUsers {
		return nil, kv.Errorf(kv.KindInvalid, "the table would have %d users; the limit is %d", len(users), MaxUsers)
	}
	t := &Table{users: users, byName: make(map[string]*User, len(users)),
		byHash: make(map[[hashBytes]byte]*User, len(users))}
	for _, u := range users {
		if err := u.validate(); err != nil {
			return nil, err
		}
		if t.byName[u.Name] != nil {
			return nil, kv.Errorf(kv.KindInvalid, "user %q is listed twice", u.Name)
		}
		t.byName[u.Name] = u
		for i := range u.Tokens {
			h := [hashBytes]byte(u.Tokens[i].Hash)
			if t.byHash[h] != nil {
				return nil, kv.Errorf(kv.KindInvalid, "a token of user %q is listed twice", u.Name)
			}
			t.byHash[h] = u
		}
	}
	slices.SortFunc(t.users, func(a, b *User) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

// Encode gives the stored form.
func (t *Table) Encode() ([]byte, error) {
	b, err := json.Marshal(stored{format, t.users})
	if err == nil && len(b) > kv.MaxValueBytes {
		return nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf("the table of users would have %d bytes",
			len(b)),
			Hint: fmt.Sprintf("the limit is %d bytes; use fewer users, fewer grants or shorter prefixes", kv.MaxValueBytes)}
	}
	return b, err
}

// Users are all users by name. They must not be changed.
func (t *Table) Users() []*User { return t.users }

// User gives the user of a name, nil if there is none.
func (t *Table) User(name string) *User { return t.byName[name] }

// Bearer gives the user with a token of this hash, and when the token expires,
// in nanoseconds since 1970, 0 for never. It is nil if there is none, or if the
// token has expired.
//
// The search goes by the hash, of which who guesses knows nothing before it has
// the token; the comparison takes the same time whatever it finds.
func (t *Table) Bearer(hash [hashBytes]byte, now time.Time) (*User, int64) {
	u := t.byHash[hash]
	if u == nil {
		return nil, 0
	}
	for i := range u.Tokens {
		if k := &u.Tokens[i]; subtle.ConstantTimeCompare(k.Hash, hash[:]) == 1 && !k.expired(now) {
			return u, k.Expires
		}
	}
	return nil, 0
}

// With returns the table with a user, which replaces the one of that name.
func (t *Table) With(u *User) (*Table, error) {
	next, _ := t.Without(u.Name)
	return newTable(append(slices.Clone(next.users), u))
}

// Without is the table without a user, and whether there was one.
func (t *Table) Without(name string) (*Table, bool) {
	rest := slices.DeleteFunc(slices.Clone(t.users), func(u *User) bool { return u.Name == name })
	next, err := newTable(rest)
	if err != nil { // a part of a table is one
		return t, false
	}
	return next, len(rest) < len(t.users)
}

// Merged is the table with the users of another one. Who is in both must be the same
// in both; with replace, it is as the other one has it.
func (t *Table) Merged(from *Table, replace bool) (*Table, error) {
	all := slices.Clone(from.users)
	for _, u := range t.users {
		switch other := from.byName[u.Name]; {
		case other == nil:
			all = append(all, u)
		case !replace && !u.identical(other):
			return nil, &kv.Error{Kind: kv.KindConditionFailed, Op: -1,
				Text: fmt.Sprintf("user %q already exists and differs from the imported user", u.Name),
				Hint: "nothing was imported; drop the user, or import with --replace"}
		}
	}
	return newTable(all)
}
