package layering_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/layering"
)

// TestUsersMeetNoOldWords: names and texts that users see are the field's.
func TestUsersMeetNoOldWords(t *testing.T) {
	texts, err := module(t).Seen()
	require.NoError(t, err)
	require.Greater(t, len(texts), 1000)
	none(t, layering.BadWords(texts))
}

// TestPlantedWordsAreFound on each surface, in prose and within identifiers; and the field's words are not.
func TestPlantedWordsAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"README.md":                         "# x\n\nWhoever asks\n",
		"CHANGELOG.md":                      "what clashed\n",
		"docs/a.md":                         "the dict `SCORED_SET`\n",
		"docs/decisions/1.md":               "nobody\n",
		"examples/python/a.py":              "# asked of somebody\n",
		"deploy/grafana/x.json":             `{"title": "Under way"}`,
		"deploy/prometheus/rules/a.yml":     "summary: the node cannot be had\n",
		"pkg/console/web/app.js":            "text('enquiries')\n",
		"pkg/rpc/linchpinpb/linchpin.proto": "uint64 clashes_per_second = 1;\n",
		"pkg/msg/msg.proto":                 "message A {\n  uint32 asker = 1;\n}\n",
		"pkg/entry/entry.proto":             "int64 keep_nanos = 10;\n",
		"pkg/kv/e.go":                       "package kv\n\nvar E = \"the transaction was marked\"\n",
		"pkg/kv/tag.go":                     "package kv\n\ntype T struct {\n\tA int `json:\"under_way\"`\n}\n",
		"tools/dashboards/a.go":             "// Command x draws.\npackage main\n\nvar t = \"Cold reads\"\n",
		"pkg/client/a.go": "// Package client is one.\npackage client\n\n// F tells nothing.\nfunc F() " +
			"{}\n",
		"pkg/client/admin/a.go": "// Package admin is one.\npackage admin\n\nfunc ClashesOf() {}\n",
		"cmd/x/more.go":         "package main\n\nvar s = `first\nnobody`\n",
	} {
		t.Run(name, func(t *testing.T) {
			texts, err := plant(t, map[string]string{name: text}).Seen()
			require.NoError(t, err)
			bad := layering.BadWords(texts)
			require.NotEmpty(t, bad)
			for _, b := range bad {
				require.True(t, strings.HasPrefix(b, name+":"), b)
			}
		})
	}
	honest := map[string]string{
		"README.md":        "The holder is wounded; a conflict of the map with a bookmark, in flight, retried, at p99.\n",
		"pkg/kv/own.go":    "package kv\n\n// whoever reads this comes later\nvar nobody = \"the waiter\" // told\n",
		"pkg/kv/x_test.go": "package kv\n\nvar x = \"nobody\"\n",
		"test/sim/more.go": "package sim\n\nvar x = \"nobody\"\n",
	}
	texts, err := plant(t, honest).Seen()
	require.NoError(t, err)
	require.Empty(t, layering.BadWords(texts))
	require.Len(t, texts, 3) // of two pages and a literal; an import is none
}
