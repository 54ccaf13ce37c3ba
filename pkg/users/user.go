package users

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// The reserved names.
const (
	Root = "root"
	Node = "node"
)

// Bounds of a user, somewhat arbitrary: every operation is held against the
// grants one by one, and the table is one value.
const (
	MaxNameBytes = 63
	MaxGrants    = 128
	MaxTokens    = 8
)

// User is a user with roles and grants. It is immutable.
type User struct {
	Name string `json:"name"`
	// Created is in nanoseconds since 1970.
	Created int64   `json:"created_ns,omitempty"`
	Admin   bool    `json:"admin,omitempty"`
	Monitor bool    `json:"monitor,omitempty"`
	Grants  []Grant `json:"grants,omitempty"`
	Tokens  []Token `json:"tokens,omitempty"`
}

// Grant is the permission to read, or to write and read, the keys that begin
// with Prefix. The empty prefix is that of all keys.
type Grant struct {
	Prefix []byte `json:"prefix"`
	Write  bool   `json:"write,omitempty"`
}

func (g Grant) String() string {
	if g.Write {
		return fmt.Sprintf("write %q", g.Prefix)
	}
	return fmt.Sprintf("read %q", g.Prefix)
}

// Superuser is the user that Root is.
var Superuser = &User{Name: Root, Admin: true}

// CheckName refuses names that users cannot have. They are in certificates, in
// files' names and in logs.
func CheckName(name string) error {
	wrong := func(text string) error {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: text,
			Hint: `a name has 1 to 63 of the characters a-z, A-Z, 0-9, ".", "_", "@" and "-", and begins with a letter`}
	}
	switch {
	case name == Root || name == Node:
		return wrong(fmt.Sprintf("the name %q is reserved", name))
	case name == "" || len(name) > MaxNameBytes || !letter(name[0]):
		return wrong(fmt.Sprintf("%q is not a valid user name", name[:min(len(name), MaxNameBytes)]))
	}
	for i := range len(name) {
		if c := name[i]; !letter(c) && (c < '0' || c > '9') && c != '.' && c != '_' && c != '@' && c != '-' {
			return wrong(fmt.Sprintf("%q is not a valid user name", name))
		}
	}
	return nil
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// validate refuses what no table may have.
func (u *User) validate() error {
	if err := CheckName(u.Name); err != nil {
		return err
	}
	if len(u.Grants) > MaxGrants {
		return kv.Errorf(kv.KindInvalid, "user %q would have %d grants; the limit is %d", u.Name, len(u.Grants), MaxGrants)
	}
	if len(u.Tokens) > MaxTokens {
		return kv.Errorf(kv.KindInvalid, "user %q would have %d tokens; the limit is %d", u.Name, len(u.Tokens), MaxTokens)
	}
	for i, g := range u.Grants {
		if len(g.Prefix) > kv.MaxKeyBytes {
			return kv.Errorf(kv.KindInvalid, "a prefix of user %q has %d bytes; the limit is %d", u.Name, len(g.Prefix),
				kv.MaxKeyBytes)
		}
		if kv.IsSystem(g.Prefix) {
			return kv.Errorf(kv.KindInvalid, "the prefix %q is reserved for keys of linchpin", g.Prefix)
		}
		if i > 0 && bytes.Compare(u.Grants[i-1].Prefix, g.Prefix) >= 0 {
			return kv.Errorf(kv.KindInvalid, "the grants of user %q are unsorted", u.Name)
		}
	}
	for _, t := range u.Tokens {
		if len(t.Hash) != hashBytes {
			return kv.Errorf(kv.KindInvalid, "the hash of a token of user %q has %d bytes", u.Name, len(t.Hash))
		}
	}
	return nil
}

// clone is a copy that shares nothing which With would change.
func (u *User) clone() *User {
	c := *u
	c.Grants, c.Tokens = slices.Clone(u.Grants), slices.Clone(u.Tokens)
	return &c
}

// Granted is the user with more grants. One for a prefix takes the place of the
// one that was there, unless that allowed more.
func (u *User) Granted(more ...Grant) *User {
	c := u.clone()
	for _, g := range more {
		i, found := c.find(g.Prefix)
		if found {
			c.Grants[i].Write = c.Grants[i].Write || g.Write
		} else {
			c.Grants = slices.Insert(c.Grants, i, g)
		}
	}
	return c
}

// Revoked is the user without grants: of one to read, nothing is left of the
// prefix; of one to write, the permission to read.
func (u *User) Revoked(less ...Grant) (*User, error) {
	c := u.clone()
	for _, g := range less {
		i, found := c.find(g.Prefix)
		if !found || g.Write && !c.Grants[i].Write {
			return nil, &kv.Error{Kind: kv.KindNotFound, Op: -1, Text: fmt.Sprintf("user %q has no grant to %v", u.Name, g),
				Hint: `"linchpin user list" shows the grants; a grant for a short prefix cannot be revoked for a longer one`}
		}
		if g.Write {
			c.Grants[i].Write = false
		} else {
			c.Grants = slices.Delete(c.Grants, i, i+1)
		}
	}
	return c, nil
}

func (u *User) find(prefix []byte) (int, bool) {
	return slices.BinarySearchFunc(u.Grants, prefix, func(g Grant, p []byte) int { return bytes.Compare(g.Prefix, p) })
}

// May reports whether the user may read a span, or write it.
func (u *User) May(write bool, s kv.Span) bool {
	if u.Admin {
		return true
	}
	if s.IsPoint() {
		return slices.ContainsFunc(u.Grants, func(g Grant) bool {
			return (g.Write || !write) && bytes.HasPrefix(s.Start,
				g.Prefix)
		})
	}
	return u.covers(write, s)
}

// covers goes from the start of a range from grant to grant: of those that have
// the key where it is, the one that ends last takes it further.
func (u *User) covers(write bool, s kv.Span) bool {
	at := s.Start
	for {
		var reach []byte // empty is the end of all keys
		found := false
		for _, g := range u.Grants {
			end := prefixEnd(g.Prefix)
			if write && !g.Write || bytes.Compare(g.Prefix, at) > 0 || len(end) > 0 && bytes.Compare(at, end) >= 0 {
				continue
			}
			if !found || beyond(end, reach) {
				reach, found = end, true
			}
		}
		switch {
		case !found:
			return false
		case len(reach) == 0, len(s.End) > 0 && bytes.Compare(reach, s.End) >= 0:
			return true
		}
		at = reach
	}
}

// beyond reports whether an end of a range is after another one.
func beyond(a, b []byte) bool {
	return len(b) > 0 && (len(a) == 0 || bytes.Compare(a, b) > 0)
}

// prefixEnd is the least key after all keys with a prefix; empty if there is
// none.
func prefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := slices.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

// MarkUnlocked marks the reads of what the user may not write: an interactive transaction takes no
// locks for them, which would hold up those who may write.
func (u *User) MarkUnlocked(ops []msg.Op) {
	for i := range ops {
		o := &ops[i]
		o.Unlocked = !o.Writes() && !o.ForUpdate && !u.May(true, o.Span())
	}
}

// Check refuses operations that the user may not do. The error has the number
// of the first.
func (u *User) Check(ops []msg.Op) *kv.Error {
	if u.Admin {
		return nil
	}
	for i := range ops {
		o := &ops[i]
		write := o.Writes() || o.ForUpdate
		if s := o.Span(); !u.May(write, s) {
			e := u.Denied(write, s)
			e.Op = i
			return e
		}
	}
	return nil
}

// shownBytes bounds the keys that errors show.
const shownBytes = 64

// Denied is the refusal to read or write a span.
func (u *User) Denied(write bool, s kv.Span) *kv.Error {
	verb := "read"
	if write {
		verb = "write"
	}
	e := &kv.Error{Kind: kv.KindPermissionDenied, Op: -1,
		Hint: fmt.Sprintf("an administrator can grant it: linchpin user grant %s --%s PREFIX", u.Name, verb)}
	if s.IsPoint() {
		e.Key = s.Start[:min(len(s.Start), shownBytes)]
		e.Text = fmt.Sprintf("user %q may not %s the key", u.Name, verb)
		return e
	}
	short := kv.Range(s.Start[:min(len(s.Start), shownBytes)], s.End[:min(len(s.End), shownBytes)])
	e.Text = fmt.Sprintf("user %q may not %s the whole range %v", u.Name, verb, short)
	return e
}

// Role is what a call needs that is not about keys.
type Role int

const (
	// AnyUser needs only authentication.
	AnyUser Role = iota
	// Monitor may look at the cluster.
	Monitor
	// Admin may do everything.
	Admin
)

func (r Role) String() string { return [...]string{"none", "monitor", "admin"}[r] }

// Has reports whether the user has a role.
func (u *User) Has(r Role) bool { return u.Admin || r == AnyUser || r == Monitor && u.Monitor }

// CheckRole refuses a call of something that needs a role.
func (u *User) CheckRole(r Role, what string) *kv.Error {
	if u.Has(r) {
		return nil
	}
	return &kv.Error{Kind: kv.KindPermissionDenied, Op: -1,
		Text: fmt.Sprintf("user %q may not call %s, which needs the role %v", u.Name, what, r),
		Hint: fmt.Sprintf("an administrator can grant it: linchpin user grant %s --%v", u.Name, r)}
}

// Sees reports whether the user may know of what others do: all keys may be read.
func (u *User) Sees() bool { return u.May(false, kv.Range(nil, []byte(kv.SystemStart))) }

// compareTokens orders tokens by their creation.
func compareTokens(a, b Token) int { return cmp.Compare(a.Created, b.Created) }

// WithToken is the user with one more token. Those before it expire at a time,
// in nanoseconds since 1970, if they do not sooner; what has expired is gone.
func (u *User) WithToken(t Token, others int64, now time.Time) *User {
	c := u.clone()
	for i := range c.Tokens {
		if o := &c.Tokens[i]; o.Expires == 0 || o.Expires > others {
			o.Expires = others
		}
	}
	c.Tokens = slices.DeleteFunc(c.Tokens, func(o Token) bool { return o.expired(now) })
	c.Tokens = append(c.Tokens, t)
	slices.SortStableFunc(c.Tokens, compareTokens)
	return c
}

// Same reports whether another user of the name may do the same.
func (u *User) Same(o *User) bool {
	return u.Name == o.Name && u.Admin == o.Admin && u.Monitor == o.Monitor &&
		slices.EqualFunc(u.Grants, o.Grants, func(a, b Grant) bool {
			return a.Write == b.Write && bytes.Equal(a.Prefix,
				b.Prefix)
		})
}

// identical reports whether two users are equal.
func (u *User) identical(o *User) bool {
	return u.Same(o) && u.Created == o.Created &&
		slices.EqualFunc(u.Tokens, o.Tokens, func(a, b Token) bool {
			return a.Created == b.Created && a.Expires == b.Expires && bytes.Equal(a.Hash, b.Hash)
		})
}
