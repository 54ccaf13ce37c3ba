package program

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// security are the flags that say who may come in.
type security struct {
	files   certs.Files
	dir     string
	require bool
	// connections bounds them.
	connections int
}

func (s *security) addTo(f *pflag.FlagSet) {
	f.StringVar(&s.files.Cert, "tls-cert", "", "use TLS: `file` of the node's certificate; a changed one is taken within seconds")
	f.StringVar(&s.files.Key, "tls-key", "", "`file` of its key")
	f.StringVar(&s.files.CA, "tls-ca", "", "`file` of the authorities that sign the certificates of nodes, and of users")
	f.StringVar(&s.files.ClientCA, "tls-client-ca", "", "`file` of those that sign the certificates of users, if they are others")
	f.StringVar(&s.dir, "certs-dir", "", "use TLS, with node.crt, node.key and ca.crt in this `directory`, for what is not named")
	f.BoolVar(&s.require, "require-client-cert", false, "refuse clients without a certificate, even if they have a token")
	f.IntVar(&s.connections, "max-connections", 0, "how many connections may be open (default 16384)")
}

// apply puts the flags into a node's options.
func (s *security) apply(opt *embed.Options) {
	opt.TLS, opt.RequireClientCert, opt.Limits.Connections = s.files, s.require, s.connections
	if s.dir == "" {
		return
	}
	for _, f := range []struct {
		to   *string
		name string
	}{{&opt.TLS.Cert, certs.NodeFile}, {&opt.TLS.Key, certs.NodeKey}, {&opt.TLS.CA, certs.CAFile}} {
		if *f.to == "" {
			*f.to = filepath.Join(s.dir, f.name)
		}
	}
}
