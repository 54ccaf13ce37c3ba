// Package tries has tests of twins try more random inputs than rapid does by
// default.
package tries

import (
	"flag"
	"os"
	"testing"
)

// Main runs a package's tests, with so many random inputs each, as in "1000",
// unless -rapid.checks says otherwise. It is for packages whose inputs are cheap.
func Main(m *testing.M, inputs string) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(inputs); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
