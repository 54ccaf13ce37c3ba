package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
)

func TestPageHasEveryMethodAndLock(t *testing.T) {
	text, err := write(adt.All())
	require.NoError(t, err)
	for _, declared := range adt.All() {
		_, section, found := strings.Cut(text, "\n## "+declared.Name+"\n")
		require.True(t, found, declared.Name)
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range declared.Methods {
			require.Contains(t, section, "| `"+m.Usage()+"` |")
			require.NotEmpty(t, m.Doc, "%s of a %s", m.Name, declared.Name)
		}
		for _, k := range declared.Kinds {
			require.Contains(t, section, "\n"+k.Name, "lock of a %s", declared.Name)
		}
	}
	require.Contains(t, text, "\nsubtract*  xx..x..x\n", "the table of a bounded counter")
}
