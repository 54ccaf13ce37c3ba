//go:build !linux

package sandbox

import (
	"testing"

	"github.com/linchpindb/linchpin/test/integration/proc"
)

const whyOutside = "namespaces are Linux's"

// Why is why there are no namespaces.
func Why() string { return whyOutside }

// WhyNoNetwork is why there can be no Network.
func WhyNoNetwork() string { return whyOutside }

// Main has the tests run right here.
func Main() (code int, done bool) { return 0, false }

// Need skips a test.
func Need(t testing.TB) { t.Skip(whyOutside) }

// MountSmall skips a test.
func MountSmall(t testing.TB, _ string, _ int) { t.Skip(whyOutside) }

// Ballast skips a test.
func Ballast(t testing.TB, _ string, _ int64) (giveBack func()) {
	t.Skip(whyOutside)
	return nil
}

// Network is Linux's.
type Network struct{}

// NewNetwork skips a test.
func NewNetwork(t testing.TB, _ int) *Network {
	t.Skip(whyOutside)
	return nil
}

// Hosts are none.
func (*Network) Hosts() []string { return nil }

// Settle does nothing.
func (*Network) Settle(testing.TB, *proc.Cluster) {}

// Drop does nothing.
func (*Network) Drop(_ testing.TB, _, _ int) {}

// Heal does nothing.
func (*Network) Heal(testing.TB) {}

// Set does nothing.
func (*Network) Set(_ testing.TB, _, _ int, _ bool) {}
