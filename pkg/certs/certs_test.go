package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a directory with an authority, a node's certificate and some users'.
func made(t *testing.T, names ...string) *Maker {
	t.Helper()
	m := &Maker{Dir: filepath.Join(t.TempDir(), "certs")}
	_, err := m.CreateCA()
	require.NoError(t, err)
	_, err = m.CreateNode("localhost", "127.0.0.1")
	require.NoError(t, err)
	for _, n := range names {
		_, err := m.CreateClient(n)
		require.NoError(t, err)
	}
	return m
}

func (m *Maker) node() Files {
	return Files{Cert: m.path(NodeFile), Key: m.path(NodeKey), CA: m.path(CAFile)}
}

func (m *Maker) client(user string) Files {
	return Files{Cert: m.path(ClientFile(user)), Key: m.path(ClientKey(user)), CA: m.path(CAFile)}
}

// open opens a reloader that reads files only on Look.
func open(t *testing.T, o Options) *Reloader {
	t.Helper()
	o.Every = -1
	k, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(k.Close)
	return k
}

// shake makes a connection between two configurations, with a byte each way. It
// gives what the server knows of the client, and what went wrong on either side.
func shake(t *testing.T, server, client *tls.Config, host string) (tls.ConnectionState, error) {
	t.Helper()
	client.ServerName = host
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	b, err := net.Dial("tcp", lis.Addr().String())
	require.NoError(t, err)
	a, err := lis.Accept()
	require.NoError(t, err)
	defer a.Close()
	defer b.Close()
	require.NoError(t, a.SetDeadline(time.Now().Add(10*time.Second)))
	require.NoError(t, b.SetDeadline(time.Now().Add(10*time.Second)))
	s, c := tls.Server(a, server), tls.Client(b, client)
	ended := make(chan error, 1)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		a.Close()
		ended <- err
	}()
	_, err = c.Read(make([]byte, 1)) // with TLS 1.3 only a response shows that the server accepted
	b.Close()
	return s.ConnectionState(), errors.Join(<-ended, err)
}

func TestCertificatesLetIn(t *testing.T) {
	m := made(t, users.Root, "alice")
	server := open(t, Options{Files: m.node(), Server: true})
	for _, name := range []string{users.Root, "alice"} {
		state, err := shake(t, server.Server(true), open(t, Options{Files: m.client(name)}).Client(), "127.0.0.1")
		require.NoError(t, err)
		require.Equal(t, name, state.VerifiedChains[0][0].Subject.CommonName)
		require.Equal(t, uint16(tls.VersionTLS13), state.Version)
	}
	state, err := shake(t, server.Server(true), open(t, Options{Files: m.node(), Server: true}).Peer(), "localhost")
	require.NoError(t, err)
	require.Equal(t, users.Node, state.VerifiedChains[0][0].Subject.CommonName)

	anonymous := open(t, Options{Files: Files{CA: m.path(CAFile)}})
	state, err = shake(t, server.Server(false), anonymous.Client(), "localhost")
	require.NoError(t, err, "it may have a token")
	require.Empty(t, state.VerifiedChains)
	_, err = shake(t, server.Server(true), anonymous.Client(), "localhost")
	require.ErrorContains(t, err, "didn't provide a certificate")
	old := anonymous.Client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	_, err = shake(t, server.Server(false), old, "localhost")
	require.ErrorContains(t, err, "protocol version")
}

func TestCertificatesThatAreRefused(t *testing.T) {
	m, stranger := made(t, "alice"), made(t, "alice", users.Root)
	server := open(t, Options{Files: m.node(), Server: true})
	client := open(t, Options{Files: m.client("alice")})

	_, err := shake(t, server.Server(false), client.Client(), "db.example.org")
	require.ErrorContains(t, err, "not db.example.org", "a host that is not in the node's certificate")
	_, err = shake(t, open(t, Options{Files: stranger.node(), Server: true}).Server(false), client.Client(), "localhost")
	require.ErrorContains(t, err, "unknown authority", "a node of another authority")

	foreign := open(t, Options{Files: Files{Cert: stranger.path(ClientFile(users.Root)),
		Key: stranger.path(ClientKey(users.Root)), CA: stranger.path(CAFile)}}).Client()
	foreign.RootCAs = client.Client().RootCAs
	own := foreign.Certificates[0]
	foreign.Certificates, foreign.GetClientCertificate = nil, func(*tls.CertificateRequestInfo) (*tls.Certificate,
		error) {
		return &own, nil
	}
	_, err = shake(t, server.Server(false), foreign, "localhost")
	require.ErrorContains(t, err, "unknown authority", "root of another authority")

	// A user's certificate is not a server's, and is not a peer's.
	impostor := &tls.Config{Certificates: []tls.Certificate{*client.current.Load().own}}
	_, err = shake(t, impostor, client.Client(), "localhost")
	require.Error(t, err)
	_, err = Open(Options{Files: m.client("alice"), Server: true, Every: -1})
	require.ErrorContains(t, err, `is a certificate of "alice", but a node needs one of "node"`)
}

// TestAPeerIsANode: an authority of one's own may have made certificates with which a
// user can serve. None of them is a node.
func TestAPeerIsANode(t *testing.T) {
	m := made(t)
	for name, text := range map[string]string{users.Node: "", "alice": "not that of a node",
		users.Root: "not that of a node"} {
		template, err := m.template(name, time.Hour)
		require.NoError(t, err)
		template.ExtKeyUsage, template.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			[]string{"localhost"}
		_, err = m.leaf(template, "other.crt", "other.key")
		require.NoError(t, err)
		m.Overwrite = true
		served, err := tls.LoadX509KeyPair(m.path("other.crt"), m.path("other.key"))
		require.NoError(t, err)
		_, err = shake(t, &tls.Config{Certificates: []tls.Certificate{served}},
			open(t, Options{Files: m.node(), Server: true}).Peer(), "localhost")
		if text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, text, name)
	}
}

func TestTimePassesForCertificates(t *testing.T) {
	m := made(t)
	later := time.Now()
	clock := func() time.Time { return later }
	short := *m
	short.Lifetime = time.Hour
	_, err := short.CreateClient("alice")
	require.NoError(t, err)
	server := open(t, Options{Files: m.node(), Server: true, Now: clock})
	alice := open(t, Options{Files: m.client("alice"), Now: clock})
	_, err = shake(t, server.Server(false), alice.Client(), "localhost")
	require.NoError(t, err)
	later = later.Add(2 * time.Hour)
	_, err = shake(t, server.Server(false), alice.Client(), "localhost")
	require.ErrorContains(t, err, "expired")
	_, err = Open(Options{Files: m.client("alice"), Now: clock, Every: -1})
	require.ErrorContains(t, err, "is not valid now")
}

// TestTwoAuthorities: who makes users' certificates cannot make nodes.
func TestTwoAuthorities(t *testing.T) {
	nodes, people := made(t, "alice"), made(t, "alice")
	files := nodes.node()
	files.ClientCA = people.path(CAFile)
	server := open(t, Options{Files: files, Server: true})
	with := func(f Files) *tls.Config {
		f.CA = nodes.path(CAFile)
		c := open(t, Options{Files: f}).Client()
		own := c.Certificates[0]
		c.Certificates, c.GetClientCertificate = nil, func(*tls.CertificateRequestInfo) (*tls.Certificate,
			error) {
			return &own, nil
		}
		return c
	}
	_, err := shake(t, server.Server(true), with(people.client("alice")), "localhost")
	require.NoError(t, err)
	_, err = shake(t, server.Server(true), with(nodes.node()), "localhost")
	require.NoError(t, err)
	_, err = shake(t, server.Server(true), with(people.node()), "localhost")
	require.ErrorContains(t, err, `the certificate of "node" was not signed by the authority for such`)
	_, err = shake(t, server.Server(true), with(nodes.client("alice")), "localhost")
	require.ErrorContains(t, err, `the certificate of "alice" was not signed by the authority for such`)
	require.Len(t, server.Stats().Expires, 3)
}

// TestChangedFilesAreTaken: with the next connection, and only if they fit
// together.
func TestChangedFilesAreTaken(t *testing.T) {
	m := made(t, users.Root)
	var log bytes.Buffer
	k := open(t, Options{Files: m.node(), Server: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	client := open(t, Options{Files: m.client(users.Root)})
	serial := func() string {
		c := client.Client()
		var seen string
		c.VerifyConnection = func(cs tls.ConnectionState) error {
			seen = cs.PeerCertificates[0].SerialNumber.String()
			return nil
		}
		_, err := shake(t, k.Server(false), c, "localhost")
		require.NoError(t, err)
		return seen
	}
	first := serial()
	k.Look()
	require.Zero(t, k.Stats().Reloads, "nothing has changed")

	renewed := *m
	renewed.Overwrite = true
	_, err := renewed.CreateNode("localhost")
	require.NoError(t, err)
	require.Equal(t, first, serial(), "anonymous has looked")
	k.Look()
	second := serial()
	require.NotEqual(t, first, second)
	require.Equal(t, uint64(1), k.Stats().Reloads)

	good, err := os.ReadFile(m.path(NodeFile))
	require.NoError(t, err)
	for what, broken := range map[string][]byte{"half a file": good[:len(good)/2], "an empty file": nil,
		"another's certificate": read(t, m.path(ClientFile(users.Root)))} {
		before := k.Stats().Failures
		require.NoError(t, os.WriteFile(m.path(NodeFile), broken, 0o600))
		k.Look()
		k.Look() // nothing has changed since
		require.Equal(t, before+1, k.Stats().Failures, what)
		require.Equal(t, second, serial(), what)
	}
	require.NoError(t, os.WriteFile(m.path(NodeFile), append(good, '\n'), 0o600))
	k.Look()
	require.Equal(t, second, serial())
	require.Equal(t, uint64(2), k.Stats().Reloads)
	require.Contains(t, log.String(), "new certificates rejected; the previous ones stay in use")
	require.Contains(t, log.String(), "own_expires=")
}

// TestANewAuthority: for a while both are believed, then only the new one.
func TestANewAuthority(t *testing.T) {
	m := made(t, users.Root)
	server := open(t, Options{Files: m.node(), Server: true})
	old := open(t, Options{Files: m.client(users.Root)})
	raw := read(t, m.path(CAFile))
	next := *m
	next.Overwrite = true
	_, err := next.CreateCA()
	require.NoError(t, err)
	_, err = next.CreateClient("alice")
	require.NoError(t, err)
	server.Look()
	alice := open(t, Options{Files: m.client("alice")})
	for _, c := range []*Reloader{old, alice} {
		_, err := shake(t, server.Server(true), c.Client(), "localhost")
		require.NoError(t, err)
	}
	_, err = next.CreateNode("localhost")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(m.path(CAFile), bytes.TrimPrefix(read(t, m.path(CAFile)), raw), 0o644))
	server.Look()
	require.Equal(t, uint64(2), server.Stats().Reloads)
	_, err = shake(t, server.Server(true), alice.Client(), "localhost")
	require.NoError(t, err)
	gone := old.Client()
	gone.RootCAs = alice.Client().RootCAs
	own := gone.Certificates[0]
	gone.Certificates, gone.GetClientCertificate = nil, func(*tls.CertificateRequestInfo) (*tls.Certificate,
		error) {
		return &own, nil
	}
	_, err = shake(t, server.Server(true), gone, "localhost")
	require.ErrorContains(t, err, "unknown authority")
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return raw
}

func TestFilesAreForTheirOwner(t *testing.T) {
	m := made(t, "alice")
	for name, want := range map[string]os.FileMode{CAFile: 0o644, CAKey: 0o600, NodeFile: 0o644, NodeKey: 0o600,
		ClientFile("alice"): 0o644, ClientKey("alice"): 0o600} {
		st, err := os.Stat(m.path(name))
		require.NoError(t, err)
		require.Equal(t, want, st.Mode().Perm(), name)
	}
	token := m.path("alice.token")
	require.NoError(t, WriteSecret(token, []byte("text")))
	st, err := os.Stat(token)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o604: false,
		0o660: false, 0o666: false} {
		require.NoError(t, os.Chmod(m.path(NodeKey), mode))
		_, err := ReadSecret(m.path(NodeKey))
		require.Equal(t, ok, err == nil, "%#o", mode)
	}
	require.NoError(t, os.Chmod(m.path(NodeKey), 0o644))
	_, err = Open(Options{Files: m.node(), Server: true})
	require.ErrorContains(t, err, "other users can read or change")
	require.ErrorContains(t, err, "chmod 600")
}

func TestMistakesWithFiles(t *testing.T) {
	m := made(t, users.Root)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"a certificate without a key", Options{Files: Files{Cert: "x", CA: "y"}}, "only one of the certificate and its key"},
		{"no authority", Options{Files: Files{Cert: "x", Key: "y"}}, "set --tls-ca"},
		{"a node without a certificate", Options{Files: Files{CA: m.path(CAFile)}, Server: true},
			"the certificate of the node is not set"},
		{"a file that is not there", Options{Files: Files{CA: m.path("none")}}, "the certificate cannot be read"},
		{"a key for a certificate", Options{Files: Files{CA: m.path(CAKey)}},
			"check that key and certificate are not swapped"},
		{"another's key", Options{Files: Files{Cert: m.path(NodeFile), Key: m.path(ClientKey(users.Root)),
			CA: m.path(CAFile)}}, "do not belong together"},
	} {
		_, err := Open(c.o)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, err := m.CreateNode("localhost")
	require.ErrorContains(t, err, "use --overwrite")
	_, err = m.CreateCA()
	require.ErrorContains(t, err, "use --overwrite")
	_, err = m.CreateNode()
	require.ErrorContains(t, err, "no host is set")
	_, err = m.CreateNode("localhost:7070")
	require.ErrorContains(t, err, "without ports")
	_, err = m.CreateClient(users.Node)
	require.ErrorContains(t, err, "reserved")
	_, err = m.CreateClient("../x")
	require.ErrorContains(t, err, "not a valid user name")
	long := *m
	long.Lifetime = 2 * CALifetime
	_, err = long.CreateClient("alice")
	require.ErrorContains(t, err, "use a shorter --lifetime")
	other := made(t)
	crossed := *m
	crossed.CAKey = other.path(CAKey)
	_, err = crossed.CreateClient("alice")
	require.ErrorContains(t, err, "belongs to none of the certificates")
}

func TestList(t *testing.T) {
	m := made(t, "alice")
	all, err := List(m.Dir)
	require.NoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.File+" "+c.Name+" "+c.For())
		require.True(t, c.Expires.After(time.Now()))
	}
	require.Equal(t, []string{"ca.crt linchpin CA authority", "client.alice.crt alice ",
		"node.crt node localhost, 127.0.0.1"}, names)
	_, err = List(m.path("none"))
	require.ErrorContains(t, err, "cannot be read")
}

// FuzzParseCertificates: any file is some certificates or refused.
func FuzzParseCertificates(f *testing.F) {
	m := &Maker{Dir: f.TempDir()}
	_, err := m.CreateCA()
	require.NoError(f, err)
	for _, name := range []string{CAFile, CAKey} {
		raw, err := os.ReadFile(m.path(name))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{0x30, 0}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseCertificates("fuzz.crt", raw)
		require.Equal(t, err == nil, len(all) > 0)
		for _, c := range all {
			_, err := x509.ParseCertificate(c.Raw)
			require.NoError(t, err)
		}
	})
}
