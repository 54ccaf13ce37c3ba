package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/test/layering"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links reports which relative links lead nowhere: to no file, or to no heading of a page.
func Links(root string, pages []Page) (bad []string) {
	for _, p := range pages {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(p.Text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			to, anchor, _ := strings.Cut(m[1], "#")
			text := p.Text
			if to != "" {
				at := path.Join(path.Dir(p.Path), to)
				if !exists(root, at) {
					bad = append(bad, fmt.Sprintf("%s: the link to %s leads nowhere", p.Path, m[1]))
					continue
				}
				text = read(root, at)
			}
			if anchor != "" && !Anchors(text)[anchor] {
				bad = append(bad, fmt.Sprintf("%s: the link to %s leads to no heading", p.Path, m[1]))
			}
		}
	}
	return bad
}

// read gives the text of a file, and none of a directory.
func read(root, rel string) string {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		return ""
	}
	return string(text)
}

func exists(root, rel string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(rel)))
	return err == nil
}

var (
	// A test is named with its package, pkg/shard.TestX, or alone.
	testName   = regexp.MustCompile("`(?:([a-z][a-z0-9_/]*)\\.)?((?:Test|Fuzz|Example)[A-Z][A-Za-z0-9_]*)[/ `]")
	mutantName = regexp.MustCompile("`mutant\\.([A-Z][A-Za-z0-9]*)`")
)

// Names reports which tests and mutants are named and do not exist.
func Names(tree *Tree, pages []Page) (bad []string) {
	for _, p := range pages {
		for _, m := range testName.FindAllStringSubmatch(p.Text, -1) {
			if !tree.Tests[m[1]+"."+m[2]] {
				bad = append(bad, fmt.Sprintf("%s: there is no test %s", p.Path, strings.TrimPrefix(m[1]+"."+m[2], ".")))
			}
		}
		for _, m := range mutantName.FindAllStringSubmatch(p.Text, -1) {
			if !tree.Mutants[m[1]] {
				bad = append(bad, fmt.Sprintf("%s: there is no mutant %s", p.Path, m[1]))
			}
		}
	}
	return bad
}

var named = regexp.MustCompile("`((?:pkg|cmd|test|tools)/[A-Za-z0-9_./-]*)")

// Paths reports which packages and files are named and do not exist.
func Paths(root string, pages []Page) (bad []string) {
	for _, p := range pages {
		for _, m := range named.FindAllStringSubmatch(fence.ReplaceAllString(p.Text, ""), -1) {
			at := strings.TrimRight(strings.TrimSuffix(m[1], "/..."), "/")
			if dir, name, ok := strings.Cut(at, "."); ok && testName.MatchString("`"+name+"`") {
				at = dir
			}
			if !exists(root, at) {
				bad = append(bad, fmt.Sprintf("%s: %s does not exist", p.Path, m[1]))
			}
		}
	}
	return bad
}

// Map reports which packages have no place on a page; those of tests and tools
// need none.
func Map(packages []*layering.Package, page Page) (bad []string) {
	for _, pkg := range packages {
		top, _, _ := strings.Cut(pkg.Path, "/")
		if (top == "pkg" || top == "cmd") && !strings.Contains(page.Text, "`"+pkg.Path+"`") {
			bad = append(bad, fmt.Sprintf("%s: %s is not on the map", page.Path, pkg.Path))
		}
	}
	return bad
}

// Unlisted reports which mutants do not stand on a page.
func Unlisted(tree *Tree, page Page) (bad []string) {
	for name := range tree.Mutants {
		if !strings.Contains(page.Text, "`mutant."+name+"`") {
			bad = append(bad, fmt.Sprintf("%s: mutant %s is not told of", page.Path, name))
		}
	}
	slices.Sort(bad)
	return bad
}

var flagName = regexp.MustCompile(`(?:^|[\s` + "`" + `\[(=])--([a-z][a-z0-9-]*)(\.[a-z])?`)

// others are lines with the flags of programs that are not ours.
var others = regexp.MustCompile(`(?m)^.*\b(npm|pip|protoc) .*$`)

// Flags reports which flags stand in code on a page and belong to no program. Those with a
// dot in them are Prometheus'.
func Flags(tree *Tree, pages []Page) (bad []string) {
	for _, p := range pages {
		seen := map[string]bool{}
		for _, code := range p.Code() {
			for _, m := range flagName.FindAllStringSubmatch(others.ReplaceAllString(code, ""), -1) {
				if name := m[1]; m[2] == "" && !seen[name] && !tree.Flags[name] {
					seen[name] = true
					bad = append(bad, fmt.Sprintf("%s: no program has a flag --%s", p.Path, name))
				}
			}
		}
	}
	return bad
}

var (
	goBlock = regexp.MustCompile("(?ms)^```go\n.*?^```$")
	looseGo = regexp.MustCompile(`(?m)^.*(\w, err :?= |if err != nil|\bfunc\(|db\.With\().*$`)
)

// LooseGo reports which code on a page is Go and not marked as such, so that no test compiles it.
func LooseGo(pages []Page) (bad []string) {
	for _, p := range pages {
		if strings.HasPrefix(p.Path, "docs/decisions/") {
			continue // they describe what was considered
		}
		rest := Page{Text: span.ReplaceAllString(goBlock.ReplaceAllString(p.Text, ""), "")}
		for _, code := range rest.Code() {
			if line := looseGo.FindString(code); line != "" {
				bad = append(bad, fmt.Sprintf("%s: Go that is not in a block of Go: %s", p.Path, strings.TrimSpace(line)))
			}
		}
	}
	return bad
}
