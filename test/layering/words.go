package layering

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// OldWord is a word that users must not meet, and the field's word for it.
type OldWord struct {
	pattern *regexp.Regexp
	Better  string
}

// oldWord compiles a word: lower case, as a regular expression between the bounds of words.
func oldWord(pattern, better string) OldWord {
	return OldWord{regexp.MustCompile(`\b(?:` + pattern + `)\b`), better}
}

// OldWords are those that are old wherever users read: a word that has an honest use as well,
// such as line or place, is not listed, and is for readers to find.
var OldWords = []OldWord{
	oldWord(`clash(?:es|ed|ing)?`, "conflict"),
	oldWord(`doom(?:ed|s)?|given? way|gave way|gives way`, "wound, abort"),
	oldWord(`marks? (?:by|of|for|from) (?:a|an|the|older|younger)|(?:is|are|was|were|been|be) marked`,
		"wound, tombstone, store stamp"),
	oldWord(`enquir(?:y|ies|es?|ed|ing)|what became of|asks? what became`, "query, outcome"),
	oldWord(`parked|parker|asker`, "pending, requester"),
	oldWord(`keepers?|kept states?`, "snapshot registry"),
	oldWord(`table pin|snapshot pins?|pins? of (?:a|the) snapshots?|keep nanos|kept csns?`, "retained snapshot, retain"),
	oldWord(`indexe?s? of (?:a|the) (?:shard|version)|shard'?s? index(?:es)?|(?:at|below|above) an index`, "CSN"),
	oldWord(`leaving (?:acks?|nodes?|shards?)|(?:announce|send|set|is) leaving`, "draining"),
	oldWord(`rested|lives? of (?:a|the) (?:node|shard|process)`, "clean shutdown, incarnation"),
	oldWord(`patience|hold age`, "wait timeout, time blocked"),
	oldWord(`crowds?|crowded|seats? at|doors?`, "admission, slots, service rate"),
	oldWord(`guests?|elsewhere`, "moved key, redirect"),
	oldWord(`cold reads?`, "cache miss"),
	oldWord(`dicts?`, "map"),
	oldWord(`bags?`, "summary"),
	oldWord(`scored[- ]sets?`, "sorted set"),
	oldWord(`judged?|judges|chronicle`, "checker, event log"),
	oldWord(`overtaken|rivals?`, "superseded, concurrent"),
	oldWord(`presumed dead`, "presumed aborted"),
	oldWord(`half of (?:the|all) transactions|99 of 100|one in a hundred|slowest hundredth|attempts? again`,
		"p50, p99, retries"),
	oldWord(`under way`, "in flight"),
	oldWord(`zeta law`, "Zipf"),
	oldWord(`who(?:ever|soever)|nobody|somebody|everybody|anybody|no one|whom`,
		"the holder, the waiter, the client, the node"),
	oldWord(`tells?|telling|told|hears?|heard`, "send, receive, return, report"),
	oldWord(`gather(?:s|ed|ing)?`, "batch, co-locate"),
	oldWord(`(?:is|are|was|were|be|been) turned away|turned away`, "rejected, redirected"),
	oldWord(`(?:can|could|can ?not|cannot|is to|are to) be had`, "unavailable"),
	oldWord(`of late`, "recently"),
	oldWord(`sent at once|as one request`, "one-shot"),
}

// Text is a piece of what users read, and where it stands.
type Text struct {
	Path string
	Line int
	Text string
}

// BadWords reports the old words in what users read, as "path:line: word: better word".
func BadWords(texts []Text) (bad []string) {
	for _, t := range texts {
		for i, line := range strings.Split(apart(t.Text), "\n") {
			for _, w := range OldWords {
				if found := w.pattern.FindString(line); found != "" {
					bad = append(bad, fmt.Sprintf("%s:%d: %q is an old word: %s", t.Path, t.Line+i, found, w.Better))
				}
			}
		}
	}
	return bad
}

// apart separates the words of identifiers, and has all in lower case.
func apart(text string) string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		switch {
		case r == '_':
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return b.String()
}

// Seen are the texts of the tree that users read: the literals of the product's Go files, what
// package client and those below it export with its comments, and the files that are read as
// they are.
func (t *Tree) Seen() (texts []Text, err error) {
	for _, p := range t.Packages {
		if under(p.Path, "test") || under(p.Path, "tools") && !under(p.Path, "tools/dashboards") {
			continue
		}
		for _, f := range p.Files {
			if !f.Test && !f.Generated {
				texts = append(texts, t.literals(f)...)
				if under(p.Path, "pkg/client") || under(p.Path, "pkg/linchpintest") {
					texts = append(texts, t.exported(f)...)
				}
			}
		}
	}
	files, err := t.readAsTheyAre()
	return append(texts, files...), err
}

// literals are the strings of a file but those of imports. Tags of fields are among them.
func (t *Tree) literals(f *File) (texts []Text) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err == nil {
					texts = append(texts, Text{f.Path, t.fset.Position(n.Pos()).Line, text})
				}
			}
		}
		return true
	})
	return texts
}

// exported are the names that a file exports, and the comments of its declarations.
func (t *Tree) exported(f *File) (texts []Text) {
	add := func(n ast.Node, text string) {
		texts = append(texts, Text{f.Path, t.fset.Position(n.Pos()).Line, text})
	}
	if f.Syntax.Doc != nil {
		add(f.Syntax.Doc, f.Syntax.Doc.Text())
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.CommentGroup:
			add(n, n.Text())
		case *ast.Ident:
			if n.IsExported() {
				add(n, n.Name)
			}
		}
		return true
	})
	return texts
}

// readable are the files that users read as they are, by folder and ending.
var readable = []struct{ dir, endings string }{
	{".", ".md"}, {"docs", ".md"}, {"examples", ".md .py .ts"}, {"deploy", ".json .yml .yaml .service"},
	{"pkg/console/web", ".html .js"}, {"pkg/rpc", ".proto"}, {"pkg/msg", ".proto"}, {"pkg/entry", ".proto"},
}

// internals are Go's names on pages, such as tests, mutants and messages between nodes, and its files. What
// users can call or see of them is a text of its own.
var internals = regexp.MustCompile("`(?:[\\w/]+\\.)?[A-Z]\\w*`|`[\\w/]+\\.go`")

// readAsTheyAre are the texts of these files.
func (t *Tree) readAsTheyAre() (texts []Text, err error) {
	for _, r := range readable {
		root := filepath.Join(t.Root, filepath.FromSlash(r.dir))
		walk := func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && r.dir == "." && name != root {
					return fs.SkipDir
				}
				return err
			}
			if ending := path.Ext(name); ending == "" || !strings.Contains(r.endings, ending) {
				return nil
			}
			text, err := os.ReadFile(name)
			rel, relErr := filepath.Rel(t.Root, name)
			if err == nil {
				err = relErr
			}
			if path.Ext(name) == ".md" {
				text = internals.ReplaceAll(text, []byte("``"))
			}
			texts = append(texts, Text{filepath.ToSlash(rel), 1, string(text)})
			return err
		}
		if _, err := os.Stat(root); os.IsNotExist(err) {
			continue
		}
		if err := filepath.WalkDir(root, walk); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
