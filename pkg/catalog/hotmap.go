package catalog

import (
	"encoding/base64"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// HotMap is which keys have been moved to the hot shard, as the node last heard.
// It is a cache: it may be old or missing, and who goes by it is put right by
// the shards (docs/protocol.md, section 9). So it is the one value of the
// catalog that is not missed: a catalog whose hot map is damaged, or that was
// written before there were any, is a catalog without one.
type HotMap struct {
	// Cluster is the one that the keys are of.
	Cluster string
	// Epoch orders hot maps: a greater one is newer. It begins with the hot shard's incarnation.
	Epoch uint64
	Keys  [][]byte
}

const (
	keyHotMap = "hotmap"
	// maxHotKeys and maxHotBytes bound a hot map, which is thus less than 200 KB
	// in the file. The hot shard takes in less than that.
	maxHotKeys  = 4096
	maxHotBytes = 64 << 10
)

// loadHotMap takes over the hot map of the file, if that has a good one.
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
	case len(h.fitting()) != len(h.Keys):
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

// fitting are the first keys, as many as a hot map may have.
func (h *HotMap) fitting() [][]byte {
	size := 0
	for i, k := range h.Keys {
		size += len(k)
		if i == maxHotKeys || size > maxHotBytes {
			return h.Keys[:i]
		}
	}
	return h.Keys
}

// HotMap gives the hot map that is kept, nil if there is none; then the error
// says why it was passed over, if there was one. It is not to be changed.
func (c *Catalog) HotMap() (*HotMap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hotMap, c.hotMapErr
}

// SetHotMap keeps a hot map in the place of an older one, and does nothing if
// there is a newer. Of a large one it keeps a part.
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
	h.Keys = h.fitting()
	if err := c.write(keyHotMap, h); err != nil {
		return err
	}
	c.hotMap, c.hotMapErr = h, nil
	return nil
}
