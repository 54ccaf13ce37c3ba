package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/users"
)

// Files are what a program shows and believes.
type Files struct {
	// Cert and Key are the program's own. A client may have none.
	Cert, Key string
	// CA has the authorities of nodes.
	CA string
	// ClientCA has those of users; empty is CA.
	ClientCA string
}

// Given reports whether any file is named.
func (f Files) Given() bool { return f != Files{} }

// Options are a reloader's.
type Options struct {
	Files
	// Server says that the certificate must be a node's.
	Server bool
	// Every is how often the files are looked at. Default 5 s; negative never.
	Every time.Duration
	// Log receives reloads and failures. Default none.
	Log *slog.Logger
	// Now is the time. Default time.Now.
	Now func() time.Time
}

// Expiry is when a certificate expires.
type Expiry struct {
	// Which is "own", "ca" or "client-ca". Of several, the first to expire.
	Which string
	At    time.Time
}

// Stats count the reloads since the start.
type Stats struct {
	Reloads, Failures uint64
	Expires           []Expiry
}

// Reloader has the certificates of a program, and loads them again when their files change.
type Reloader struct {
	opt     Options
	current atomic.Pointer[loaded]
	// reloads and failures count changed files that were loaded, and those that were not.
	reloads, failures atomic.Uint64
	close             context.CancelFunc
	done              chan struct{}

	mu sync.Mutex
	// seen are the files as they were when they were read last, whether they
	// were taken or not; problem is why they were not.
	seen    [4]stamp
	problem string
}

// stamp is the state of a file, which differs if the file may have changed.
type stamp struct {
	time time.Time
	size int64
}

// loaded is what the files had. It does not change.
type loaded struct {
	own *tls.Certificate
	// nodes and clients are the authorities, any is both.
	nodes, clients, any *x509.CertPool
	expires             []Expiry
}

// Open reads the files, and looks at them from time to time until Close.
func Open(o Options) (*Reloader, error) {
	if o.Every == 0 {
		o.Every = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, invalid("only one of the certificate and its key is set", "set --tls-cert and --tls-key together")
	}
	if o.CA == "" {
		return nil, invalid("the certificate authority is not set",
			"set --tls-ca to the certificate of the authority that signs the certificates of nodes")
	}
	if o.Server && o.Cert == "" {
		return nil, invalid("the certificate of the node is not set", "set --tls-cert and --tls-key")
	}
	k := &Reloader{opt: o, done: make(chan struct{})}
	k.seen = k.stamps()
	l, err := k.load()
	if err != nil {
		return nil, err
	}
	k.current.Store(l)
	ctx, cancel := context.WithCancel(context.Background())
	k.close = cancel
	go k.watch(ctx)
	return k, nil
}

// Close ends the looking. What was loaded stays in use.
func (k *Reloader) Close() {
	k.close()
	<-k.done
}

func (k *Reloader) watch(ctx context.Context) {
	defer close(k.done)
	if k.opt.Every < 0 {
		return
	}
	tick := time.NewTicker(k.opt.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.Look()
		}
	}
}

func (k *Reloader) files() [4]string {
	return [4]string{k.opt.Cert, k.opt.Key, k.opt.CA, k.opt.ClientCA}
}

func (k *Reloader) stamps() (s [4]stamp) {
	for i, f := range k.files() {
		if st, err := os.Stat(f); f != "" && err == nil {
			s[i] = stamp{st.ModTime(), st.Size()}
		}
	}
	return s
}

// Look takes the files if they have changed and fit together. What does not is
// tried again when it changes again.
func (k *Reloader) Look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.stamps()
	if now == k.seen {
		return
	}
	k.seen = now
	l, err := k.load()
	if err != nil {
		k.failures.Add(1)
		if k.problem != err.Error() {
			k.problem = err.Error()
			k.opt.Log.Error("new certificates rejected; the previous ones stay in use", "error", err)
		}
		return
	}
	k.problem = ""
	k.reloads.Add(1)
	k.current.Store(l)
	args := []any{}
	for _, e := range l.expires {
		args = append(args, e.Which+"_expires", e.At.UTC().Format(time.RFC3339))
	}
	k.opt.Log.Info("certificates reloaded", args...)
}

// load reads all files, and checks that they fit together.
func (k *Reloader) load() (*loaded, error) {
	now := k.opt.Now()
	nodes, err := readCertificates(k.opt.CA)
	if err != nil {
		return nil, err
	}
	clients := nodes
	l := &loaded{expires: []Expiry{first("ca", nodes)}}
	if k.opt.ClientCA != "" {
		clients, err = readCertificates(k.opt.ClientCA)
		if err != nil {
			return nil, err
		}
		l.expires = append(l.expires, first("client-ca", clients))
	}
	l.nodes, l.clients, l.any = pool(nodes), pool(clients), pool(slices.Concat(nodes, clients))
	if k.opt.Cert == "" {
		return l, nil
	}
	own, err := k.loadOwn(l, now)
	if err != nil {
		return nil, err
	}
	l.own = own
	l.expires = append(l.expires, Expiry{"own", own.Leaf.NotAfter})
	return l, nil
}

// loadOwn reads the program's own certificate, and checks that others will
// believe it.
func (k *Reloader) loadOwn(l *loaded, now time.Time) (*tls.Certificate, error) {
	key, err := ReadSecret(k.opt.Key)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(k.opt.Cert)
	if err != nil {
		return nil, invalid("a certificate cannot be parsed: "+err.Error(), "create one with: linchpin cert")
	}
	own, err := tls.X509KeyPair(raw, key)
	if err != nil {
		return nil, invalid(fmt.Sprintf("%s and %s do not belong together: %v", k.opt.Cert, k.opt.Key, err),
			"use a certificate and the key that it was created with")
	}
	v := x509.VerifyOptions{Roots: l.any, Intermediates: intermediates(own), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if k.opt.Server {
		v.Roots, v.KeyUsages = l.nodes, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if name := own.Leaf.Subject.CommonName; name != users.Node {
			return nil, invalid(fmt.Sprintf("%s is a certificate of %q, but a node needs one of %q", k.opt.Cert, name,
				users.Node), "create it with: linchpin cert create-node")
		}
	}
	if _, err := own.Leaf.Verify(v); err != nil {
		var expired x509.CertificateInvalidError
		if errors.As(err, &expired) && expired.Reason == x509.Expired {
			return nil, invalid(k.opt.Cert+" is not valid now: "+err.Error(),
				"create a new one with: linchpin cert; check the clock of this machine")
		}
		if !k.opt.Server {
			return &own, nil // the nodes may know the users' authority, which the user need not
		}
		return nil, invalid(fmt.Sprintf("%s was not signed by an authority in %s: %v", k.opt.Cert, k.opt.CA, err),
			"use files of one authority")
	}
	return &own, nil
}

func intermediates(c tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, der := range c.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			p.AddCert(c)
		}
	}
	return p
}

func pool(cs []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range cs {
		p.AddCert(c)
	}
	return p
}

// first is when the first of some certificates expires.
func first(which string, cs []*x509.Certificate) Expiry {
	e := Expiry{which, cs[0].NotAfter}
	for _, c := range cs {
		if c.NotAfter.Before(e.At) {
			e.At = c.NotAfter
		}
	}
	return e
}

// Stats returns the reloads, and when certificates expire.
func (k *Reloader) Stats() Stats {
	return Stats{Reloads: k.reloads.Load(), Failures: k.failures.Load(), Expires: k.current.Load().expires}
}
