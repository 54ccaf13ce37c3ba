package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/docs"
	"github.com/linchpindb/linchpin/test/layering"
)

const root = "../.."

func load(t *testing.T) (*layering.Tree, []docs.Page) {
	t.Helper()
	module, err := layering.Load(root)
	require.NoError(t, err)
	pages, err := docs.Load(root)
	require.NoError(t, err)
	require.Greater(t, len(pages), 8)
	return module, pages
}

func page(t *testing.T, pages []docs.Page, path string) docs.Page {
	t.Helper()
	i := slices.IndexFunc(pages, func(p docs.Page) bool { return p.Path == path })
	require.GreaterOrEqual(t, i, 0, path)
	return pages[i]
}

func none(t *testing.T, bad []string) {
	t.Helper()
	if len(bad) > 0 {
		t.Error("\n" + strings.Join(bad, "\n"))
	}
}

func TestWhatPagesNameExists(t *testing.T) {
	module, pages := load(t)
	tree := docs.NewTree(module)
	t.Run("links", func(t *testing.T) { none(t, docs.Links(root, pages)) })
	t.Run("tests and mutants", func(t *testing.T) { none(t, docs.Names(tree, pages)) })
	t.Run("all mutants", func(t *testing.T) { none(t, docs.Unlisted(tree, page(t, pages, "docs/guarantees.md"))) })
	t.Run("packages and files", func(t *testing.T) { none(t, docs.Paths(root, pages)) })
	t.Run("flags", func(t *testing.T) { none(t, docs.Flags(tree, pages)) })
	t.Run("Go is marked as such", func(t *testing.T) { none(t, docs.LooseGo(pages)) })
	t.Run("map", func(t *testing.T) { none(t, docs.Map(module.Packages, page(t, pages, "docs/architecture.md"))) })
}

// TestPagesAreShort: README.md is a first screen, and all pages together can be read in an evening or two.
func TestPagesAreShort(t *testing.T) {
	_, pages := load(t)
	none(t, docs.Long(pages))

	few := []docs.Page{{Path: "README.md", Text: strings.Repeat(strings.Repeat("é", 120)+"\n", 150)},
		{Path: "docs/a.md", Text: strings.Repeat("x ", 40_000)},
		{Path: "docs/b/c.md", Text: strings.Repeat("x ", 5000)}, {Path: "CHANGELOG.md", Text: strings.Repeat("x ", 50_000)}}
	require.Empty(t, docs.Long(few))
	few[0].Text += "one more\n"
	few[2].Text += "one more"
	require.Equal(t, []string{"README.md has 151 lines; at most 150",
		"docs/ has 45002 words; at most 45000: one page per fact"}, docs.Long(few))
	require.Equal(t, []string{"README.md:2 has 121 columns; at most 120"},
		docs.Long([]docs.Page{{Path: "README.md", Text: "x\n" + strings.Repeat("é", 121)}}))
}

// TestPlantedMistakesAreFound: each check notices what it is for.
func TestPlantedMistakesAreFound(t *testing.T) {
	module, pages := load(t)
	tree := docs.NewTree(module)
	check := func(text string) []string {
		p := []docs.Page{{Path: "docs/planted.md", Text: text}}
		return slices.Concat(docs.Links(root, p), docs.Names(tree, p), docs.Paths(root, p), docs.Flags(tree, p),
			docs.LooseGo(p))
	}
	for text, want := range map[string]string{
		"[gone](gone.md)":                    "the link to gone.md leads nowhere",
		"[gone](../docs/protocol.md2#words)": "leads nowhere",
		"[there](protocol.md#no-such-heading)": "the link to protocol.md#no-such-heading leads " +
			"to no heading",
		"# Words\n[here](#word)":                                       "the link to #word leads to no heading",
		"[a file](../go.mod#words)":                                    "leads to no heading",
		"```sh\n# words\n```\n[no heading](#words)":                    "leads to no heading",
		"held by `TestThatNobodyWrote`":                                "no test TestThatNobodyWrote",
		"held by `pkg/kv.TestWhatPagesNameExists`":                     "no test pkg/kv.TestWhatPagesNameExists",
		"held by `pkg/gone.TestWhatPagesNameExists`":                   "pkg/gone.TestWhatPagesNameExists does not exist",
		"breaks `mutant.NothingAtAll`":                                 "no mutant NothingAtAll",
		"see `pkg/util`":                                               "pkg/util does not exist",
		"see `pkg/kv/nothing.go`":                                      "pkg/kv/nothing.go does not exist",
		"use `--no-such-flag`":                                         "no flag --no-such-flag",
		"in Go:\n\n    out, err := db.Execute(ctx)\n":                  "Go that is not in a block of Go",
		"```\nif err != nil {\n}\n```\n":                               "Go that is not in a block of Go",
		"so:\n\n    linchpin start --no-such-flag=3\n\n":               "no flag --no-such-flag",
		"so:\n\n```sh\nlinchpin start --store d --no-such-flag\n```\n": "no flag --no-such-flag",
	} {
		require.Contains(t, strings.ReplaceAll(strings.Join(check(text), "\n"), "no program has a flag", "no flag"), want,
			text)
	}
	for _, text := range []string{
		"[there](guarantees.md#cluster), [elsewhere](https://example.com/x#y)", "[here](#words)\n\n## Words\n",
		"`test/docs.TestWhatPagesNameExists`",
		"`TestWhatPagesNameExists/links`", "`mutant.NoWound`", "`pkg/...`, `pkg/kv`, `pkg/msg/msg.proto`",
		"`--store d --help`", "`prometheus --web.listen-address :9190`",
		"```go\n// [no](link.md)\nx := 1\n```\n",
	} {
		require.Empty(t, check(text), text)
	}
	require.Len(t, docs.Unlisted(tree, docs.Page{Text: strings.ReplaceAll(page(t, pages, "docs/guarantees.md").Text,
		"`mutant.NoWound`", "")}), 1)
	require.NotEmpty(t, docs.Map(module.Packages,
		docs.Page{Text: strings.ReplaceAll(page(t, pages, "docs/architecture.md").Text, "`pkg/kv`", "kv")}))
}

// TestHeadingsHaveGitHubsNames: the rules, each by an example.
func TestHeadingsHaveGitHubsNames(t *testing.T) {
	for heading, want := range map[string]string{
		"# Words":                             "words",
		"### What happens when ...":           "what-happens-when-",
		"## 11. Why it is right":              "11-why-it-is-right",
		"## In `test/compare`":                "in-testcompare",
		"## One-way, or two - retry_after_ms": "one-way-or-two---retry_after_ms",
		"## Größe & Maß ##":                   "größe--maß",
		"## see [the limits](limits.md#all)":  "see-the-limits",
	} {
		require.Equal(t, map[string]bool{want: true}, docs.Anchors("text\n\n"+heading+"\n\n#no heading\n"), heading)
	}
	require.Equal(t, map[string]bool{"a": true, "a-1": true, "a-2": true}, docs.Anchors("# A\n## A\n## a\n"))
}
