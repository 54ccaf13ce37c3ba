package cli

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Prepare a new cluster",
		Long:    `Prepare a new cluster. What runs is shown by "linchpin status".`,
		Example: `  linchpin cluster init try`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(clusterInit())
	return cmd
}

func clusterInit() *cobra.Command {
	var nodes, first, offset int
	cmd := &cobra.Command{
		Use:   "init DIR [HOST:PORT...]",
		Short: "Write the files of a new cluster with TLS: certificates and settings",
		Long: `Write the files of a new cluster with TLS into DIR, which must not exist or be empty.
The arguments are the addresses under which clients and the other nodes call each node;
without any there are --nodes of them on this machine. Nothing is started, and nothing
is sent anywhere.

  DIR/n1, n2, ...   for each node its settings and certificate. Take the directory to
                    the node's machine, and start it there with --config.
  DIR/certs         the authority, and the certificate of root, the administrator.
                    ca.key makes nodes and users: keep it where nobody else comes.
  DIR/prometheus    a configuration with rules and alerts. It asks for a token:
                    linchpin user create prometheus --monitor --out prometheus.token

The console and the metrics of a node are on its port and --http-offset.`,
		Example: `  linchpin cluster init try
  linchpin cluster init shop db1.example.org:7070 db2.example.org:7070 db3.example.org:7070`,
		Args: arguments(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			addrs := args[1:]
			if len(addrs) == 0 {
				if nodes < 1 || nodes > maxNewNodes {
					return usagef(cmd, "--nodes is %d, want 1 to %d", nodes, maxNewNodes)
				}
				for i := range nodes {
					addrs = append(addrs, net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i)))
				}
			}
			members, err := newMembers(addrs, offset)
			if err != nil {
				return usagef(cmd, "%v", err)
			}
			c := newCluster{dir: args[0], members: members}
			if err := c.write(); err != nil {
				return err
			}
			return c.tell(&printer{out: cmd.OutOrStdout()})
		},
	}
	f := cmd.Flags()
	f.IntVar(&nodes, "nodes", 3, "number of nodes, if no addresses are given")
	f.IntVar(&first, "first-port", 7001, "port of the first of them; the others have those that follow")
	f.IntVar(&offset, "http-offset", 100, "how far the port of a node's HTTP server is from the node's own")
	return cmd
}

// maxNewNodes bounds --nodes; it is far above what there are machines for.
const maxNewNodes = 64

// newMember is a node of a cluster that is being prepared.
type newMember struct{ host, addr, http string }

// newMembers reads addresses. The order is that of the cluster's member list, so that
// directory n1 is node n1's.
func newMembers(addrs []string, offset int) (out []newMember, err error) {
	for _, a := range addrs {
		host, text, err := net.SplitHostPort(a)
		port, portErr := strconv.Atoi(text)
		switch {
		case err != nil || host == "" || strings.ContainsAny(host, "/@ "):
			return nil, fmt.Errorf("%q is not an address of a node, want HOST:PORT", a)
		case portErr != nil || port < 1 || port > 65535:
			return nil, fmt.Errorf("%q has no port from 1 to 65535", a)
		case port+offset < 1 || port+offset > 65535 || offset == 0:
			return nil, fmt.Errorf("the HTTP port of %s would be %d; choose another --http-offset", a, port+offset)
		}
		out = append(out, newMember{host, net.JoinHostPort(host, strconv.Itoa(port)), net.JoinHostPort(host, strconv.Itoa(port+offset))})
	}
	slices.SortFunc(out, func(a, b newMember) int { return strings.Compare(a.addr, b.addr) })
	used := map[string]bool{}
	for _, m := range out {
		for _, a := range []string{m.addr, m.http} {
			if used[a] {
				return nil, fmt.Errorf("%s would be used twice", a)
			}
			used[a] = true
		}
	}
	return out, nil
}
