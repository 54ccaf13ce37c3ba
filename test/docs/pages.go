// Package docs holds the pages in Markdown against the tree that they are
// about: what they link to and what they name has to exist. A page that is
// wrong in some other way still passes; one that has been forgotten while a
// test, a package or a flag was renamed does not.
//
//	Links     relative links lead to files, and to headings that these have
//	Names     tests, fuzz targets and mutants that are named as such exist
//	Unlisted  every mutant stands on docs/guarantees.md
//	Paths     packages and files that are named exist
//	Map       every package has its place in docs/architecture.md
//	Flags     flags in examples and in the text are flags of the programs
//	LooseGo   code in Go stands in blocks of Go, which test/manual runs
//	Long      the first page and all pages together have few enough words to be read
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is one page.
type Page struct {
	// Path is relative to the module's root, with slashes.
	Path string
	Text string
}

// Load reads the pages of the module at root, in the order of their paths.
func Load(root string) ([]Page, error) {
	var pages []Page
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch name := ""; {
		case err != nil:
			return err
		case d.IsDir():
			name = d.Name()
			if p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "node_modules" ||
				name == "venv") {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(p) != ".md":
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		pages = append(pages, Page{filepath.ToSlash(rel), string(text)})
		return err
	})
	return pages, err
}

var (
	fence  = regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```$")
	span   = regexp.MustCompile("`[^`\n]+`")
	indent = regexp.MustCompile("(?m)^    .*$")
)

// Code gives what stands as code on the page: fenced and indented blocks, and
// spans within lines.
func (p Page) Code() []string {
	fences := fence.FindAllString(p.Text, -1)
	rest := fence.ReplaceAllString(p.Text, "")
	return slices.Concat(fences, indent.FindAllString(rest, -1), span.FindAllString(rest, -1))
}
