package metrics

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// HotKey is the contention of a key. All rates are means over the last seconds.
type HotKey struct {
	Key []byte
	// Conflicts counts conflicting writes per second.
	Conflicts float64
	// LockWait, Held, ReadWait and Retry are the waiting time per second that the key
	// causes: of requests for its lock, of updates held by readers, of readers for
	// undecided updates, and of aborted attempts.
	LockWait, Held, ReadWait, Retry time.Duration
	// Holds counts updates held by readers per second.
	Holds float64
	// Queue is the current number of transactions that wait because of the key.
	Queue uint32
	// Moved reports that the key has been moved to the hot shard.
	Moved bool
}

const (
	// MaxHotKeys bounds the keys that have series, and maxKeyLabel the length of their
	// labels in bytes. A key that is no longer among the hottest has no series.
	MaxHotKeys  = 20
	maxKeyLabel = 64
	// numHotCauses is the number of causes of linchpin_hot_key_waiting.
	numHotCauses = 4
)

// keyLabel returns the label of a key: the key as in a Go string literal, so that labels
// are unique. A long label is cut and ends with a hash of the key.
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
	"Transactions that wait because of the key, on average, by cause: lock, held (updates held by readers), "+
		"read (readers that wait for updates) or retry.", []string{"key", "cause"}, nil)

func hotKeyWait(cause string, of func(*HotKey) time.Duration) sourced[HotKey] {
	value := func(k *HotKey) float64 { return of(k).Seconds() }
	return sourced[HotKey]{hotKeyWaiting, prometheus.GaugeValue, value, []string{cause}}
}

func hotKeyGauge(name, help string, of func(*HotKey) float64) sourced[HotKey] {
	desc := prometheus.NewDesc("linchpin_hot_key_"+name, help, []string{"key"}, nil)
	return sourced[HotKey]{desc, prometheus.GaugeValue, of, nil}
}

var hotKeyMetrics = []sourced[HotKey]{
	hotKeyWait("lock", func(k *HotKey) time.Duration { return k.LockWait }),
	hotKeyWait("held", func(k *HotKey) time.Duration { return k.Held }),
	hotKeyWait("read", func(k *HotKey) time.Duration { return k.ReadWait }),
	hotKeyWait("retry", func(k *HotKey) time.Duration { return k.Retry }),
	hotKeyGauge("conflicts", "Conflicting writes of the key per second.",
		func(k *HotKey) float64 { return k.Conflicts }),
	hotKeyGauge("holds", "Updates of the key held by readers, per second.",
		func(k *HotKey) float64 { return k.Holds }),
	hotKeyGauge("queue", "Transactions that are waiting because of the key.",
		func(k *HotKey) float64 { return float64(k.Queue) }),
	hotKeyGauge("moved", "1 if the key has been moved to the hot shard, else 0.", func(k *HotKey) float64 {
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
