package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/certs"
)

func certCommand() *cobra.Command {
	return group("cert", "Create certificates for nodes and users", `
Create a certificate authority, and certificates of nodes and users that it signs, as files in a directory. A node
needs ca.crt, node.crt and node.key, a user ca.crt and its own two files. ca.key signs certificates: keep it off the
nodes.`, `
  linchpin cert create-ca
  linchpin cert create-node db1.example.org 10.0.0.1
  linchpin cert create-client root
  linchpin cert list`,
		certCA(), certNode(), certClient(), certList())
}

// certMaker makes a command that creates a certificate.
func certMaker(usual time.Duration, cmd *cobra.Command,
	make func(*certs.Maker, []string) ([]string, error)) *cobra.Command {
	var m certs.Maker
	f := cmd.Flags()
	f.StringVar(&m.Dir, "certs-dir", "certs", "`directory` of the files")
	f.StringVar(&m.CAKey, "ca-key", "", "`file` of the authority's key (default: ca.key in --certs-dir)")
	f.DurationVar(&m.Lifetime, "lifetime", usual, "time until the certificate expires")
	f.BoolVar(&m.Overwrite, "overwrite", false, "replace existing files")
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
	return certMaker(certs.CALifetime, command("create-ca", "Create a certificate authority", `
Create a certificate authority: ca.crt, which every node and user needs, and ca.key, which signs certificates and must
be kept secret.

With --overwrite the new authority is appended to ca.crt, so that certificates of the old one stay valid until it is
removed from the file.`,
		`  linchpin cert create-ca --certs-dir certs`, 0, 0),
		func(m *certs.Maker, _ []string) ([]string, error) { return m.CreateCA() })
}

func certNode() *cobra.Command {
	return certMaker(certs.LeafLifetime, command("create-node HOST...", "Create the certificate of a node", `
Create the certificate of a node: node.crt and node.key. Name all hosts and addresses under which clients and other
nodes connect to it; they verify the name.`, `
  linchpin cert create-node db1.example.org 10.0.0.1
  linchpin cert create-node localhost 127.0.0.1 --overwrite`, 1, -1),
		func(m *certs.Maker, hosts []string) ([]string, error) { return m.CreateNode(hosts...) })
}

func certClient() *cobra.Command {
	return certMaker(certs.LeafLifetime, command("create-client NAME", "Create the certificate of a user", `
Create the certificate of a user: client.NAME.crt and client.NAME.key. "linchpin user create" creates the user; root,
the administrator, always exists.`, `
  linchpin cert create-client root
  linchpin cert create-client alice --lifetime 720h`, 1, 1),
		func(m *certs.Maker, args []string) ([]string, error) { return m.CreateClient(args[0]) })
}

func certList() *cobra.Command {
	var dir, output string
	cmd := command("list", "List certificates", `
List the certificates in a directory, with their names, hosts and dates of expiry.`,
		`  linchpin cert list --certs-dir certs`, 0, 0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
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
	}
	cmd.Flags().StringVar(&dir, "certs-dir", "certs", "`directory` of the files")
	outputFlag(cmd, &output)
	return cmd
}
