package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// parsed are the flags of run that decide what is run, read from args.
func parsed(t *testing.T, args ...string) (*runFlags, *pflag.FlagSet) {
	t.Helper()
	f, c := &runFlags{}, &cobra.Command{}
	addTarget(c, &f.target)
	f.addKeys(c)
	f.addLoad(c)
	require.NoError(t, c.ParseFlags(args))
	return f, c.Flags()
}

// otherValues are values of flags, by their type, that are not a default.
var otherValues = map[string]string{"bool": "true", "duration": "1h7m0s", "float64": "0.1875", "int": "37",
	"uint64": "41",
	"string": "it's another", "stringSlice": "c:3,d:4", "N|MIN-MAX": "3-9"}

// A flag that is new and forgotten in the command that a report ends with would
// make the repeated run another one.
func TestEveryFlagThatDecidesWhatIsRunIsRepeated(t *testing.T) {
	_, all := parsed(t)
	n := 0
	all.VisitAll(func(flag *pflag.Flag) {
		n++
		value, known := otherValues[flag.Value.Type()]
		require.True(t, known, "--%s has type %s", flag.Name, flag.Value.Type())
		f, set := parsed(t, "--"+flag.Name+"="+value)
		once := f.repeat()
		again, setAgain := parsed(t, words(once)[2:]...)
		require.Equal(t, set.Lookup(flag.Name).Value.String(), setAgain.Lookup(flag.Name).Value.String(), "--%s in %s",
			flag.Name, once)
		require.Equal(t, once, again.repeat())
	})
	require.Greater(t, n, 25)
}
