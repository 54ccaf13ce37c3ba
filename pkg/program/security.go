package program

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// addSecurityFlags declares the flags of TLS and of connections. dir is the directory of --certs-dir.
func addSecurityFlags(f *pflag.FlagSet, s *embed.Security, dir *string) {
	f.StringVar(dir, "certs-dir", "", "use TLS; `directory` with node.crt, node.key and ca.crt")
	f.StringVar(&s.TLS.Cert, "tls-cert", "",
		"use TLS; `file` of the node's certificate, reloaded within seconds of a change")
	f.StringVar(&s.TLS.Key, "tls-key", "", "`file` of the certificate's key")
	f.StringVar(&s.TLS.CA, "tls-ca", "", "`file` of the authorities that sign the certificates of nodes and users")
	f.StringVar(&s.TLS.ClientCA, "tls-client-ca", "",
		"`file` of the authorities that sign the certificates of users (default: --tls-ca)")
	f.BoolVar(&s.RequireClientCert, "require-client-cert", false,
		"reject clients without a certificate, even with a token")
	f.IntVar(&s.Limits.Connections, "max-connections", 0, "greatest `number` of open connections (default 16384)")
}

// findCertificates sets the files that are not given to those of the directory of --certs-dir.
func findCertificates(files *certs.Files, dir string) {
	if dir == "" {
		return
	}
	for _, f := range []struct {
		to   *string
		name string
	}{{&files.Cert, certs.NodeFile}, {&files.Key, certs.NodeKey}, {&files.CA, certs.CAFile}} {
		if *f.to == "" {
			*f.to = filepath.Join(dir, f.name)
		}
	}
}
