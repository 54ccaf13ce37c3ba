package catalog

import (
	"encoding/base64"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// HotMap is the list of keys on the hot shard, as last received by the node. It is a cache: it may be
// outdated or missing, in which case shards redirect requests (docs/protocol.md, section 9). So it is the
// only optional value of the catalog: a damaged hot map is ignored.
type HotMap struct {
	// Cluster is the cluster of the keys.
	Cluster string
	// Epoch orders hot maps: a higher one is newer. Its high part is the hot shard's incarnation.
	Epoch uint64
	Keys  [][]byte
}

const (
	keyHotMap = "hotmap"
	// maxHotKeys and maxHotBytes bound a hot map to less than 200 KB in the file. The hot shard has fewer
	// keys.
	maxHotKeys  = 4096
	maxHotBytes = 64 << 10
)

// loadHotMap decodes the hot map of the file, if that has a valid one.
func (c *Catalog) loadHotMap(values map[string][]byte) {
	b, ok := values[keyHotMap]
	if !ok {
		return
	}
	if len(b) > sumSize+base64.StdEncoding.EncodedLen(maxHotBytes)+8*maxHotKeys+1024 {
		c.hotMapErr = fmt.Errorf("the hot map in %s has %d bytes, which exceeds the limit", c.path, len(b))
		return
	}
	var h HotMap
	if err := unseal(values, keyHotMap, &h); err != nil {
		c.hotMapErr = fmt.Errorf("the hot map in %s: %w", c.path, err)
		return
	}
	switch {
	case c.identity == nil || h.Cluster != c.identity.Cluster:
		c.hotMapErr = fmt.Errorf("the hot map in %s belongs to another cluster, %q", c.path, h.Cluster)
		return
	case len(h.withinLimits()) != len(h.Keys):
		c.hotMapErr = fmt.Errorf("the hot map in %s has %d keys, which exceeds the limit", c.path, len(h.Keys))
		return
	}
	for _, k := range h.Keys {
		if err := kv.CheckKey(k); err != nil {
			c.hotMapErr = fmt.Errorf("the hot map in %s: %w", c.path, err)
			return
		}
	}
	c.hotMap = &h
}

// withinLimits returns the first keys, as many as a hot map may have.
func (h *HotMap) withinLimits() [][]byte {
	size := 0
	for i, k := range h.Keys {
		size += len(k)
		if i == maxHotKeys || size > maxHotBytes {
			return h.Keys[:i]
		}
	}
	return h.Keys
}

// HotMap returns the stored hot map, nil if there is none; the error is then why it was ignored, if there
// was one. The caller must not change it.
func (c *Catalog) HotMap() (*HotMap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hotMap, c.hotMapErr
}

// SetHotMap stores a hot map unless the stored one is at least as new. Of a large one it stores a part.
func (c *Catalog) SetHotMap(epoch uint64, keys [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		return kv.Errorf(kv.KindInternal, "the catalog at %s has no identity yet", c.path)
	}
	if c.hotMap != nil && epoch <= c.hotMap.Epoch {
		return nil
	}
	h := &HotMap{Cluster: c.identity.Cluster, Epoch: epoch, Keys: keys}
	h.Keys = h.withinLimits()
	if err := c.write(keyHotMap, h); err != nil {
		return err
	}
	c.hotMap, c.hotMapErr = h, nil
	return nil
}
