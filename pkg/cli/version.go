package cli

import (
	"cmp"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is set when a release is linked:
//
//	go build -ldflags "-X github.com/linchpindb/linchpin/pkg/cli.release=v0.1.0" ./cmd/linchpin
var release string

// Build describes how a program was built.
type Build struct {
	// Version is the release, or the module's version, or "devel-" and the commit, or "devel".
	Version string `json:"version"`
	// Commit is the revision, if the build recorded one.
	Commit string `json:"commit,omitempty"`
	// Modified: the tree had uncommitted changes.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// pseudo is a version that Go makes for a commit without a tag: its commit is the last part.
var pseudo = regexp.MustCompile(`^v.*[-.]\d{14}-([0-9a-f]{12})(\+dirty)?$`)

// shortCommit is the number of digits of a commit in a version.
const shortCommit = 9

// ReadBuild describes the running program.
func ReadBuild() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, devel)
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Version == "" {
		b.Version = shortVersion(info.Main.Version, b.Commit)
	}
	return b
}

const devel = "devel"

// shortVersion is a version of the module for people: of a commit without a tag "devel-" and the commit.
func shortVersion(version, commit string) string {
	if m := pseudo.FindStringSubmatch(version); m != nil {
		commit, version = cmp.Or(commit, m[1]), ""
	}
	switch {
	case version != "" && version != "(devel)":
		return version
	case commit == "":
		return devel
	}
	return devel + "-" + commit[:min(shortCommit, len(commit))]
}

// String is the line that `linchpin version` prints.
func (b Build) String() string {
	var notes []string
	if b.Commit != "" && !strings.HasPrefix(b.Version, devel) {
		notes = append(notes, "commit "+b.Commit[:min(shortCommit, len(b.Commit))])
	}
	if b.Modified {
		notes = append(notes, "modified")
	}
	s := "linchpin " + b.Version
	if len(notes) > 0 {
		s += " (" + strings.Join(notes, ", ") + ")"
	}
	return s + ", " + b.Go + ", " + b.Platform
}

func versionCommand() *cobra.Command {
	var output string
	cmd := command("version", "Show the version of this program", `
Show the version of this program, its commit, and the version of Go. "linchpin status" shows the version of a node.`,
		`  linchpin version --output json`, 0, 0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p := &printer{out: cmd.OutOrStdout()}
		switch output {
		case formatJSON:
			return p.object(ReadBuild())
		case formatTable:
			return p.printf("%s\n", ReadBuild())
		}
		return usagef(cmd, "--output is %q, want table or json", output)
	}
	outputFlag(cmd, &output)
	return cmd
}
