package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// The names of files in a directory of certificates.
const (
	CAFile   = "ca.crt"
	CAKey    = "ca.key"
	NodeFile = "node.crt"
	NodeKey  = "node.key"
)

// ClientFile and ClientKey are the names of a user's files.
func ClientFile(user string) string { return "client." + user + ".crt" }

// ClientKey is the name of the file of a user's key.
func ClientKey(user string) string { return "client." + user + ".key" }

// The lifetimes of certificates by default.
const (
	CALifetime   = 10 * 365 * 24 * time.Hour
	LeafLifetime = 365 * 24 * time.Hour
)

// backdate is how long ago a new certificate begins: clocks differ.
const backdate = time.Hour

// Maker makes certificates in a directory.
type Maker struct {
	// Dir is where the files are; CreateCA makes it.
	Dir string
	// Lifetime is from now on; 0 is the default.
	Lifetime time.Duration
	// Overwrite replaces files that are there. Without it they are left as they
	// are, and that is an error.
	Overwrite bool
	// CAKey is the authority's key, if it is not in Dir.
	CAKey string
	// Now is the time. Default time.Now.
	Now func() time.Time
}

func (m *Maker) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

func (m *Maker) lifetime(usual time.Duration) time.Duration {
	if m.Lifetime == 0 {
		return usual
	}
	return m.Lifetime
}

func (m *Maker) path(name string) string { return filepath.Join(m.Dir, name) }

func (m *Maker) caKey() string {
	if m.CAKey != "" {
		return m.CAKey
	}
	return m.path(CAKey)
}

// CreateCA makes an authority, which signs the other certificates, and gives the
// names of its files.
func (m *Maker) CreateCA() ([]string, error) {
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return nil, invalid("the directory cannot be created: "+err.Error(), "set another one with --certs-dir")
	}
	t, err := m.template("linchpin CA", m.lifetime(CALifetime))
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return m.write(t, t, key, key, m.path(CAFile), m.caKey())
}

// CreateNode makes the certificate of a node that is called under hosts: names
// or addresses, without ports.
func (m *Maker) CreateNode(hosts ...string) ([]string, error) {
	if len(hosts) == 0 {
		return nil, invalid("no host is set", "list all host names and addresses at which the node is called")
	}
	t, err := m.template(users.Node, m.lifetime(LeafLifetime))
	if err != nil {
		return nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		switch ip := net.ParseIP(h); {
		case ip != nil:
			t.IPAddresses = append(t.IPAddresses, ip)
		case h == "" || strings.ContainsAny(h, ":/ @"):
			return nil, invalid(fmt.Sprintf("%q is not a host", h), "use host names or addresses, without ports")
		default:
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return m.leaf(t, NodeFile, NodeKey)
}

// CreateClient makes the certificate of a user; Root is one here.
func (m *Maker) CreateClient(user string) ([]string, error) {
	if user != users.Root {
		if err := users.CheckName(user); err != nil {
			return nil, err
		}
	}
	t, err := m.template(user, m.lifetime(LeafLifetime))
	if err != nil {
		return nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return m.leaf(t, ClientFile(user), ClientKey(user))
}

func (m *Maker) template(name string, lifetime time.Duration) (*x509.Certificate, error) {
	if lifetime < time.Minute {
		return nil, invalid(fmt.Sprintf("the lifetime is %v", lifetime), "the minimum is 1m")
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := m.now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{Organization: []string{"linchpin"},
		CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime), KeyUsage: x509.KeyUsageDigitalSignature}, nil
}

// leaf signs a certificate with the authority's key.
func (m *Maker) leaf(t *x509.Certificate, file, keyFile string) ([]string, error) {
	ca, caKey, err := m.authority()
	if err != nil {
		return nil, err
	}
	if t.NotAfter.After(ca.NotAfter) {
		return nil, invalid(fmt.Sprintf("the certificate would be valid until %v, but its authority only until %v",
			t.NotAfter.UTC().Format(time.DateOnly), ca.NotAfter.UTC().Format(time.DateOnly)),
			"use a shorter --lifetime, or create a new authority")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return m.write(t, ca, key, caKey, m.path(file), m.path(keyFile))
}

// authority reads the authority that signs: the last one in its file, which is
// the newest after a rotation.
func (m *Maker) authority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	all, err := readCertificates(m.path(CAFile))
	if err != nil {
		return nil, nil, err
	}
	raw, err := ReadSecret(m.caKey())
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, nil, invalid(m.caKey()+" has no key", "create an authority with: linchpin cert create-ca")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, invalid(m.caKey()+" has no key: "+err.Error(), "create an authority with: linchpin cert create-ca")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, invalid(m.caKey()+" does not contain an ECDSA key",
			"create an authority with: linchpin cert create-ca")
	}
	for i := len(all) - 1; i >= 0; i-- {
		if pub, ok := all[i].PublicKey.(*ecdsa.PublicKey); ok && pub.Equal(&key.PublicKey) {
			return all[i], key, nil
		}
	}
	return nil, nil, invalid("the key in "+m.caKey()+" belongs to none of the certificates in "+m.path(CAFile),
		"use files of one authority")
}

// write signs t and writes both files: the key first, so that there is never a
// certificate without it.
func (m *Maker) write(t, parent *x509.Certificate, key, signer *ecdsa.PrivateKey, file, keyFile string) ([]string,
	error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if !m.Overwrite {
		for _, f := range []string{keyFile, file} {
			if _, err := os.Stat(f); err == nil {
				return nil, invalid(f+" already exists", "use --overwrite to replace it")
			}
		}
	} else if t.IsCA {
		// Certificates of the old authority stay valid beside those of the new.
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		certificate = append(old, certificate...)
	}
	if err := replace(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return nil, err
	}
	return []string{file, keyFile}, replace(file, certificate, 0o644)
}

// replace writes a file, all of it or nothing.
func replace(file string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new-") // made with mode 0600
	if err != nil {
		return invalid("the file cannot be written: "+err.Error(),
			"check that the directory exists; linchpin cert create-ca creates it")
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// readCertificates reads all certificates of a file.
func readCertificates(file string) ([]*x509.Certificate, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, invalid("the certificate cannot be read: "+err.Error(), "create it with: linchpin cert")
	}
	return parseCertificates(file, raw)
}

// parseCertificates parses the contents of a file, whose name is for errors.
func parseCertificates(file string, raw []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		block, raw = pem.Decode(raw)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, invalid(fmt.Sprintf("%s contains a block %q between certificates", file, block.Type),
				"check that key and certificate are not swapped")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalid(file+" contains a damaged certificate: "+err.Error(), "copy the whole file again")
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, invalid(file+" contains no certificate",
			"use a PEM file with a block between BEGIN CERTIFICATE and END CERTIFICATE")
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		return nil, invalid(file+" contains data after the last certificate", "copy the whole file again")
	}
	return all, nil
}

// maxSecretBytes bounds what a file with a key or a token has.
const maxSecretBytes = 64 << 10

// ReadSecret reads a file with a key or a token. It refuses one that others than
// its owner and group can read, or than its owner can change.
func ReadSecret(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, invalid("the secret cannot be read: "+err.Error(),
			"check the name of the file, and that it belongs to the user that runs the program")
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if p := st.Mode().Perm(); p&0o027 != 0 {
		return nil, invalid(fmt.Sprintf("other users can read or change %s: its mode is %#o", file, p), "chmod 600 "+file)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err == nil && len(raw) > maxSecretBytes {
		err = invalid(file+" is too large for a key or a token", "check the name of the file")
	}
	return raw, err
}

// WriteSecret writes a file that only its owner can read, all of it or nothing.
func WriteSecret(file string, content []byte) error { return replace(file, content, 0o600) }

func invalid(text, hint string) error {
	return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: text, Hint: hint}
}
