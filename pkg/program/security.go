package program

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// security are the flags of TLS and of connections.
type security struct {
	files   certs.Files
	dir     string
	require bool
	// connections bounds them.
	connections int
}

func (s *security) addTo(f *pflag.FlagSet) {
	f.StringVar(&s.dir, "certs-dir", "", "use TLS; `directory` with node.crt, node.key and ca.crt")
	f.StringVar(&s.files.Cert, "tls-cert", "",
		"use TLS; `file` of the node's certificate, reloaded within seconds of a change")
	f.StringVar(&s.files.Key, "tls-key", "", "`file` of the certificate's key")
	f.StringVar(&s.files.CA, "tls-ca", "", "`file` of the authorities that sign the certificates of nodes and users")
	f.StringVar(&s.files.ClientCA, "tls-client-ca", "",
		"`file` of the authorities that sign the certificates of users (default: --tls-ca)")
	f.BoolVar(&s.require, "require-client-cert", false, "reject clients without a certificate, even with a token")
	f.IntVar(&s.connections, "max-connections", 0, "greatest `number` of open connections (default 16384)")
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
