//go:build !linux

package sandbox

import (
	"testing"
	"time"

	"github.com/linchpindb/linchpin/test/integration/proc"
)

const whyOutside = "namespaces need Linux"

// Why returns the reason for which there are no namespaces.
func Why() string { return whyOutside }

// WhyNoNetwork returns the reason for which there is no Network.
func WhyNoNetwork() string { return whyOutside }

// Main does nothing: the caller runs the tests.
func Main() (code int, done bool) { return 0, false }

// Need skips the test.
func Need(t testing.TB) { t.Skip(whyOutside) }

// MountSmall skips the test.
func MountSmall(t testing.TB, _ string, _ int) { t.Skip(whyOutside) }

// Ballast skips the test.
func Ballast(t testing.TB, _ string, _ int64) (remove func()) {
	t.Skip(whyOutside)
	return nil
}

// MountImage skips the test.
func MountImage(t testing.TB, _ string, _ int64) { t.Skip(whyOutside) }

// Stick skips the test.
func Stick(t testing.TB, _ string, _ time.Duration) (wait func()) {
	t.Skip(whyOutside)
	return nil
}

// Network exists on Linux only.
type Network struct{}

// NewNetwork skips the test.
func NewNetwork(t testing.TB, _ int) *Network {
	t.Skip(whyOutside)
	return nil
}

// Hosts returns nil.
func (*Network) Hosts() []string { return nil }

// AssignUsers does nothing.
func (*Network) AssignUsers(testing.TB, *proc.Cluster) {}

// Drop does nothing.
func (*Network) Drop(_ testing.TB, _, _ int) {}

// Heal does nothing.
func (*Network) Heal(testing.TB) {}

// Set does nothing.
func (*Network) Set(_ testing.TB, _, _ int, _ bool) {}
