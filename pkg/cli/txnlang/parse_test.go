package txnlang

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

func TestEveryVerbReadsAsItsOperation(t *testing.T) {
	v, err := client.ParseVersion("0.3.17")
	require.NoError(t, err)
	counter := client.NewCounter("k")
	call := func(typ, method string, args ...any) client.Op { return Call("k", typ, method, args...) }
	for script, want := range map[string]client.Op{
		`get k`:                          client.EntryOp("k"),
		`get k for update`:               client.GetForUpdateOp("k"),
		`put k v`:                        client.PutOp("k", []byte("v")),
		`put k ""`:                       client.PutOp("k", nil),
		`put k v if absent`:              client.PutOp("k", []byte("v"), client.IfAbsent()),
		`put k v if exists`:              client.PutOp("k", []byte("v"), client.IfExists()),
		`put k v if value old`:           client.PutOp("k", []byte("v"), client.IfValue([]byte("old"))),
		`put k v if = old`:               client.PutOp("k", []byte("v"), client.IfValue([]byte("old"))),
		`put k v if version 0.3.17`:      client.PutOp("k", []byte("v"), client.IfVersion(v)),
		`put k v if version 0.0.0`:       client.PutOp("k", []byte("v"), client.IfAbsent()),
		`put "a \"b\"" "\xff\n"`:         client.PutOp(`a "b"`, []byte("\xff\n")),
		`put "if" if if absent`:          client.PutOp("if", []byte("if"), client.IfAbsent()),
		`del k`:                          client.DeleteOp("k"),
		`del k if version 0.3.17`:        client.DeleteOp("k", client.IfVersion(v)),
		`del k if = v`:                   client.DeleteOp("k", client.IfValue([]byte("v"))),
		`require k exists`:               client.RequireOp("k", client.IfExists()),
		`require k absent`:               client.RequireOp("k", client.IfAbsent()),
		`require k = v`:                  client.RequireOp("k", client.IfValue([]byte("v"))),
		`require k value v`:              client.RequireOp("k", client.IfValue([]byte("v"))),
		`require k version 0.3.17`:       client.RequireOp("k", client.IfVersion(v)),
		`incr k`:                         counter.AddGetOp(1),
		`incr k -5`:                      counter.AddGetOp(-5),
		`add k 12`:                       counter.AddOp(12),
		`scan a b limit 3 reverse`:       client.ScanOp(client.Range{Start: "a", End: "b"}, 3, client.Reverse()),
		`scan a b`:                       client.ScanOp(client.Range{Start: "a", End: "b"}, 0),
		`scan "" "" limit 10`:            client.ScanOp(client.Range{}, 10),
		`put k v ttl 1h30m if exists`:    client.PutOp("k", []byte("v"), client.TTL(90*time.Minute), client.IfExists()),
		`expire k 250ms`:                 client.ExpireOp("k", 250*time.Millisecond),
		`persist k`:                      client.PersistOp("k"),
		`ttl k`:                          client.EntryOp("k"),
		`delrange user/ user0`:           client.DeleteRangeOp(client.Range{Start: "user/", End: "user0"}),
		"\t get\tk\r":                    client.EntryOp("k"),
		`get user#1 # the first of them`: client.EntryOp("user#1"),
		`; ;get k;;`:                     client.EntryOp("k"),
		`get ключ`:                       client.EntryOp("ключ"),
		`call k set.add a "b c" 7`:       call("set", "add", "a", "b c", "7"),
		`call k map.increment f -7`:      call("map", "increment", "f", -7),
		`call k sorted-set.add 2.5 a`:    call("sorted-set", "add", 2.5, "a"),
		`call k counter.get`:             call("counter", "get"),
		`call k own.method 1 true`:       call("own", "method", "1", "true"),
	} {
		got, err := Parse(script)
		require.NoError(t, err, script)
		require.Len(t, got, 1, script)
		same(t, want, got[0].Op, script)
	}
}

// same compares operations, which have functions and so cannot be compared as values. The text of an
// operation has everything that is sent: it can be parsed again.
func same(t *testing.T, want, got client.Op, script string) {
	t.Helper()
	require.IsType(t, want, got, script)
	require.Equal(t, want.String(), got.String(), script)
	require.Equal(t, want.Key(), got.Key(), script)
	require.Equal(t, want.ReadOnly(), got.ReadOnly(), script)
}

func TestOperationsComeInOrderWithTheirLines(t *testing.T) {
	got, err := Parse("# move money\nrequire from exists; add from -5\n\nadd to 5\n")
	require.NoError(t, err)
	var seen []string
	for _, s := range got {
		seen = append(seen, s.Op.String())
	}
	require.Equal(t, []string{`require "from" exists`, `add "from" -5`, `add "to" 5`}, seen)
	require.Equal(t, []int{2, 2, 4}, []int{got[0].Line, got[1].Line, got[2].Line})
	require.Equal(t, "require", got[0].Verb)
}

func TestMistakesNameTheirPlaceAndWhatWasExpected(t *testing.T) {
	for script, want := range map[string]string{
		"fetch k": `line 1, column 1: expected "get", "put", "del", "require", "incr", "add", "scan", ` +
			`"delrange", "expire", "persist", "ttl" or "call", found "fetch"`,
		`"get" k`: `line 1, column 1: expected "get", "put", "del", "require", "incr", "add", "scan", ` +
			`"delrange", "expire", "persist", "ttl" or "call", found the quoted word "get"`,
		"get":                 `line 1, column 4: expected a key, found the end of the operation`,
		"get a b":             `line 1, column 7: expected the end of the operation, found "b"`,
		"get a for b":         `line 1, column 11: expected "update" after "for", found "b"`,
		"get k\nput k":        `line 2, column 6: expected a value, found the end of the operation`,
		"put k v if gone":     `line 1, column 12: expected "exists", "absent", "value", "=" or "version", found "gone"`,
		`put k v "if" absent`: `line 1, column 9: expected the end of the operation, found the quoted word "if"`,
		"del k if absent":     `line 1, column 10: expected "exists", "value", "=" or "version", found "absent"`,
		"require k": `line 1, column 10: expected "exists", "absent", "value", "=" or "version", found the end ` +
			`of the operation`,
		"require k version 7": `line 1, column 19: expected a version as in 0.3.1742, found "7"`,
		"add k": `line 1, column 6: expected a number from -9223372036854775808 to 9223372036854775807, ` +
			`found the end of the operation`,
		"incr k 1.5": `line 1, column 8: expected a number from -9223372036854775808 to 9223372036854775807, ` +
			`found "1.5"`,
		"scan a":           `line 1, column 7: expected a key to stop at, found the end of the operation`,
		"scan a b limit 0": `line 1, column 16: expected a limit from 1 to 10000, found "0"`,
		"put ключ":         `line 1, column 9: expected a value, found the end of the operation`,
		`put k a"b`: `line 1, column 8: a double quote inside a bare word; put the whole word in quotes and ` +
			`write \"`,
		`put k "a"b`: `line 1, column 10: expected a space or a semicolon after the closing quote`,
		`put k "ab`: `line 1, column 7: the quoted word that starts here has no closing quote or an unknown escape; ` +
			`escapes are those of Go: \" \\ \n \t \xff \u00e9`,
		"call k":                 `line 1, column 7: expected TYPE.METHOD, as in set.add, found the end of the operation`,
		"call k set":             `line 1, column 8: expected TYPE.METHOD, as in set.add, found "set"`,
		`call k summary.add 1 x`: `line 1, column 22: expected a number for x, found "x"`,
		`call k summary.add NaN`: `line 1, column 20: expected a number for x, found "NaN"`,
		`call k summary.add "1"`: `line 1, column 20: expected a number for x, found the quoted word "1"`,
		"get a\x01": `line 1, column 6: '\x01' cannot stand in a bare word; put the word in double quotes ` +
			`and write it as an escape`,
	} {
		_, err := Parse(script)
		var e *Error
		require.ErrorAs(t, err, &e, script)
		require.Equal(t, want, err.Error(), script)
	}
}

// FuzzParse holds that no script makes the parser fail other than by an Error
// inside the script, and that what it reads is read again from its own form.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"get k; put k v if absent\ndel k # gone", `put "\xff" "" if = "a\"b"`, "scan a b limit 3",
		"require k version 1.2.3", "incr k -9223372036854775808", "delrange \"\" \"\"", "get \"",
		"add k 99999999999999999999",
		"call k set.add a \"b\" 7", "call k summary.add 1e300 -0", "call k own.x true nil",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		got, err := Parse(script)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line)
			require.Positive(t, e.Column)
			return
		}
		for _, s := range got {
			again, err := Parse(s.Op.String())
			require.NoError(t, err, "%s", s.Op)
			require.Len(t, again, 1)
			require.Equal(t, 1, again[0].Line)
			same(t, s.Op, again[0].Op, script)
		}
	})
}
