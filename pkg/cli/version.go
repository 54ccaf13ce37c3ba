package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set when a release is linked:
//
//	go build -ldflags "-X github.com/linchpindb/linchpin/pkg/cli.release=v0.1.0" ./cmd/linchpin
var release string

// Build says what a program was built from.
type Build struct {
	// Version is the release, or the module's version, or "devel".
	Version string `json:"version"`
	// Commit is the revision, as far as the build recorded one.
	Commit string `json:"commit,omitempty"`
	// Modified: the tree had changes that were not committed.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild tells about the running program.
func ReadBuild() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = orDevel(b.Version)
		return b
	}
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	b.Version = orDevel(b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func orDevel(v string) string {
	if v == "" {
		return "devel"
	}
	return v
}

// String is the line that `linchpin version` prints.
func (b Build) String() string {
	s := "linchpin " + b.Version
	if b.Commit != "" {
		s += " (commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + ", " + b.Go + ", " + b.Platform
}

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell what this program was built from",
		Long: `Tell the version of this program, the commit it was built from, and with which
Go. What a node runs is told by "linchpin status".`,
		Example: `  linchpin version --output json`,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := &printer{out: cmd.OutOrStdout()}
			switch output {
			case formatJSON:
				return p.object(ReadBuild())
			case formatTable:
				return p.printf("%s\n", ReadBuild())
			}
			return usagef(cmd, "--output is %q, want table or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", formatTable, "table or json")
	return cmd
}
