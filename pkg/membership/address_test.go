package membership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
)

func TestListenAddress(t *testing.T) {
	for _, c := range []struct {
		in   string
		open bool
		want string
	}{
		{":7070", false, "127.0.0.1:7070"},
		{":7070", true, ":7070"},
		{":0", false, "127.0.0.1:0"},
		{"127.0.1.2:7070", false, "127.0.1.2:7070"},
		{"0.0.0.0:7070", true, "0.0.0.0:7070"},
		{"10.1.2.3:7070", true, "10.1.2.3:7070"},
		{"[::1]:7070", false, "[::1]:7070"},
		{"[0:0:0:0:0:0:0:1]:07070", false, "[::1]:7070"},
		{"LocalHost:7070", false, "localhost:7070"},
	} {
		got, err := membership.ListenAddress(c.in, c.open)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, got)
	}
}

func TestInvalidAddressIsRejected(t *testing.T) {
	for in, hint := range map[string]string{
		"0.0.0.0:7070":          "use TLS (--certs-dir), or --insecure",
		"[::]:7070":             "use TLS",
		"10.1.2.3:7070":         "use TLS",
		"db.example.org:7070":   "use TLS",
		"":                      "write HOST:PORT",
		"7070":                  "write :7070",
		"127.0.0.1":             "write 127.0.0.1:7070",
		"::1":                   "write [::1]:7070",
		"host":                  "write HOST:PORT",
		"host:http":             "1 to 65535",
		"host:70000":            "1 to 65535",
		"host:-1":               "1 to 65535",
		"http://host:7070":      "write HOST:PORT",
		"//host:7070":           "without a scheme",
		"a host:7070":           "without a scheme",
		"127.0.0.1:7070/status": "1 to 65535",
	} {
		_, err := membership.ListenAddress(in, false)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%q: %v", in, err)
		require.ErrorContains(t, err, hint, "%q", in)
		require.ErrorContains(t, err, fmt.Sprintf("%q", in))
	}
}

func TestAdvertiseAddress(t *testing.T) {
	for _, c := range []struct {
		name, advertise, bound string
		alone, open            bool
		want                   string
	}{
		{"the listener's own by default", "", "127.0.0.1:7070", false, false, "127.0.0.1:7070"},
		{"a single node on all addresses", "", "[::]:7070", true, true, "127.0.0.1:7070"},
		{"as set", "db1.example:7070", "[::]:7070", false, true, "db1.example:7070"},
		{"a port only: this machine", ":7070", "127.0.0.1:7070", false, false, "127.0.0.1:7070"},
	} {
		got, err := membership.AdvertiseAddress(c.advertise, c.bound, c.alone, c.open)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	for _, c := range []struct{ name, advertise, bound, want string }{
		{"all addresses of a member", "", "[::]:7070", "set --advertise"},
		{"all addresses, named", "0.0.0.0:7070", "[::]:7070", "cannot be called"},
		{"no host, open to other machines", ":7070", "[::]:7070", "add the host"},
		{"no port", "h:0", "127.0.0.1:7070", "set the port"},
		{"invalid advertised address", "h", "127.0.0.1:7070", "not an address"},
		{"invalid listen address", "", "h", "not an address"},
	} {
		_, err := membership.AdvertiseAddress(c.advertise, c.bound, false, true)
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
}

func TestJoinList(t *testing.T) {
	got, err := membership.JoinList("", "127.0.0.1:7070", false)
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1:7070"}, got)
	got, err = membership.JoinList(":7072, 127.0.0.1:7070,:7071", "127.0.0.1:7070", false)
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1:7070", "127.0.0.1:7071", "127.0.0.1:7072"}, got)

	var many []string
	for i := range kv.MaxNodes + 1 {
		many = append(many, fmt.Sprintf("h:%d", 1000+i))
	}
	for name, c := range map[string]struct{ join, want string }{
		"without itself":       {":7071,:7072", "does not contain this node's own address 127.0.0.1:7070"},
		"a member twice":       {":7070,127.0.0.1:7070", "twice"},
		"an empty place":       {":7070,,:7071", "not an address"},
		"too many":             {strings.Join(many, ","), "129 members"},
		"one without a port":   {":7070,h", "not an address"},
		"one that is anywhere": {":7070,0.0.0.0:7071", "cannot be called"},
	} {
		_, err := membership.JoinList(c.join, "127.0.0.1:7070", false)
		require.ErrorContains(t, err, c.want, name)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
}
