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
	return group("cluster", "Prepare a new cluster", `
Prepare a new cluster. "linchpin status" shows a running one.`, `  linchpin cluster init try`,
		clusterInit())
}

func clusterInit() *cobra.Command {
	var nodes, first, offset int
	cmd := command("init DIR [HOST:PORT...]", "Create the certificates and settings of a new cluster", `
Create the files of a new cluster with TLS in DIR, which must be empty or not exist. The arguments are the
addresses of the nodes, as clients and other nodes reach them; without any there are --nodes nodes on this machine.
Nothing is started or sent.

  DIR/n1, n2, ...   settings and certificate of each node: copy the directory to the node's machine, and start
                    the node with --config
  DIR/certs         the certificate authority, and the certificate of root, the administrator. ca.key signs
                    certificates: keep it secret
  DIR/prometheus    a configuration with rules and alerts; its token is created by
                    linchpin user create prometheus --monitor --out prometheus.token

Console and metrics of a node are at its port plus --http-offset.`, `
  linchpin cluster init try
  linchpin cluster init shop db1.example.org:7070 db2.example.org:7070 db3.example.org:7070`, 1, -1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		return c.print(&printer{out: cmd.OutOrStdout()})
	}
	f := cmd.Flags()
	f.IntVar(&nodes, "nodes", 3, "number of nodes, if there are no addresses")
	f.IntVar(&first, "first-port", 7001, "port of the first of these nodes; the others follow")
	f.IntVar(&offset, "http-offset", 100, "difference between the HTTP port of a node and its port")
	return cmd
}

// maxNewNodes bounds --nodes, far above any cluster.
const maxNewNodes = 64

// newMember is a node of a new cluster.
type newMember struct{ host, addr, http string }

// newMembers reads addresses. Their order is that of the cluster's member list, so that directory n1
// belongs to node n1.
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
		out = append(out, newMember{host, net.JoinHostPort(host, strconv.Itoa(port)),
			net.JoinHostPort(host, strconv.Itoa(port+offset))})
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
