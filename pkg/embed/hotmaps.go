package embed

import (
	"log/slog"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/catalog"
)

// hotMaps keeps the newest hot map in the catalog (gateway.HotMaps), by a
// goroutine of its own: no other goroutine waits for the disk.
type hotMaps struct {
	catalog *catalog.Catalog
	log     *slog.Logger

	mu    sync.Mutex
	epoch uint64
	keys  [][]byte

	wake, stop, done chan struct{}
}

// hotMapEvery is the least time between two writes: each is an fsync on a disk
// that has other things to do. A crash loses as much, which is a redirect for
// each key that has moved meanwhile.
const hotMapEvery = time.Second

func rememberHotMaps(c *catalog.Catalog, log *slog.Logger) *hotMaps {
	h := &hotMaps{catalog: c, log: log, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	kept, err := c.HotMap()
	if err != nil {
		log.Warn("saved hot map ignored: it is a cache and is rebuilt", "error", err)
	}
	if kept != nil {
		h.epoch, h.keys = kept.Epoch, kept.Keys
	}
	go h.run()
	return h
}

// HotMap implements gateway.HotMaps.
func (h *hotMaps) HotMap() (epoch uint64, keys [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch, h.keys
}

// SetHotMap implements gateway.HotMaps.
func (h *hotMaps) SetHotMap(epoch uint64, keys [][]byte) {
	h.mu.Lock()
	news := epoch > h.epoch
	if news {
		h.epoch, h.keys = epoch, keys
	}
	h.mu.Unlock()
	if !news {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hotMaps) run() {
	defer close(h.done)
	for {
		select {
		case <-h.stop:
			h.save()
			return
		case <-h.wake:
		}
		h.save()
		select {
		case <-h.stop:
			h.save()
			return
		case <-time.After(hotMapEvery):
		}
	}
}

// save writes what is not written yet.
func (h *hotMaps) save() {
	epoch, keys := h.HotMap()
	if epoch == 0 {
		return
	}
	if err := h.catalog.SetHotMap(epoch, keys); err != nil {
		h.log.Warn("hot map not saved: after a restart, clients reach moved keys through redirects", "error", err)
	}
}

// close writes what is not written yet, and ends.
func (h *hotMaps) close() {
	close(h.stop)
	<-h.done
}
