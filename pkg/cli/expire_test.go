package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExpire(t *testing.T) {
	n := start(t)
	require.Regexp(t, `^version \d`, n.run(t, "put", "k", "v", "--ttl", "1h").ok(t))
	left, err := time.ParseDuration(n.run(t, "ttl", "k").ok(t)[:len("1h0m0s")])
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Minute)
	it := objects(t, n.run(t, "ttl", "k", "-o", "json").ok(t))[0]
	require.Equal(t, true, it["found"])
	require.Greater(t, it["ttl_ms"], 3e6)
	require.Greater(t, objects(t, n.run(t, "get", "k", "-o", "json").ok(t))[0]["ttl_ms"], 3e6)
	require.Regexp(t, `^version \d`, n.run(t, "persist", "k").ok(t))
	require.Equal(t, "the key has no time to live\n", n.run(t, "persist", "k").ok(t))
	require.Equal(t, `{"key":"k","found":true}`+"\n", n.run(t, "persist", "k", "-o", "json").ok(t))
	require.Equal(t, "never\n", n.run(t, "ttl", "k").ok(t))
	require.NotContains(t, n.run(t, "get", "k", "-o", "json").ok(t), "ttl_ms")
	n.run(t, "incr", "n").ok(t)
	require.Regexp(t, `^version \d`, n.run(t, "expire", "n", "90m").ok(t))
	require.Regexp(t, `^1h(29|30)m`, n.run(t, "ttl", "n").ok(t))
	require.Regexp(t, `^1h(29|30)m`, n.run(t, "ttl", "n").ok(t))
	n.run(t, "put", "k", "v", "--ttl", "1h").ok(t)
	n.run(t, "put", "k", "v").ok(t)
	require.Equal(t, "never\n", n.run(t, "ttl", "k").ok(t))

	for _, args := range [][]string{{"ttl", "gone"}, {"expire", "gone", "1s"}, {"persist", "gone"}} {
		n.run(t, args...).fails(t, 1, `linchpin: NotFound: the key does not exist (key "gone")`)
		require.Equal(t, ran{1, `{"key":"gone","found":false}` + "\n", ""}, n.run(t, append(args, "-o", "json")...))
	}
	n.run(t, "expire", "n", "soon").fails(t, 2, `"soon" is not a time, as in 30s or 1h30m`)
	n.run(t, "expire", "n", "0s").fails(t, 2, "the time to live is 0s")
	n.run(t, "put", "k", "v", "--ttl", "-1s").fails(t, 2, "the time to live is -1s")
	n.run(t, "put", "k", "v", "--ttl", "87601h").fails(t, 2, "the time to live is 87601h0m0s")
}

func TestExpiryInTxn(t *testing.T) {
	n := start(t)
	out := n.run(t, "txn", "put k v ttl 1h if absent; ttl k; expire k 2h; ttl k; persist k; ttl k; ttl gone; expire "+
		"gone 1s").ok(t)
	require.Regexp(t, `(?s)ttl 1h0m0s if absent +.*1h0m0s.*expire "k" 2h0m0s +done.*2h0m0s.*persist "k" `+
		`+done.*never.*\(absent\).*expire "gone" 1s +\(absent\)`, out)
	n.run(t, "txn", "put k v ttl").fails(t, 2,
		"expected a time to live from 1ms to 87600h, as in 30s or 1h30m, found the end")
	n.run(t, "txn", "expire k 30").fails(t, 2, "expected a time to live")
	n.run(t, "txn", "expire k 100000h").fails(t, 2, "expected a time to live")
}
