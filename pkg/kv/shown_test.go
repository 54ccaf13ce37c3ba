package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShownIsUnambiguous(t *testing.T) {
	for in, want := range map[string]string{
		"user:1": "user:1", "a b": "a b", "Zürich": "Zürich", `say "hi"`: `say "hi"`,
		"": `""`, `"a"`: `"\"a\""`, " a": `" a"`, "a\n": `"a\n"`, "\xff": `"\xff"`, "a\u202eb": `"a\u202eb"`,
	} {
		require.Equal(t, want, Format([]byte(in)))
	}
}
