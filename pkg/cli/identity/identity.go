// Package identity has the flags by which programs say who calls a cluster, and
// whom they believe: certificates and tokens. A token is never an argument, which
// everybody on the machine could read in the list of processes: it is in a file or
// in the environment.
package identity

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TokenVariable is the environment variable that a token may be in.
const TokenVariable = "LINCHPIN_TOKEN"

// Flags say who calls.
type Flags struct {
	files             certs.Files
	dir, user, bearer string
}

// Names are those of the flags.
var Names = []string{"tls-ca", "tls-cert", "tls-key", "certs-dir", "user", "token-file"}

// AddTo declares the flags.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.files.CA, "tls-ca", "", "use TLS, with the `file` of the authority that signs the nodes' certificates")
	fs.StringVar(&f.files.Cert, "tls-cert", "", "`file` of the user's certificate")
	fs.StringVar(&f.files.Key, "tls-key", "", "`file` of its key")
	fs.StringVar(&f.dir, "certs-dir", "", "use TLS, with the files that \"linchpin cert\" has made in this `directory`, for what is not named")
	fs.StringVar(&f.user, "user", "", "whose certificate of --certs-dir is used, if there is no token; `name` (default root)")
	fs.StringVar(&f.bearer, "token-file", "", "`file` of the user's token; else it is taken from LINCHPIN_TOKEN, if that is set")
}

// Options gives what a client needs to know, and what is to be called when it is
// closed. Without TLS there are none.
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
		return nil, nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a token is to be sent, and there is no TLS", Hint: "give --tls-ca or --certs-dir"}
	default:
		return nil, func() {}, nil
	}
	keeper, err := certs.Open(certs.Options{Files: files})
	if err != nil {
		return nil, nil, err
	}
	opts := []client.Option{client.WithTLS(keeper.Client)}
	if token != nil {
		if _, err := token(); err != nil {
			keeper.Close()
			return nil, nil, err
		}
		opts = append(opts, client.WithToken(token))
	}
	return opts, keeper.Close, nil
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

// token gives where the token is to be had from, nil if there is none.
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

// checked refuses what is no token, without showing it.
func checked(text, from string) (string, error) {
	if _, ok := users.HashToken(text); !ok {
		return "", &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "what is in " + from + " is not a token", Hint: `it begins with "linchpin_"; "linchpin user create" and "rotate" tell tokens`}
	}
	return text, nil
}
