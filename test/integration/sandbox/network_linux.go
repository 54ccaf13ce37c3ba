package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/test/integration/proc"
)

// Network is the loopback interface of the namespace, with an address for each node. Each node has its createDir
// user, and a process connects from the address of its user. So a rule can drop exactly what one node sends
// to another.
//
//	pref 10.. drops the packets of one node to another (Drop)
//	pref 40.. selects the source address by the user
//	pref 200  the local addresses, which have pref 0 by default
type Network struct {
	nodes   int
	dropped map[[2]int]bool
}

func address(node int) string { return fmt.Sprintf("127.0.1.%d", node+1) }
func user(node int) uint32    { return uint32(61001 + node) }

func ip(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

// WhyNoNetwork returns the reason for which NewNetwork would skip the test, "" if there is none.
func WhyNoNetwork() string {
	if whyOutside != "" {
		return whyOutside
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "the program ip of iproute2 is not installed"
	}
	return ""
}

// NewNetwork sets up the addresses until the test ends. A namespace has one network at a time, so its tests
// must not be parallel. It skips the test if networks are not available.
func NewNetwork(t testing.TB, nodes int) *Network {
	t.Helper()
	if why := WhyNoNetwork(); why != "" {
		t.Skip(why)
	}
	ip(t, "rule add pref 200 lookup local")
	ip(t, "rule del pref 0")
	for i := range nodes {
		ip(t, "route add local 127.0.0.0/8 dev lo table %d src %s", 100+i, address(i))
		ip(t, "rule add pref %d uidrange %d-%d lookup %d", 40+i, user(i), user(i), 100+i)
	}
	n := &Network{nodes, map[[2]int]bool{}}
	t.Cleanup(func() { n.remove(t) })
	return n
}

// remove restores the state from before NewNetwork, for the next test.
func (n *Network) remove(t testing.TB) {
	n.Heal(t)
	for i := range n.nodes {
		ip(t, "rule del pref %d", 40+i)
		ip(t, "route flush table %d", 100+i)
	}
	ip(t, "rule add pref 0 lookup local")
	ip(t, "rule del pref 200")
}

// Hosts returns the addresses of the nodes, for proc.Options.
func (n *Network) Hosts() (all []string) {
	for i := range n.nodes {
		all = append(all, address(i))
	}
	return all
}

// AssignUsers gives each node of a cluster that was created with Hosts, and has not been started, its createDir
// user, who owns its directory.
func (n *Network) AssignUsers(t testing.TB, c *proc.Cluster) {
	t.Helper()
	for i, node := range c.Nodes() {
		node.UID = user(i)
		createDir(t, node)
	}
}

// Drop drops what one node sends to another.
func (n *Network) Drop(t testing.TB, from, to int) { n.Set(t, from, to, true) }

// Heal ends all drops.
func (n *Network) Heal(t testing.TB) {
	t.Helper()
	for pair := range n.dropped {
		n.Set(t, pair[0], pair[1], false)
	}
}

// Set starts or stops dropping what one node sends to another.
func (n *Network) Set(t testing.TB, from, to int, drop bool) {
	t.Helper()
	if n.dropped[[2]int{from, to}] == drop {
		return
	}
	verb := "del"
	if drop {
		verb = "add"
	}
	ip(t, "rule %s pref %d from %s to %s blackhole", verb, 10+from*n.nodes+to, address(from), address(to))
	n.dropped[[2]int{from, to}] = drop
}

// createDir creates the directory of a node, which its user owns and can access.
func createDir(t testing.TB, n *proc.Node) {
	t.Helper()
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(n.Dir, int(n.UID), int(n.UID)); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(n.Dir); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
