package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// The commands that move users from one cluster to another: backups do not include users.

func userExport() *cobra.Command {
	return connects(command("export FILE", "Export all users to a file", `
Export all users to a file, which must not exist: their roles, grants and the hashes of their tokens. A hash is not
enough to authenticate; tokens stay valid where the file is imported. Only its owner can read the file. Backups
do not include users.`,
		`  linchpin user export monday.users`, 1, 1), false, func(ctx context.Context, s *session, args []string) error {
		if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
			return usagef(s.cmd, "%s exists; choose another name", args[0])
		}
		table, err := s.admin().ExportUsers(ctx)
		if err != nil {
			return err
		}
		if err := certs.WriteSecret(args[0], append(table, '\n')); err != nil {
			return err
		}
		if s.json {
			return s.object(map[string]any{"file": args[0], "bytes": len(table) + 1})
		}
		return s.printf("exported to %s\n", args[0])
	})
}

func userImport() *cobra.Command {
	var replace bool
	cmd := command("import FILE", "Import users from a file", `
Import the users that "linchpin user export" has written, with their tokens. Other users stay. If a user exists
and differs from the file, nothing is imported, unless --replace is given.`,
		`  linchpin user import monday.users`, 1, 1)
	cmd.Flags().BoolVar(&replace, "replace", false, "replace existing users by those of the file")
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		if st, err := os.Stat(args[0]); err != nil {
			return usagef(s.cmd, "the file cannot be read: %v", err)
		} else if st.Size() > kv.MaxValueBytes+1 {
			return usagef(s.cmd, "%s has %d bytes, an export at most %d", args[0], st.Size(), kv.MaxValueBytes)
		}
		table, err := os.ReadFile(args[0])
		if err != nil {
			return usagef(s.cmd, "the file cannot be read: %v", err)
		}
		all, err := s.admin().ImportUsers(ctx, table, replace)
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printUsers(all)
	})
}
