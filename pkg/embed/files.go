package embed

import "golang.org/x/sys/unix"

// How a node deals out its file descriptors: some tables of the store stay
// open, some are for all else, and the rest is for connections
// (guard.Limits.Connections), so that the store, which needs files for its log,
// never goes without.
const (
	maxStoreFiles = 1000
	// otherFiles are the store's logs and files being written, the catalog,
	// standard streams, and the listeners. Somewhat arbitrary; it uses thirty.
	otherFiles = 100
	// fewestConnections are taken whatever the limit is.
	fewestConnections = 16
	// usualConnections are those of guard.Limits.
	usualConnections = 16384
)

// dealFiles deals out as many descriptors as the process may have. wanted is
// how many connections there are to be at most, 0 for the usual number.
func dealFiles(limit uint64, wanted int) (store, connections int) {
	limit = min(limit, 1<<30)
	store = max(int(min(maxStoreFiles, limit/4)), 1)
	if wanted == 0 {
		wanted = usualConnections
	}
	return store, min(wanted, max(int(limit)-store-otherFiles, fewestConnections))
}

// fileLimit is how many descriptors the process may have.
func fileLimit() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 1024 // the least that systems give
	}
	return uint64(l.Cur)
}
