package manual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is that of the module, where programs are built.
const root = "../.."

// imports are what fragments may use, by the name that they use it by.
var imports = map[string]string{
	"client": "github.com/linchpindb/linchpin/pkg/client", "errors": "errors", "fmt": "fmt", "time": "time",
}

var qualified = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)

// Program is a whole program of a block of Go. A fragment is the inside of a function that
// returns an error, and has a ctx, and a db unless it opens one.
func Program(text string) string {
	if strings.HasPrefix(text, "package ") {
		return text
	}
	used := []string{"context", "log"}
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		if path := imports[m[1]]; path != "" {
			used = append(used, path)
		}
	}
	opens := strings.Contains(text, "client.Open(")
	if !opens {
		used = append(used, imports["client"])
	}
	slices.Sort(used)
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, path := range slices.Compact(used) {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\nfunc main() {\n\tif err := run(context.Background()); err != nil " +
		"{\n\t\tlog.Fatal(err)\n\t}\n}\n\n")
	if opens {
		b.WriteString("func run(ctx context.Context) error {\n" + text + "}\n")
		return b.String()
	}
	b.WriteString("func run(ctx context.Context) error {\n\tdb, err := client.Open(ctx, []string{\"127.0.0.1:7070\"})\n" +
		"\tif err != nil {\n\t\treturn err\n\t}\n\tdefer db.Close()\n\treturn do(ctx, db)\n}\n\n" +
		"func do(ctx context.Context, db *client.DB) error {\n" + text + "}\n")
	return b.String()
}

// Build makes the program of a block of Go, and gives where it is.
func (s *Shell) Build(t testing.TB, page string, b Block) string {
	t.Helper()
	dir := filepath.Join(s.own, fmt.Sprintf("go-%d", b.Line))
	require.NoError(t, os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(file, []byte(s.Here(Program(b.Go))), 0o644))
	// vet compiles, and finds what a compiler lets through.
	program := filepath.Join(dir, "program")
	for _, args := range [][]string{{"vet", file}, {"build", "-ldflags=-s -w", "-o", program, file}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s:%d does not compile:\n%s", page, b.Line, out)
	}
	return program
}

// RunGo runs a block of Go in the shell.
func (s *Shell) RunGo(t testing.TB, page string, b Block) {
	t.Helper()
	out, code := s.Do(t, s.Build(t, page, b))
	require.Zero(t, code, "%s:%d: the program ends with code %d:\n%s", page, b.Line, code, out)
}
