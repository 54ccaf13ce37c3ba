package cli

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func debugCommand() *cobra.Command {
	return group("debug", "Collect diagnostics of a cluster", "", `  linchpin debug zip linchpin.zip`,
		debugZipCommand())
}

// debugZip is the command's flags.
type debugZip struct {
	redact  bool
	profile time.Duration
}

func debugZipCommand() *cobra.Command {
	var f flags
	var z debugZip
	cmd := command("zip FILE", "Collect diagnostics of all nodes into a zip file", `
Collect diagnostics of each node into FILE, which must not exist: version, settings, state, shards, hot keys,
wait-for graph, contention receipts, metrics, CPU and memory profiles, goroutines, disk, and the end of the log.
Secrets and values of keys are not included; keys are, unless --redact-keys.

In the place of a part that cannot be collected there is a file with its name and ".error.txt".`, `
  linchpin debug zip linchpin.zip
  linchpin debug zip linchpin.zip --redact-keys --profile 10s`, 1, 1)
	f.addTo(cmd, false)
	cmd.Flags().BoolVar(&z.redact, "redact-keys", false,
		"replace every key by a hash, the same for the same key in this file")
	cmd.Flags().DurationVar(&z.profile, "profile", 5*time.Second,
		"length of each node's CPU profile, at most 30s; 0 for none")
	run := connected(&f, func(ctx context.Context, s *session,
		args []string) error {
		return s.debugZip(ctx, &z, args[0])
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if z.profile < 0 || z.profile > 30*time.Second {
			return usagef(cmd, "--profile is %v, want 0 to 30s", z.profile)
		}
		if !cmd.Flags().Changed("timeout") {
			f.timeout = 2*time.Minute + 10*z.profile // one node after the other
		}
		return run(cmd, args)
	}
	return cmd
}

// debugZip writes the file, and removes it if that fails.
func (s *session) debugZip(ctx context.Context, z *debugZip, name string) (err error) {
	st, err := s.admin().Status(ctx)
	if err != nil {
		return err
	}
	request := admin.DebugOptions{RedactKeys: z.redact, Profile: z.profile}
	if z.redact {
		request.Salt = make([]byte, 16)
		if _, err := rand.Read(request.Salt); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return usagef(s.cmd, "%s exists; choose another name", name)
	} else if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	w := &zipped{zip: zip.NewWriter(file)}
	for _, m := range st.Members {
		dir := fmt.Sprintf("nodes/n%d", m.Node)
		if err := s.debugNode(ctx, request, m, w, dir); err != nil {
			if w.failed != nil {
				return w.failed
			}
			w.add(dir+"/unreachable.txt", []byte(err.Error()+"\n"))
		}
		if !s.json {
			if err := s.printf("n%d at %s: %d files\n", m.Node, m.Address, w.take()); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(w.failed, w.zip.Close()); err != nil {
		return err
	}
	if s.json {
		return s.object(map[string]any{"file": name, "files": w.all})
	}
	return s.printf("%d files are in %s\n", w.all, name)
}

// debugNode collects from one node, over the existing connection if it is to that node.
func (s *session) debugNode(ctx context.Context, o admin.DebugOptions, m admin.Member, w *zipped, dir string) error {
	db := s.db
	if !m.Self {
		var err error
		db, err = s.open(ctx, m.Address)
		if err != nil {
			return err
		}
		defer db.Close()
	}
	return admin.New(db).Debug(ctx, o, func(p admin.DebugPart) error {
		// The name comes from the server: it must not leave the directory.
		if len(p.Data) > 0 || p.Error == "" {
			w.piece(path.Join(dir, path.Base("/"+p.Name)), p.Data)
		}
		if p.Error != "" {
			w.add(path.Join(dir, path.Base("/"+p.Name))+".error.txt", []byte(p.Error+"\n"))
		}
		return w.failed
	})
}

// zipped writes a zip file. failed is its first error.
type zipped struct {
	zip    *zip.Writer
	name   string
	to     interface{ Write([]byte) (int, error) }
	failed error
	// count is the number of files of the current node, all of all nodes.
	count, all int
}

// piece appends to the file with a name, and begins it if the last piece was of another one.
func (w *zipped) piece(name string, data []byte) {
	if w.failed == nil && (w.to == nil || w.name != name) {
		w.name = name
		w.count++
		w.all++
		w.to, w.failed = w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	}
	if w.failed == nil {
		_, w.failed = w.to.Write(data)
	}
}

func (w *zipped) add(name string, data []byte) { w.piece(name, data) }

// take returns the number of files since its last call.
func (w *zipped) take() int {
	n := w.count
	w.count = 0
	return n
}
