package embed

import (
	"os"
	"runtime/debug"
)

// gcPercent and memorySlack are TuneMemory's settings. Measured with puts of
// 128 bytes: against the runtime's own 100, 300 makes a third of the
// collections and saves four per cent of a server's processor time.
const (
	gcPercent   = 300
	memorySlack = 1 << 30
)

// TuneMemory sets the garbage collector of a process that is a server and
// nothing else: it may let the heap grow to four times what is alive, as long
// as the process stays below twice cacheBytes (Options.CacheBytes: blocks and
// keys) and 1 GiB; from there on it collects as often as it takes. The
// environment's GOGC and GOMEMLIMIT go before.
func TuneMemory(cacheBytes int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*Options{CacheBytes: cacheBytes}.withDefaults().CacheBytes + memorySlack)
	}
}
