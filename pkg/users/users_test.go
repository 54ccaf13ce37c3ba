package users

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func read(p string) Grant  { return Grant{Prefix: []byte(p)} }
func write(p string) Grant { return Grant{Prefix: []byte(p), Write: true} }

func user(grants ...Grant) *User { return (&User{Name: "alice"}).Granted(grants...) }

func TestWhatGrantsAllow(t *testing.T) {
	orders := user(write("orders/"), read("catalog/"))
	all := user(read(""))
	point := func(k string) kv.Span { return kv.Point([]byte(k)) }
	span := func(a, b string) kv.Span { return kv.Range([]byte(a), []byte(b)) }
	for _, c := range []struct {
		name        string
		u           *User
		s           kv.Span
		read, write bool
	}{
		{"a key with a prefix to write", orders, point("orders/1"), true, true},
		{"the prefix itself is a key with it", orders, point("orders/"), true, true},
		{"a key with a prefix to read", orders, point("catalog/x"), true, false},
		{"a key that is shorter than the prefix", orders, point("orders"), false, false},
		{"a key of plain's", orders, point("zebra"), false, false},
		{"the empty prefix is that of all keys", all, point("zebra"), true, false},
		{"a range within a prefix", orders, span("orders/1", "orders/2"), true, true},
		{"a range that is all of a prefix", orders, span("orders/", "orders0"), true, true},
		{"a range one key longer", orders, span("orders/", "orders0\x00"), false, false},
		{"a range that begins one key sooner", orders, span("orders.\xff", "orders0"), false, false},
		{"a range over two prefixes with a gap", orders, span("catalog/", "orders0"), false, false},
		{"all keys of clients, of who may read all", all, span("", kv.SystemStart), true, false},
		{"all keys", orders, span("", ""), false, false},
		{"two prefixes beside each other", user(read("a"), write("b")), span("a", "c"), true, false},
		{"one prefix within another", user(read("a"), write("ab")), span("a", "b"), true, false},
		{"the longer prefix to write", user(read("a"), write("ab")), span("ab", "ac"), true, true},
		{"a prefix of the greatest bytes ends with all keys", user(read("\xff")), span("\xff", kv.SystemStart), true, false},
	} {
		require.Equal(t, c.read, c.u.May(false, c.s), c.name)
		require.Equal(t, c.write, c.u.May(true, c.s), c.name)
	}
	require.True(t, Superuser.May(true, span("", "")))
	require.True(t, all.Sees())
	require.False(t, orders.Sees())
}

// TestRangesAreTheirKeys: a range may be read if and only if each of its keys may,
// among keys that separate all grants here.
func TestRangesAreTheirKeys(t *testing.T) {
	letters := []string{"", "a", "b", "\xff"}
	keys := append(letters, "c") // no grant names it: what lies between the grants
	var universe []string
	for _, a := range keys {
		for _, b := range keys {
			for _, c := range keys {
				universe = append(universe, a+b+c, a+b+c+"\x00")
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.Custom(func(t *rapid.T) Grant {
			p := rapid.SampledFrom(letters).Draw(t, "first") + rapid.SampledFrom(letters).Draw(t, "second")
			return Grant{Prefix: []byte(p), Write: rapid.Bool().Draw(t, "write")}
		})
		u := user(rapid.SliceOfN(prefix, 0, 5).Draw(t, "grants")...)
		s := kv.Range([]byte(rapid.SampledFrom(universe).Draw(t, "start")),
			[]byte(rapid.SampledFrom(universe).Draw(t, "end")))
		if s.IsEmpty() {
			return
		}
		for _, w := range []bool{false, true} {
			each, any := true, false
			for _, k := range universe {
				if s.Contains([]byte(k)) {
					any = true
					each = each && u.May(w, kv.Point([]byte(k)))
				}
			}
			if any && u.May(w, s) != each {
				t.Fatalf("grants %v: the range %v: %v, its keys: %v", u.Grants, s, u.May(w, s), each)
			}
		}
	})
}

func TestOperationsNeedWhatTheyDo(t *testing.T) {
	reader, writer := user(read("k")), user(write("k"))
	for _, c := range []struct {
		op     msg.Op
		writes bool
	}{
		{msg.Op{Kind: msg.OpGet, Key: []byte("k")}, false},
		{msg.Op{Kind: msg.OpGet, Key: []byte("k"), ForUpdate: true}, true},
		{msg.Op{Kind: msg.OpRequire, Key: []byte("k"), Expect: msg.ExpectExists}, false},
		{msg.Op{Kind: msg.OpPut, Key: []byte("k")}, true},
		{msg.Op{Kind: msg.OpDelete, Key: []byte("k")}, true},
		{msg.Op{Kind: msg.OpAdd, Key: []byte("k")}, true},
		{msg.Op{Kind: msg.OpAddGet, Key: []byte("k")}, true},
		{msg.Op{Kind: msg.OpScan, Key: []byte("k"), End: []byte("k1")}, false},
		{msg.Op{Kind: msg.OpDeleteRange, Key: []byte("k"), End: []byte("k1")}, true},
		{msg.Op{Kind: msg.OpQuery, Key: []byte("k")}, false},
		{msg.Op{Kind: msg.OpUpdate, Key: []byte("k")}, true},
		{msg.Op{Kind: msg.OpUpdateGet, Key: []byte("k")}, true},
	} {
		ops := []msg.Op{{Kind: msg.OpGet, Key: []byte("k0")}, c.op}
		require.Nil(t, writer.Check(ops), "%v", c.op.Kind)
		require.Nil(t, Superuser.Check(ops))
		err := reader.Check(ops)
		require.Equal(t, c.writes, err != nil, "%v", c.op.Kind)
		if err != nil {
			require.Equal(t, kv.KindPermissionDenied, err.Kind)
			require.Equal(t, 1, err.Op)
			require.Contains(t, err.Error(), `user "alice" may not write`)
		}
		require.NotNil(t, user(write("l")).Check(ops))
		for _, u := range []*User{Superuser, writer, reader, user(read("k"), write("k0"))} {
			u.MarkUnlocked(ops)
			require.Equal(t, u == reader, ops[0].Unlocked)
			require.Equal(t, u != Superuser && u != writer && !c.writes, ops[1].Unlocked, "%v, which may not be written",
				c.op.Kind)
		}
	}
}

func TestGrantsAreTakenAwayAsTheyWereGiven(t *testing.T) {
	u := user(read("a"), write("b"), write("a"), read("b"))
	require.Equal(t, []Grant{write("a"), write("b")}, u.Grants, "to read takes nothing from to write")
	less, err := u.Revoked(write("a"), read("b"))
	require.NoError(t, err)
	require.Equal(t, []Grant{read("a")}, less.Grants)
	require.Len(t, u.Grants, 2, "users do not change")
	for _, g := range []Grant{read("ab"), write("c"), read("")} {
		_, err := u.Revoked(g)
		require.Equal(t, kv.KindNotFound, kv.KindOf(err), "%v", g)
	}
	_, err = less.Revoked(write("a"))
	require.Equal(t, kv.KindNotFound, kv.KindOf(err))
	require.True(t, u.Same(user(write("b"), write("a"))))
	require.False(t, u.Same(less))
}

func token(n byte) (Token, string) {
	text := TokenText([SecretBytes]byte{n})
	h, ok := HashToken(text)
	if !ok {
		panic(text)
	}
	return Token{Hash: h[:]}, text
}

func TestTokens(t *testing.T) {
	now := time.Unix(1000, 0)
	first, text := token(1)
	u := (&User{Name: "alice"}).WithToken(first, 0, now)
	second, _ := token(2)
	u = u.WithToken(second, now.Add(time.Minute).UnixNano(), now)
	require.Len(t, u.Tokens, 2)
	table, err := (&Table{}).With(u)
	require.NoError(t, err)
	hash, _ := HashToken(text)
	found, expires := table.Bearer(hash, now)
	require.Same(t, u, found)
	require.Equal(t, now.Add(time.Minute).UnixNano(), expires)
	found, _ = table.Bearer(hash, now.Add(time.Minute))
	require.Nil(t, found, "it has expired")
	found, expires = table.Bearer([32]byte(second.Hash), now.Add(time.Hour))
	require.Same(t, u, found)
	require.Zero(t, expires)
	other, _ := token(3)
	found, _ = table.Bearer([32]byte(other.Hash), now)
	require.Nil(t, found)
	third, _ := token(4)
	require.Len(t, u.WithToken(third, now.UnixNano(), now).Tokens, 1, "the others are good until now")

	raw, err := table.Encode()
	require.NoError(t, err)
	require.NotContains(t, string(raw), text[len(tokenPrefix):], "the table has no token")
	for _, bad := range []string{"", "x", text[1:], text + "x", "Linchpin_" + text[9:], strings.Repeat("x", len(text))} {
		_, ok := HashToken(bad)
		require.False(t, ok, "%q", bad)
	}
}

func TestTablesOutlastEncoding(t *testing.T) {
	one, _ := token(1)
	a := (&User{Name: "zoe", Admin: true}).WithToken(one, 0, time.Unix(1, 0))
	table := &Table{}
	for _, u := range []*User{a, user(read("\xff\x00"), write("")), {Name: "bob", Monitor: true}} {
		var err error
		table, err = table.With(u)
		require.NoError(t, err)
	}
	raw, err := table.Encode()
	require.NoError(t, err)
	again, err := Parse(raw)
	require.NoError(t, err)
	twice, err := again.Encode()
	require.NoError(t, err)
	require.Equal(t, raw, twice)
	var names []string
	for _, u := range again.Users() {
		names = append(names, u.Name)
	}
	require.Equal(t, []string{"alice", "bob", "zoe"}, names)
	rest, there := again.Without("bob")
	require.True(t, there)
	require.Nil(t, rest.User("bob"))
	require.NotNil(t, again.User("bob"), "tables do not change")
	_, there = rest.Without("bob")
	require.False(t, there)
	_, err = again.With((&User{Name: "eve"}).WithToken(one, 0, time.Unix(1, 0)))
	require.ErrorContains(t, err, "listed twice")
}

func TestWhatTablesRefuse(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                           "cannot be decoded",
		`{"format":2,"users":[]}`:     "its format is 2",
		`{"format":1,"users":[null]}`: "a user is null",
		`{"format":1,"users":[]} x`:   "there is data after its end",
		`{"format":1,"more":1}`:       "unknown field",
		`{"format":1,"users":[{"name":"alice","super":true}]}`:                               "unknown field",
		`{"format":1,"users":[{"name":"root"}]}`:                                             `"root" is reserved`,
		`{"format":1,"users":[{"name":"node"}]}`:                                             `"node" is reserved`,
		`{"format":1,"users":[{"name":"a"},{"name":"a"}]}`:                                   "listed twice",
		`{"format":1,"users":[{"name":"1a"}]}`:                                               "not a valid user name",
		`{"format":1,"users":[{"name":"a/b"}]}`:                                              "not a valid user name",
		`{"format":1,"users":[{"name":"a","tokens":[{"hash":"YQ=="}]}]}`:                     "the hash of a token of user",
		`{"format":1,"users":[{"name":"a","grants":[{"prefix":"Yg=="},{"prefix":"YQ=="}]}]}`: "unsorted",
		`{"format":1,"users":[{"name":"a","grants":[{"prefix":"//91"}]}]}`:                   "reserved",
	} {
		_, err := Parse([]byte(text))
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), text)
		require.ErrorContains(t, err, want, text)
	}
	many := user()
	for i := range MaxGrants + 1 {
		many = many.Granted(read(fmt.Sprintf("%03d", i)))
	}
	_, err := (&Table{}).With(many)
	require.ErrorContains(t, err, "limit is 128")
	large := &Table{}
	for i := 0; err == nil || len(large.Users()) == 0; i++ {
		u := &User{Name: fmt.Sprintf("u%d", i)}
		for j := range MaxGrants {
			u = u.Granted(read(fmt.Sprintf("%03d", j) + strings.Repeat("x", 1000)))
		}
		large, err = large.With(u)
		require.NoError(t, err)
		_, err = large.Encode()
	}
	require.ErrorContains(t, err, "the limit is 1048576")
}

func TestNames(t *testing.T) {
	for _, ok := range []string{"a", "Alice", "a.b_c-d@example.org", strings.Repeat("x", MaxNameBytes)} {
		require.NoError(t, CheckName(ok))
	}
	for _, bad := range []string{"", "root", "node", "a b", "ä", "-a", ".a", "a/../b", "a\n",
		strings.Repeat("x", MaxNameBytes+1)} {
		require.Equal(t, kv.KindInvalid, kv.KindOf(CheckName(bad)), "%q", bad)
	}
}

func TestRoles(t *testing.T) {
	plain, watcher := &User{Name: "a"}, &User{Name: "b", Monitor: true}
	require.Nil(t, plain.CheckRole(AnyUser, "X"))
	require.Nil(t, watcher.CheckRole(Monitor, "X"))
	require.Nil(t, Superuser.CheckRole(Admin, "X"))
	require.ErrorContains(t, plain.CheckRole(Monitor, "Shards"),
		`user "a" may not call Shards, which needs the role monitor`)
	require.ErrorContains(t, watcher.CheckRole(Admin, "DropUser"), "needs the role admin")
}

// FuzzParse: whatever is stored is a table or refused, and a table is encoded as
// what it was parsed from means.
func FuzzParse(f *testing.F) {
	one, _ := token(1)
	table, err := (&Table{}).With(user(read("a"), write("b")).WithToken(one, 0, time.Unix(1, 0)))
	require.NoError(f, err)
	raw, err := table.Encode()
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"format":1,"users":[{"name":"a","admin":true},{"name":"b","monitor":true}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := Parse(raw)
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		first, err := table.Encode()
		if err != nil {
			return // it came out longer than a value can be
		}
		again, err := Parse(first)
		require.NoError(t, err)
		second, err := again.Encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(first, second))
		require.True(t, json.Valid(first))
		for _, u := range again.Users() {
			require.False(t, u.Name == Root || u.Name == Node)
		}
	})
}

// TestTablesAreMerged: no other user changes.
func TestTablesAreMerged(t *testing.T) {
	token := func(b byte) []Token { return []Token{{Hash: bytes.Repeat([]byte{b}, hashBytes), Created: 1}} }
	table := func(all ...*User) *Table {
		made, err := TableOf(all)
		require.NoError(t, err)
		return made
	}
	alice, bob := &User{Name: "alice", Tokens: token(1)}, &User{Name: "bob", Admin: true}
	here := table(alice, bob)
	require.Equal(t, table(alice, bob, &User{Name: "carol"}), merged(t, here, table(&User{Name: "carol"}), false))
	require.Equal(t, here, merged(t, here, here, false), "the same again is the same")
	for text, other := range map[string]*User{
		"rights":      {Name: "alice", Tokens: token(1), Monitor: true},
		"grants":      {Name: "alice", Tokens: token(1), Grants: []Grant{{Prefix: []byte("a")}}},
		"a token":     {Name: "alice", Tokens: token(2)},
		"no token":    {Name: "alice"},
		"an expiry":   {Name: "alice", Tokens: []Token{{Hash: token(1)[0].Hash, Created: 1, Expires: 5}}},
		"another one": {Name: "alice", Tokens: token(1), Created: 7},
	} {
		from := table(other, &User{Name: "carol"})
		_, err := here.Merged(from, false)
		require.Equal(t, kv.KindConditionFailed, kv.KindOf(err), text)
		require.ErrorContains(t, err, `"alice"`)
		require.Equal(t, table(other, bob, &User{Name: "carol"}), merged(t, here, from, true), text)
	}
	_, err := here.Merged(table(&User{Name: "eve", Tokens: token(1)}), true)
	require.ErrorContains(t, err, "listed twice", "plain gets another's token")
}

func merged(t *testing.T, a, b *Table, replace bool) *Table {
	t.Helper()
	out, err := a.Merged(b, replace)
	require.NoError(t, err)
	return out
}
