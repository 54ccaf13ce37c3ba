// Package identity has the flags by which programs authenticate to a cluster and verify its nodes:
// certificates and tokens. A token is never an argument, since the list of processes shows arguments
// to every user of the machine: it is in a file or in the environment.
package identity

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TokenVariable is the environment variable that may hold a token.
const TokenVariable = "LINCHPIN_TOKEN"

// Flags are the certificates and the token of the caller.
type Flags struct {
	files             certs.Files
	dir, user, bearer string
}

// Names are those of the flags.
var Names = []string{"tls-ca", "tls-cert", "tls-key", "certs-dir", "user", "token-file"}

// AddTo declares the flags.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.files.CA, "tls-ca", "", "use TLS; `file` of the authority that signs the nodes' certificates")
	fs.StringVar(&f.files.Cert, "tls-cert", "", "`file` of the user's certificate")
	fs.StringVar(&f.files.Key, "tls-key", "", "`file` of the certificate's key")
	fs.StringVar(&f.dir, "certs-dir", "", "use TLS; `directory` of the files made by \"linchpin cert\"")
	fs.StringVar(&f.user, "user", "", "user `name`, whose certificate in --certs-dir is used if there is no token "+
		"(default root)")
	fs.StringVar(&f.bearer, "token-file", "", "`file` of the user's token (default: the variable LINCHPIN_TOKEN)")
}

// Options returns the options of the client, and a function to call when it is closed. Without TLS
// there are no options.
func (f *Flags) Options() ([]client.Option, func(), error) {
	token := f.token()
	files := f.files
	if f.dir != "" {
		fill := func(to *string, name string) {
			if *to == "" {
				*to = filepath.Join(f.dir, name)
			}
		}
		fill(&files.CA, certs.CAFile)
		if files.Cert == "" && files.Key == "" && token == nil {
			user := cmp.Or(f.user, users.Root)
			fill(&files.Cert, certs.ClientFile(user))
			fill(&files.Key, certs.ClientKey(user))
		}
	}
	switch {
	case files.Given():
	case f.bearer != "":
		return nil, nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a token needs TLS",
			Hint: "give --tls-ca or --certs-dir"}
	default:
		return nil, func() {}, nil
	}
	certificates, err := certs.Open(certs.Options{Files: files})
	if err != nil {
		return nil, nil, err
	}
	opts := []client.Option{client.WithTLSFunc(certificates.Client)}
	if token != nil {
		if _, err := token(); err != nil {
			certificates.Close()
			return nil, nil, err
		}
		opts = append(opts, client.WithAPIToken(func(context.Context) (string, error) { return token() }))
	}
	return opts, certificates.Close, nil
}

// Args are the flags that were given, as arguments.
func (f *Flags) Args() (args []string) {
	for i, v := range []string{f.files.CA, f.files.Cert, f.files.Key, f.dir, f.user, f.bearer} {
		if v != "" {
			args = append(args, "--"+Names[i]+"="+v)
		}
	}
	return args
}

// token returns a function that reads the token, nil if there is none.
func (f *Flags) token() func() (string, error) {
	if f.bearer != "" {
		return func() (string, error) {
			raw, err := certs.ReadSecret(f.bearer)
			if err != nil {
				return "", err
			}
			return checked(strings.TrimSpace(string(raw)), f.bearer)
		}
	}
	if text := os.Getenv(TokenVariable); text != "" {
		return func() (string, error) { return checked(strings.TrimSpace(text), TokenVariable) }
	}
	return nil
}

// checked rejects what is not a token, without showing it.
func checked(text, from string) (string, error) {
	if _, ok := users.HashToken(text); !ok {
		return "", &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: from + " does not hold a token",
			Hint: `a token begins with "linchpin_"; "linchpin user create" and "linchpin user rotate" make one`}
	}
	return text, nil
}
