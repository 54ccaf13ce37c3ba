package embed

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// How a node deals out its memory (Options.MemoryBudget):
//
//	the store's cache  CacheBytes, and as much again for the shards' keys
//	everything else    fixedMemory: the program, its goroutines, strangers' connections
//	callers            a third of what is left (guard/memory), at most maxCallers
//	the rest           garbage, and what shards and gateways have in hand
//
// The limit of the runtime is below three quarters of the whole, and with cgo less by what it
// does not count, the cache's blocks: it may go beyond for a moment. When it cannot although it collects as often as
// it may, reads of the store are refused until it can (pressure): what they read is the one thing
// that is not part of the callers' share.
const (
	fixedMemory = 192 << 20
	maxCallers  = 1 << 30
	// leastCallers serves a caller at a time, with the largest value there may be.
	leastCallers = 24 << 20
	// usualCache is the CacheBytes of a node with enough memory.
	usualCache = 256 << 20
)

// gcPercent and memorySlack are for where there is memory enough. Measured with puts of
// 128 bytes: against the runtime's own 100, 300 makes a third of the
// collections and saves four per cent of a server's processor time.
const (
	gcPercent   = 300
	memorySlack = 1 << 30
)

// memoryPlan is how a node's memory is dealt out, in bytes.
type memoryPlan struct {
	// budget is the whole, limit that of the runtime.
	budget, cache, callers, limit int64
	// bound is how much the runtime has before reads of the store are refused.
	bound int64
	// ownCache: the cache's size was not left to the budget.
	ownCache bool
}

// planMemory deals out a budget, or the default one if it is 0; so with the cache. The bound leaves 3/16 of the budget
// for what the runtime does not count, and for reads that a busy machine begins before it sees the pressure.
func planMemory(budget, cache int64, cgo bool) (memoryPlan, error) {
	p := memoryPlan{budget: budget, cache: cache, ownCache: cache != 0}
	if p.budget == 0 {
		p.budget = defaultBudget(machineMemory("/"))
	}
	if p.cache == 0 {
		p.cache = min(usualCache, p.budget/8)
	}
	rest := p.budget - 2*p.cache - fixedMemory
	if rest < 2*leastCallers {
		return p, &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the memory budget of %d MiB is too small: the caches take twice %d MiB and the node at "+
				"least %d MiB more",
				p.budget>>20, p.cache>>20, (fixedMemory+2*leastCallers)>>20), Hint: "raise --memory-budget or lower --cache-mb"}
	}
	p.callers = min(max(rest/3, leastCallers), maxCallers)
	uncounted := int64(0)
	if cgo {
		uncounted = p.cache
	}
	p.limit = min(p.budget/4*3-uncounted, 2*p.cache+p.callers+memorySlack)
	p.bound = p.budget/16*13 - uncounted
	return p, nil
}

// needed is how large the budget is of which callers have so many bytes; 0 if they never
// have.
func (p *memoryPlan) needed(callers int64) int64 {
	rest := 3*max(callers, leastCallers) + fixedMemory
	switch {
	case callers > maxCallers:
		return 0
	case p.ownCache:
		return rest + 2*p.cache
	}
	return min(rest/3*4+4, rest+2*usualCache)
}

// connections is how many there may be at most, of so many that are wanted, 0 for the
// usual number: for a quarter of the memory.
func (p *memoryPlan) connections(wanted int) int {
	if wanted == 0 {
		wanted = usualConnections
	}
	return min(wanted, int(p.budget/4/guard.ConnBytes))
}

// TuneMemory sets the garbage collector of a process that is a server and nothing
// else: it may let the heap grow to four times what is alive, as long as the process
// stays below Options.MemoryBudget, and below twice CacheBytes and 2 GiB; from there on it
// collects as often as it takes. The environment's GOGC and GOMEMLIMIT go before.
func TuneMemory(opt Options) error {
	p, err := planMemory(opt.MemoryBudget, opt.CacheBytes, withCgo)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(p.limit)
	}
	return nil
}

// pressure detects that a process exceeds its memory.
type pressure struct {
	bound uint64
	// looked is when it was asked last, in nanoseconds, short what was found.
	looked atomic.Int64
	short  atomic.Bool
	// freed is when the runtime was last asked to give back what it can.
	freed atomic.Int64
}

// lookEvery is how often it looks. Memory grows by a few MiB in the meantime.
const lookEvery = 5 * time.Millisecond

// freeEvery is how often the runtime is asked, as long as it has too much, to collect its
// garbage and give it back. It does so by itself when something is allocated; but where
// all requests are rejected nothing is allocated, and it would take two minutes.
const freeEvery = time.Second

// high reports whether the runtime has more memory than it may, although it was to
// collect its garbage before.
func (p *pressure) high() bool {
	now := time.Now().UnixNano()
	last := p.looked.Load()
	if now-last < int64(lookEvery) || !p.looked.CompareAndSwap(last, now) {
		return p.short.Load()
	}
	short := held() > p.bound
	p.short.Store(short)
	if freed := p.freed.Load(); short && now-freed >= int64(freeEvery) && p.freed.CompareAndSwap(freed, now) {
		go debug.FreeOSMemory()
	}
	return short
}

// held is how much memory the runtime has, in bytes.
func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
