package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/certs"
)

func certCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cert",
		Short: "Make certificates for nodes and users",
		Long: `Make certificates: of an authority, which signs the others; of nodes; and of users.
All are files in a directory. Nodes need ca.crt, node.crt and node.key, users need
ca.crt and their own two; ca.key is needed here only, and should be nowhere else.`,
		Example: `  linchpin cert create-ca
  linchpin cert create-node db1.example.org 10.0.0.1
  linchpin cert create-client root
  linchpin cert list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(certCA(), certNode(), certClient(), certList())
	return cmd
}

// certMaker makes a command that makes a certificate, with the flags of all such.
func certMaker(usual time.Duration, cmd *cobra.Command, make func(*certs.Maker, []string) ([]string, error)) *cobra.Command {
	var m certs.Maker
	f := cmd.Flags()
	f.StringVar(&m.Dir, "certs-dir", "certs", "`directory` of the files")
	f.StringVar(&m.CAKey, "ca-key", "", "`file` of the authority's key, if it is not ca.key in the directory")
	f.DurationVar(&m.Lifetime, "lifetime", usual, "for how long the certificate is valid")
	f.BoolVar(&m.Overwrite, "overwrite", false, "replace files that are there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, err := make(&m, args)
		for _, f := range files {
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), f)
			}
		}
		return err
	}
	return cmd
}

func certCA() *cobra.Command {
	return certMaker(certs.CALifetime, &cobra.Command{
		Use:   "create-ca",
		Short: "Make an authority",
		Long: `Make an authority: ca.crt, which all need, and ca.key, which makes more certificates
and so is to be kept where nobody else comes.

With --overwrite the new authority is added to ca.crt, after the old one, so that
what the old one has signed stays valid until that is removed from the file.`,
		Example: `  linchpin cert create-ca --certs-dir certs`,
		Args:    arguments(0, 0),
	}, func(m *certs.Maker, _ []string) ([]string, error) { return m.CreateCA() })
}

func certNode() *cobra.Command {
	return certMaker(certs.LeafLifetime, &cobra.Command{
		Use:   "create-node HOST...",
		Short: "Make the certificate of a node",
		Long: `Make the certificate of a node: node.crt and node.key. Name all hosts and addresses
under which clients and other nodes call it; a caller checks that the one it has
called is among them.`,
		Example: `  linchpin cert create-node db1.example.org 10.0.0.1
  linchpin cert create-node localhost 127.0.0.1 --overwrite`,
		Args: arguments(1, -1),
	}, func(m *certs.Maker, hosts []string) ([]string, error) { return m.CreateNode(hosts...) })
}

func certClient() *cobra.Command {
	return certMaker(certs.LeafLifetime, &cobra.Command{
		Use:   "create-client NAME",
		Short: "Make the certificate of a user",
		Long: `Make the certificate of a user: client.NAME.crt and client.NAME.key. The user is made
with "linchpin user create"; root is the administrator who needs not be.`,
		Example: `  linchpin cert create-client root
  linchpin cert create-client alice --lifetime 720h`,
		Args: arguments(1, 1),
	}, func(m *certs.Maker, args []string) ([]string, error) { return m.CreateClient(args[0]) })
}

func certList() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the certificates of a directory, and when they expire",
		Long:    `List the certificates of a directory: whose they are, for which hosts, and when they expire.`,
		Example: `  linchpin cert list --certs-dir certs`,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := certs.List(dir)
			if err != nil {
				return err
			}
			p := &printer{out: cmd.OutOrStdout(), json: output == formatJSON}
			if p.json {
				for _, c := range all {
					if err := p.object(c); err != nil {
						return err
					}
				}
				return nil
			}
			t := p.table("FILE", "NAME", "FOR", "EXPIRES")
			for _, c := range all {
				t.row(c.File, c.Name, orDash(c.For()), stamp(c.Expires))
			}
			return t.flush()
		},
	}
	cmd.Flags().StringVar(&dir, "certs-dir", "certs", "`directory` of the files")
	cmd.Flags().StringVarP(&output, "output", "o", formatTable, "table, or json: one object a line")
	return cmd
}
