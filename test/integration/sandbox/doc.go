// Package sandbox gives tests a machine of their own: on Linux, for root, namespaces for mounts and
// network.
//
//	func TestMain(m *testing.M) {
//		if code, done := sandbox.Main(); done {
//			os.Exit(code)
//		}
//		os.Exit(proc.Main(m))
//	}
//
// Main starts the test binary again in the namespaces. There a test may mount a small file system in memory
// (MountSmall), fill it (Ballast), and drop what one loopback address sends to another (Network). Other
// processes of the machine are not affected, and the namespaces end with the test.
//
// On other systems, without root, and with LINCHPIN_TEST_NAMESPACES=none there are no namespaces: Why
// returns the reason, and Need skips the test.
package sandbox
