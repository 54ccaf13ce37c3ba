package cli_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// certificate reads the first certificate of a file.
func certificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	block, _ := pem.Decode(raw)
	require.NotNil(t, block, file)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

// TestClusterInit: what is written fits together, and the authority's key is where the
// nodes are not.
func TestClusterInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	r := run(t, "", "cluster", "init", dir, "10.0.0.7:7070", "db1.example.org:7070", "127.0.0.1:7070", "--http-offset",
		"1")
	r.ok(t)
	require.Contains(t, r.out, "https://10.0.0.7:7071/console/")
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t, filepath.Join(dir, "certs", "ca.crt")))
	for i, n := range []struct{ node, addr, http, host string }{
		{"n1", "10.0.0.7:7070", "10.0.0.7:7071", "10.0.0.7"}, {"n2", "127.0.0.1:7070", "127.0.0.1:7071", "localhost"},
		{"n3", "db1.example.org:7070", "db1.example.org:7071", "db1.example.org"},
	} {
		var s map[string]string
		raw, err := os.ReadFile(filepath.Join(dir, n.node, "linchpin.yaml"))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(raw, &s))
		require.Equal(t, map[string]string{"listen": n.addr, "http": n.http,
			"join":  "10.0.0.7:7070,127.0.0.1:7070,db1.example.org:7070",
			"store": "store", "certs-dir": "certs"}, s)
		c := certificate(t, filepath.Join(dir, n.node, "certs", "node.crt"))
		_, err = c.Verify(x509.VerifyOptions{DNSName: n.host, Roots: roots})
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, n.node, "certs", "ca.key"))
		require.Contains(t, strings.Split(r.out, "\n")[i+1], n.node+" ", "in the order of the list")
	}
	root := certificate(t, filepath.Join(dir, "certs", "client.root.crt"))
	_, err := root.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	st, err := os.Stat(filepath.Join(dir, "certs", "ca.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())

	var c struct {
		Scrapes []struct {
			Scheme  string
			Targets []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	raw, err := os.ReadFile(filepath.Join(dir, "prometheus", "prometheus.yml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, &c))
	require.Equal(t, "https", c.Scrapes[0].Scheme)
	require.Equal(t, []string{"10.0.0.7:7071", "127.0.0.1:7071", "db1.example.org:7071"}, c.Scrapes[0].Targets[0].Targets)
	require.NotContains(t, string(raw), "change the targets")
	rules, err := filepath.Glob(filepath.Join(dir, "prometheus", "rules", "*.yml"))
	require.NoError(t, err)
	require.Len(t, rules, 2)

	run(t, "", "cluster", "init", dir).fails(t, 2, "is not empty")
}

func TestClusterInitOnThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "try")
	r := run(t, "", "cluster", "init", dir, "--nodes", "2", "--first-port", "9001")
	r.ok(t)
	require.Contains(t, r.out, "127.0.0.1:9001")
	require.Contains(t, r.out, "https://127.0.0.1:9102/console/")
	require.NoDirExists(t, filepath.Join(dir, "n3"))
}

func TestClusterInitRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for text, args := range map[string][]string{
		"too few":                   nil,
		"want HOST:PORT":            {dir, "db1"},
		`":7070" is not an address`: {dir, ":7070"},
		"no port from 1 to 65535":   {dir, "db1:0"},
		"would be used twice":       {dir, "db1:7070", "db1:7170"},
		"HTTP port of db1:65500":    {dir, "db1:65500"},
		"choose another":            {dir, "db1:7070", "--http-offset", "0"},
		"--nodes is 65":             {dir, "--nodes", "65"},
	} {
		run(t, "", append([]string{"cluster", "init"}, args...)...).fails(t, 2, text)
	}
	require.NoDirExists(t, dir, "nothing was begun")
}
