// Package catalog stores the identity of a node: its number, its cluster, the members and their addresses,
// the placement of keys, a copy of its shards' incarnations, the list of the store's logs, and the keys
// that were last known to be moved (HotMap). It is one small file, written rarely and read once, when it is
// opened.
//
// # Copy of the incarnations
//
// A shard's incarnation is synced in the store before its first message, and copied here afterwards. A
// store that is older than its catalog was replaced by an old copy, and would revert acknowledged commits;
// such a node refuses to start (CheckIncarnation). A crash between the two writes leaves the catalog
// behind, which is harmless.
//
// The store's logs are recorded here for the same reason: each before its first write is acknowledged, so
// that the store can distinguish a missing log from one that never existed (pebblestore.LogNotes).
//
// # Damage
//
// The file is a bbolt database. bbolt survives crashes, but trusts what it reads: on a damaged file it may
// panic, access invalid memory, fall back to an older state, or overwrite pages in use. So before bbolt
// opens the file, this package (pages.go) reads it as bytes, checks the whole structure, and extracts the
// values, each of which has a checksum. Damage is KindCorrupt. The file is never repaired.
//
// A new file is created under another name and renamed when it is complete, so that a catalog without its
// values is damaged, not new.
package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// Options are the parameters of a catalog. The zero value means the defaults.
type Options struct {
	// LockTimeout is how long to wait for another process to release the file, such as one that is just
	// ending. Default 1 s.
	LockTimeout time.Duration
}

// Catalog is an open catalog. Its methods are safe for concurrent use. What they write is durable when they
// return.
type Catalog struct {
	path string
	db   *bbolt.DB

	// mu guards the fields below and serializes writes.
	mu sync.Mutex
	// identity is nil until Init.
	identity     *membership.Saved
	incarnations map[kv.ShardID]kv.Incarnation
	// logs are the store's logs, as recorded by SetLogs.
	logs []uint64
	// starts is the number of starts of the node.
	starts uint32
	// hotMap is nil if there is none; hotMapErr is why the one in the file was ignored.
	hotMap    *HotMap
	hotMapErr error
	closed    bool
}

// FileName is the name of the catalog in its directory.
const FileName = "catalog.db"

// Open opens the catalog in dir, or creates an empty one. dir must exist. Errors are *kv.Error with a hint:
//
//  1. Unavailable: another process has it open.
//  2. Invalid: it cannot be written, or has a newer format.
//  3. Corrupt: it is damaged.
func Open(dir string) (*Catalog, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, opts Options) (*Catalog, error) {
	if opts.LockTimeout <= 0 {
		opts.LockTimeout = time.Second
	}
	c := &Catalog{path: filepath.Join(dir, FileName)}
	values, db, err := openFile(c.path, opts.LockTimeout)
	if err != nil {
		return nil, c.openError(err)
	}
	c.db = db
	if err := c.load(values); err != nil {
		_ = db.Close()
		return nil, c.openError(err)
	}
	return c, nil
}

// The keys of the catalog's values.
const (
	keyFormat       = "format"
	keyIdentity     = "identity"
	keyIncarnations = "incarnations"
	keyLogs         = "logs"
	keyStarts       = "starts"

	// formatReplicas is the format of a catalog of a cluster with replicas: a release that does not know them would run
	// one copy. formatNoLeases is that of a cluster without leases, for the same reason. Other catalogs have formatFirst.
	formatFirst    = 1
	formatReplicas = 2
	formatNoLeases = 3
)

func formatOf(id *membership.Saved) int {
	switch {
	case id.NoLeases:
		return formatNoLeases
	case id.Replicas > 1:
		return formatReplicas
	}
	return formatFirst
}

// load decodes the values of the file. All keys except that of the hot map exist from the start, so that
// none can be lost unnoticed. Exception: catalogs that are older than the lists of logs or the counts of
// starts have none until the first is written.
func (c *Catalog) load(values map[string][]byte) error {
	var format int
	if err := unseal(values, keyFormat, &format); err != nil {
		return err
	}
	if format > formatNoLeases {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("its format is %d; this release knows formats up to %d", format, formatNoLeases),
			Hint: "a newer release wrote it: use that release or a later one"}
	}
	if err := unseal(values, keyIdentity, &c.identity); err != nil {
		return err
	}
	if err := unseal(values, keyIncarnations, &c.incarnations); err != nil {
		return err
	}
	if c.incarnations == nil {
		c.incarnations = map[kv.ShardID]kv.Incarnation{}
	}
	if _, ok := values[keyLogs]; ok {
		if err := unseal(values, keyLogs, &c.logs); err != nil {
			return err
		}
	}
	if _, ok := values[keyStarts]; ok {
		if err := unseal(values, keyStarts, &c.starts); err != nil {
			return err
		}
	}
	if c.identity == nil {
		return nil
	}
	if err := check(c.identity); err != nil {
		return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: err.Error(), Hint: hintRestore}
	}
	c.loadHotMap(values)
	return nil
}

// Get returns the node's identity; ok is false before Init.
func (c *Catalog) Get() (id membership.Saved, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		return membership.Saved{}, false
	}
	return clone(c.identity), true
}

// LoadMembership implements membership.Store.
func (c *Catalog) LoadMembership() (*membership.Saved, error) {
	if id, ok := c.Get(); ok {
		return &id, nil
	}
	return nil, nil
}

// SaveMembership implements membership.Store. After the first time it replaces the members, the history of the store
// and the number of the disk. The number and order of the members cannot change, nor any other part of the identity.
func (c *Catalog) SaveMembership(s *membership.Saved) error {
	if _, ok := c.Get(); !ok {
		return c.Init(*s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := clone(c.identity)
	next.Members, next.Past, next.Disk = s.Members, s.Past, s.Disk
	if err := check(&next); err != nil {
		return err
	}
	if reflect.DeepEqual(&next, c.identity) {
		return nil
	}
	return c.setIdentity(next)
}

// Init writes the identity of a new node, once.
func (c *Catalog) Init(id membership.Saved) error {
	if err := check(&id); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity != nil {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the catalog at %s already belongs to %v of the cluster %s", c.path, c.identity.Node,
				c.identity.Cluster),
			Hint: "use an empty directory for a new node"}
	}
	return c.setIdentity(id)
}

func (c *Catalog) setIdentity(id membership.Saved) error {
	id = clone(&id)
	if err := c.writeAll(map[string]any{keyFormat: formatOf(&id), keyIdentity: &id}); err != nil {
		return err
	}
	c.identity = &id
	return nil
}

// SetIncarnation copies a shard's incarnation, which must not decrease.
func (c *Catalog) SetIncarnation(shard kv.ShardID, inc kv.Incarnation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.incarnations[shard]
	switch {
	case inc == old:
		return nil
	case inc < old:
		return kv.Errorf(kv.KindInternal, "the incarnation of %v would go back from %d to %d", shard, old, inc)
	}
	c.incarnations[shard] = inc
	if err := c.write(keyIncarnations, c.incarnations); err != nil {
		c.incarnations[shard] = old
		if old == 0 {
			delete(c.incarnations, shard)
		}
		return err
	}
	return nil
}

// Incarnation returns the copy of a shard's incarnation, 0 if there is none.
func (c *Catalog) Incarnation(shard kv.ShardID) (kv.Incarnation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.incarnations[shard], nil
}

// CheckIncarnation rejects a store whose incarnation of a shard is older than the catalog's copy.
func (c *Catalog) CheckIncarnation(shard kv.ShardID, inStore kv.Incarnation) error {
	copied, err := c.Incarnation(shard)
	if err != nil || inStore >= copied {
		return err
	}
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: fmt.Sprintf("the store holds incarnation %d of %v, but the catalog at %s recorded %d: "+
			"the store is older than its catalog",
			inStore, shard, c.path, copied),
		Hint: "the store was replaced by an old copy, which would undo acknowledged commits; use the newer store"}
}

// CountStart durably counts a start of the node and returns its number, from 1. The node's gateway uses it
// in the names of its commits (kv.CommitID).
func (c *Catalog) CountStart() (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts == math.MaxUint32 {
		return 0, &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the node has started %d times, which is the limit", c.starts),
			Hint: "restore a backup of the cluster into a new one"}
	}
	if err := c.write(keyStarts, c.starts+1); err != nil {
		return 0, err
	}
	c.starts++
	return c.starts, nil
}

// Logs returns the numbers of the store's logs as of the last SetLogs.
func (c *Catalog) Logs() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logs)
}

// SetLogs replaces the list of the store's logs.
func (c *Catalog) SetLogs(logs []uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.write(keyLogs, logs); err != nil {
		return err
	}
	c.logs = slices.Clone(logs)
	return nil
}

// write makes one value durable.
func (c *Catalog) write(key string, v any) error { return c.writeAll(map[string]any{key: v}) }

// writeAll makes values durable together.
func (c *Catalog) writeAll(values map[string]any) error {
	if c.closed {
		return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the catalog is closed"}
	}
	sealed := map[string][]byte{}
	for key, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			return kv.Errorf(kv.KindInternal, "the %s of the catalog cannot be encoded: %v", key, err)
		}
		sealed[key] = seal(key, b)
	}
	if err := update(c.db, sealed); err != nil {
		return &kv.Error{Kind: kv.KindInternal, Op: -1, Text: fmt.Sprintf("the catalog at %s cannot be written: %v", c.path,
			err),
			Hint: "check the disk for errors and free space, then start the node again"}
	}
	return nil
}

// Close closes the file. Everything is already durable.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.db.Close()
}
