// Package sandbox gives tests a machine of their own to break: on Linux, for
// root, mounts and a network that nobody else has.
//
//	func TestMain(m *testing.M) {
//		if code, done := sandbox.Main(); done {
//			os.Exit(code)
//		}
//		os.Exit(proc.Main(m))
//	}
//
// Main starts the test binary once more in namespaces for mounts and network.
// There a test may mount a small disk in memory (MountSmall), fill it (Ballast),
// and lose what one address of the loopback sends to another (Network); nothing
// else on the machine notices, and with the processes all of it is gone.
//
// Elsewhere, and with LINCHPIN_TEST_NAMESPACES=none, there is none: Why says so,
// and Need skips a test that cannot do without.
package sandbox
