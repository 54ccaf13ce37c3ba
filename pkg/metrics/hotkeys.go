package metrics

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/msg"
)

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

func hotKeyWait(cause string, of func(*msg.HotKey) int64) sourced[msg.HotKey] {
	value := func(k *msg.HotKey) float64 { return time.Duration(of(k)).Seconds() }
	return sourced[msg.HotKey]{hotKeyWaiting, prometheus.GaugeValue, value, []string{cause}}
}

func hotKeyGauge(name, help string, of func(*msg.HotKey) float64) sourced[msg.HotKey] {
	desc := prometheus.NewDesc("linchpin_hot_key_"+name, help, []string{"key"}, nil)
	return sourced[msg.HotKey]{desc, prometheus.GaugeValue, of, nil}
}

var hotKeyMetrics = []sourced[msg.HotKey]{
	hotKeyWait("lock", func(k *msg.HotKey) int64 { return k.Waits.Lock }),
	hotKeyWait("held", func(k *msg.HotKey) int64 { return k.Waits.Held }),
	hotKeyWait("read", func(k *msg.HotKey) int64 { return k.Waits.Read }),
	hotKeyWait("retry", func(k *msg.HotKey) int64 { return k.Waits.Retry }),
	hotKeyGauge("conflicts", "Conflicting writes of the key per second.",
		func(k *msg.HotKey) float64 { return k.Heat }),
	hotKeyGauge("holds", "Updates of the key held by readers, per second.",
		func(k *msg.HotKey) float64 { return k.Waits.Holds }),
	hotKeyGauge("queue", "Transactions that are waiting because of the key.",
		func(k *msg.HotKey) float64 { return float64(k.Waits.Queue) }),
	hotKeyGauge("moved", "1 if the key has been moved to the hot shard, else 0.",
		func(k *msg.HotKey) float64 { return oneIf(k.Since != 0) }),
}

func collectHotKeys(to chan<- prometheus.Metric, keys []msg.HotKey) {
	for i := range keys[:min(len(keys), MaxHotKeys)] {
		collect(to, func() msg.HotKey { return keys[i] }, hotKeyMetrics, keyLabel(keys[i].Key))
	}
}
