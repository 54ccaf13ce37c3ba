// Command fuzzall runs every fuzz target of the module for a while each.
//
//	go run ./tools/fuzzall -time 5s [DIRECTORY...]
//
// The go tool fuzzes one target at a time and wants it named; this finds them
// in the test files below the directories, the whole module by default. It
// goes on after a failure, and fails at the end. What a failed target wrote to
// its testdata directory is the input to commit with the fix.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// target is a fuzz test, in a package by its directory.
type target struct{ dir, name string }

func main() {
	each := flag.Duration("time", 5*time.Second, "how long to run each target")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	targets, err := find(dirs)
	if err == nil && len(targets) == 0 {
		err = fmt.Errorf("no fuzz target in %v", dirs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
	var failed []string
	for _, t := range targets {
		fmt.Printf("== %s %s\n", t.dir, t.name)
		if err := t.run(*each); err != nil {
			failed = append(failed, t.dir+" "+t.name)
		}
	}
	fmt.Printf("%d fuzz targets, %d failed %s\n", len(targets), len(failed), strings.Join(failed, ", "))
	if len(failed) > 0 {
		os.Exit(1)
	}
}

// run fuzzes one target; a second time, if the first was cut off.
func (t target) run(each time.Duration) error {
	out, err := t.once(each)
	if err != nil && cutOff(out) {
		fmt.Println("the go tool ended this badly and found nothing; once more")
		_, err = t.once(each)
	}
	return err
}

func (t target) once(each time.Duration) (output string, err error) {
	cmd := exec.Command("go", "test", "-run", "^"+t.name+"$", "-fuzz", "^"+t.name+"$",
		"-fuzztime", each.String(), "./"+filepath.ToSlash(t.dir))
	var out strings.Builder
	both := io.MultiWriter(os.Stdout, &out)
	cmd.Stdout, cmd.Stderr = both, both
	err = cmd.Run()
	return out.String(), err
}

var deadlineAlone = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([^)]*\)\n    context deadline exceeded\nFAIL$`)

// cutOff recognizes the end of fuzzing being taken for a failure, a race in go
// before 1.27 (golang.org/issue/75804). A real failure names its input.
func cutOff(output string) bool {
	return deadlineAlone.MatchString(output) && !strings.Contains(output, "Failing input") && !strings.Contains(output,
		"panic:")
}

// find lists the targets below the directories, in the order of their paths.
func find(dirs []string) (targets []target, err error) {
	for _, root := range dirs {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && skipped(root, p, d.Name()):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(p, "_test.go"):
				return nil
			}
			src, err := os.ReadFile(p)
			for _, m := range declaration.FindAllSubmatch(src, -1) {
				targets = append(targets, target{dir: filepath.Dir(p), name: string(m[1])})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// skipped leaves out what the go tool does, and other modules.
func skipped(root, p, name string) bool {
	if p == root {
		return false
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}
