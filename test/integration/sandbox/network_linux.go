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

// Network is the loopback interface of the namespace, with an address for each
// node. A process connects from the address of its user, so that a rule can
// drop what one node sends to another, and that alone.
//
//	pref 10.. what a node sends to another is dropped (Drop)
//	pref 40.. what a node's user connects to, it does from the node's address
//	pref 200  the addresses of this machine, which usually come first
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

// WhyNoNetwork is why there can be no Network, "" if there can.
func WhyNoNetwork() string {
	if whyOutside != "" {
		return whyOutside
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "there is no program ip, of iproute2"
	}
	return ""
}

// NewNetwork sets the addresses up until the test ends. A namespace has room for
// one network at a time, so its tests are not parallel. It skips a test where it
// cannot.
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

// remove makes the namespace as it was before NewNetwork, for the next test.
func (n *Network) remove(t testing.TB) {
	n.Heal(t)
	for i := range n.nodes {
		ip(t, "rule del pref %d", 40+i)
		ip(t, "route flush table %d", 100+i)
	}
	ip(t, "rule add pref 0 lookup local")
	ip(t, "rule del pref 200")
}

// Hosts are the nodes' addresses, for proc.Options.
func (n *Network) Hosts() (all []string) {
	for i := range n.nodes {
		all = append(all, address(i))
	}
	return all
}

// Settle gives the nodes of a cluster that was made at Hosts, and has not been
// started, users of their own, who own their directories.
func (n *Network) Settle(t testing.TB, c *proc.Cluster) {
	t.Helper()
	for i, node := range c.Nodes() {
		node.UID = user(i)
		own(t, node)
	}
}

// Drop loses what one node sends to another from now on.
func (n *Network) Drop(t testing.TB, from, to int) { n.Set(t, from, to, true) }

// Heal has everything arrive.
func (n *Network) Heal(t testing.TB) {
	t.Helper()
	for pair := range n.dropped {
		n.Set(t, pair[0], pair[1], false)
	}
}

// Set says whether what one node sends to another is dropped from now on.
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

// own makes a node's directory, which its user owns and can come to.
func own(t testing.TB, n *proc.Node) {
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
