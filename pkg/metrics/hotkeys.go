package metrics

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// HotKey is how hot a key is. All but Queue is a second, of the last ones.
type HotKey struct {
	Key []byte
	// Clashes counts the writes that another write was in the way of.
	Clashes float64
	// LockWait, Held, ReadWait and Retry are the waiting that the key causes:
	// for its lock, of updates that readers held, of readers for updates, and of
	// attempts that died.
	LockWait, Held, ReadWait, Retry time.Duration
	// Holds counts the updates that readers held.
	Holds float64
	// Queue is how many transactions wait because of the key at the moment.
	Queue uint32
	// Moved: it is on the hot shard, and has been moved there.
	Moved bool
}

const (
	// MaxHotKeys bounds the keys that there are metrics of, and maxKeyLabel their
	// labels, in bytes: each key is a series in whoever collects them. A key that
	// is no longer among the hottest has none.
	MaxHotKeys  = 20
	maxKeyLabel = 64
	// numHotCauses is how many metrics of a key differ in their cause alone.
	numHotCauses = 4
)

// keyLabel names a key. What is not printable is escaped as in Go, and so is the
// backslash, so that no two keys share a name; what is long is cut, and ends with
// a hash of all of it.
func keyLabel(key []byte) string {
	s := strconv.Quote(string(key))
	s = s[1 : len(s)-1]
	if len(s) <= maxKeyLabel {
		return s
	}
	n := 0
	for i := range s { // the last that begins a character, before the end
		if i > maxKeyLabel {
			break
		}
		n = i
	}
	return fmt.Sprintf("%s...%016x", s[:n], xxhash.Sum64(key))
}

var hotKeyWaiting = prometheus.NewDesc("linchpin_hot_key_waiting",
	"Seconds a second for which transactions wait because of one of the hottest keys, by cause: lock, held (updates, by readers), read (readers, for updates) or retry. Shown on the hot shard's node.",
	[]string{"key", "cause"}, nil)

func hotKeyWait(cause string, of func(*HotKey) time.Duration) sourced[HotKey] {
	return sourced[HotKey]{hotKeyWaiting, prometheus.GaugeValue, func(k *HotKey) float64 { return of(k).Seconds() }, []string{cause}}
}

func hotKeyGauge(name, help string, of func(*HotKey) float64) sourced[HotKey] {
	return sourced[HotKey]{prometheus.NewDesc("linchpin_hot_key_"+name, help, []string{"key"}, nil), prometheus.GaugeValue, of, nil}
}

var hotKeyMetrics = []sourced[HotKey]{
	hotKeyWait("lock", func(k *HotKey) time.Duration { return k.LockWait }),
	hotKeyWait("held", func(k *HotKey) time.Duration { return k.Held }),
	hotKeyWait("read", func(k *HotKey) time.Duration { return k.ReadWait }),
	hotKeyWait("retry", func(k *HotKey) time.Duration { return k.Retry }),
	hotKeyGauge("clashes", "Writes a second of one of the hottest keys that another write was in the way of.", func(k *HotKey) float64 { return k.Clashes }),
	hotKeyGauge("holds", "Updates a second of one of the hottest keys that readers held back.", func(k *HotKey) float64 { return k.Holds }),
	hotKeyGauge("queue", "Transactions that wait because of one of the hottest keys.", func(k *HotKey) float64 { return float64(k.Queue) }),
	hotKeyGauge("moved", "1 if one of the hottest keys has been moved to the hot shard, else 0.", func(k *HotKey) float64 {
		if k.Moved {
			return 1
		}
		return 0
	}),
}

func collectHotKeys(to chan<- prometheus.Metric, keys []HotKey) {
	for i := range keys[:min(len(keys), MaxHotKeys)] {
		collect(to, func() HotKey { return keys[i] }, hotKeyMetrics, keyLabel(keys[i].Key))
	}
}
