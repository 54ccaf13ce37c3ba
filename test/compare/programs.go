package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/test/compare/debian"
	"github.com/linchpindb/linchpin/test/compare/stores"
)

// programs finds the programs of all kinds, having installed what is missing if
// that is wanted. A kind that lacks one is left out, which is reported on w.
func programs(ctx context.Context, w io.Writer, o *options, kinds []stores.Kind, dir string) ([]stores.Kind,
	map[string]string, error) {
	paths := map[string]string{}
	missing := look(kinds, paths)
	if len(missing) > 0 && o.install {
		if err := debian.Install(ctx, w, packages(missing)); err != nil {
			if ctx.Err() != nil {
				return nil, nil, err
			}
			fmt.Fprintf(w, "Not installed: %v\n", err)
		}
		missing = look(kinds, paths)
	}
	lacks := func(k stores.Kind) bool {
		for _, p := range missing {
			if slices.ContainsFunc(k.Needs, func(n debian.Program) bool { return n.Name == p.Name }) {
				fmt.Fprintf(w, "%s is skipped: %s\n", k.Name, p.Advice())
				return true
			}
		}
		return false
	}
	kinds = slices.DeleteFunc(kinds, lacks)
	if len(kinds) == 0 {
		return nil, nil, errors.New("there is no store left to measure")
	}
	return kinds, paths, linchpin(ctx, o, kinds, paths, dir)
}

// look notes where programs are, and gives those that are nowhere.
func look(kinds []stores.Kind, paths map[string]string) (missing []debian.Program) {
	for _, k := range kinds {
		for _, p := range k.Needs {
			if p.Name == stores.Linchpin {
				continue // it is built
			}
			if path, ok := p.Find(); ok {
				paths[p.Name] = path
			} else {
				missing = append(missing, p)
			}
		}
	}
	return missing
}

// packages are those that have some programs, each once.
func packages(of []debian.Program) []string {
	var out []string
	for _, p := range of {
		out = append(out, p.Package)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// linchpin sets the path of our own program, and builds it if none was given.
func linchpin(ctx context.Context, o *options, kinds []stores.Kind, paths map[string]string, dir string) (err error) {
	ours := func(k stores.Kind) bool { return k.Needs[0].Name == stores.Linchpin }
	if !slices.ContainsFunc(kinds, ours) {
		return nil
	}
	if o.linchpin != "" {
		paths[stores.Linchpin], err = filepath.Abs(o.linchpin)
		if err == nil {
			_, err = os.Stat(paths[stores.Linchpin])
		}
		return err
	}
	// This module knows where linchpin's own is, whose dependencies are not here.
	root, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", "github.com/linchpindb/linchpin")
	if err != nil {
		return err
	}
	paths[stores.Linchpin] = filepath.Join(dir, "bin", stores.Linchpin)
	_, err = goCommand(ctx, strings.TrimSpace(root), "build", "-trimpath", "-o", paths[stores.Linchpin], "./cmd/linchpin")
	return err
}

// goCommand runs the go tool, and gives what it printed.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}
