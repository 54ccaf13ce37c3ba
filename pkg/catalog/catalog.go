// Package catalog keeps what a node is: its number, its cluster, the members
// and where they are called, where keys are placed, a copy of its shards'
// incarnations, which logs of the store are written to, and which keys were last
// known to have been moved (HotMap). It is one small file, written rarely and read
// once, when it is opened.
//
// # Why a copy of the incarnations
//
// A shard's incarnation is synced in the store before its first message, and
// copied here afterwards. A store that is older than its catalog was put back
// from an old copy, and would undo commits that were acknowledged; such a node
// refuses to start (CheckIncarnation). A crash between the two writes leaves
// the catalog behind, which is no harm.
//
// The store's logs are noted here for the same reason: each when it has its first
// write and before that is acknowledged, so that the store can tell a log that is
// gone from one that was never begun (pebblestore.LogNotes).
//
// # Trusting the file
//
// The file is a bbolt database, which is good at not being torn by a crash,
// and which believes what it reads: on a damaged file it may panic, touch
// memory that is not there, fall back to an older state, or write over pages
// that are in use. So before bbolt sees the file, code of this package
// (pages.go) reads it as plain bytes, checks the whole structure, and gets our
// values out, each of which carries a checksum. What it refuses is KindCorrupt.
// The file is never repaired.
//
// A new file is made under another name and renamed when it is complete, so
// that a catalog without its values is damaged rather than new.
package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Options tune a catalog. The zero value is right.
type Options struct {
	// LockTimeout is how long to wait for another process to let go of the
	// file, as one that is just ending does. Default 1 s.
	LockTimeout time.Duration
}

// Catalog is an open catalog. Its methods may be called by any goroutine. What
// they write is durable when they return.
type Catalog struct {
	path string
	db   *bbolt.DB

	// mu guards what was read or written last, and makes writes one at a time.
	mu sync.Mutex
	// identity is nil until Init.
	identity     *Identity
	incarnations map[kv.ShardID]kv.Incarnation
	// logs are the store's, as it noted them.
	logs []uint64
	// starts counts the starts of the node.
	starts uint32
	// hotMap is nil if there is none; hotMapErr says why the file's was passed
	// over.
	hotMap    *HotMap
	hotMapErr error
	closed    bool
}

// FileName is the catalog's name in its directory.
const FileName = "catalog.db"

// Open opens the catalog in dir, or makes an empty one. dir must exist;
// nothing but the file is made in it. What stands in the way is a *kv.Error
// that says what to do:
//
//   - Unavailable: another process has it open;
//   - Invalid: it cannot be written, or is of a newer format;
//   - Corrupt: it is not what was written.
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

	formatNow = 1
)

// load takes over the values of the file. All keys but the hot map's are there
// from the start, so that none can go missing unnoticed; but catalogs that were made
// before logs were noted, or starts counted, have none of those until the first is.
func (c *Catalog) load(values map[string][]byte) error {
	var format int
	if err := unseal(values, keyFormat, &format); err != nil {
		return err
	}
	if format > formatNow {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("its format is %d; this release knows formats up to %d", format, formatNow),
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
	if _, noted := values[keyLogs]; noted {
		if err := unseal(values, keyLogs, &c.logs); err != nil {
			return err
		}
	}
	if _, counted := values[keyStarts]; counted {
		if err := unseal(values, keyStarts, &c.starts); err != nil {
			return err
		}
	}
	if c.identity == nil {
		return nil
	}
	if err := c.identity.check(); err != nil {
		return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: err.Error(), Hint: hintRestore}
	}
	c.loadHotMap(values)
	return nil
}

// Get gives the node's identity; ok is false before Init.
func (c *Catalog) Get() (id Identity, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		return Identity{}, false
	}
	return c.identity.clone(), true
}

// Init writes the identity of a new node. It can be done once.
func (c *Catalog) Init(id Identity) error {
	if err := id.check(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity != nil {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the catalog at %s already belongs to %v of the cluster %s", c.path, c.identity.Node, c.identity.Cluster),
			Hint: "use an empty directory for a new node"}
	}
	return c.setIdentity(id)
}

// SetMembers replaces what is known of the members, and the node's own past. The
// number and order of the members cannot change, nor can anything else of the identity.
func (c *Catalog) SetMembers(members []Member, past Past) error {
	return c.change(func(id *Identity) { id.Members, id.Past = members, past })
}

// SetAdvertise writes where this node is called from now on, and counts the
// change. It does nothing if the address is the same.
func (c *Catalog) SetAdvertise(address string) error {
	return c.change(func(id *Identity) {
		self := &id.Members[id.Node-1]
		if self.Address != address {
			self.Address = address
			self.Moves++
		}
	})
}

func (c *Catalog) change(f func(*Identity)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		return kv.Errorf(kv.KindInternal, "the catalog at %s has no identity yet", c.path)
	}
	next := c.identity.clone()
	f(&next)
	if err := next.check(); err != nil {
		return err
	}
	if next.equal(c.identity) {
		return nil
	}
	return c.setIdentity(next)
}

func (c *Catalog) setIdentity(id Identity) error {
	id = id.clone()
	if err := c.write(keyIdentity, &id); err != nil {
		return err
	}
	c.identity = &id
	return nil
}

// SetIncarnation copies a shard's incarnation. It never falls.
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

// Incarnation gives the copy of a shard's incarnation, 0 if there is none.
func (c *Catalog) Incarnation(shard kv.ShardID) (kv.Incarnation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.incarnations[shard], nil
}

// CheckIncarnation refuses a store whose incarnation of a shard is older than
// the catalog's copy of it.
func (c *Catalog) CheckIncarnation(shard kv.ShardID, inStore kv.Incarnation) error {
	copied, err := c.Incarnation(shard)
	if err != nil || inStore >= copied {
		return err
	}
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: fmt.Sprintf("the store holds incarnation %d of %v, but the catalog at %s recorded %d: the store is older than its catalog",
			inStore, shard, c.path, copied),
		Hint: "the store was replaced by an old copy, which would undo acknowledged commits; use the newer store"}
}

// CheckOwner refuses a catalog of another node or cluster; an empty cluster
// or a zero node is not compared.
func (c *Catalog) CheckOwner(cluster string, node kv.NodeID) error {
	id, ok := c.Get()
	if !ok || (cluster == "" || cluster == id.Cluster) && (node == 0 || node == id.Node) {
		return nil
	}
	return &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: fmt.Sprintf("the catalog at %s belongs to %v of the cluster %s, not to %v of the cluster %q", c.path, id.Node, id.Cluster, node, cluster),
		Hint: "use this node's own directory, or an empty one"}
}

// CountStart counts a start of the node, durably, and gives its number, from 1. The node's
// gateway names its commits by it (kv.CommitID).
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

// Logs gives the numbers of the store's logs that SetLogs was last called with.
func (c *Catalog) Logs() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logs)
}

// SetLogs notes which logs of the store hold writes, in the place of those noted
// before.
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
func (c *Catalog) write(key string, v any) error {
	if c.closed {
		return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the catalog is closed"}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return kv.Errorf(kv.KindInternal, "the %s of the catalog cannot be encoded: %v", key, err)
	}
	if err := update(c.db, map[string][]byte{key: seal(key, b)}); err != nil {
		return &kv.Error{Kind: kv.KindInternal, Op: -1, Text: fmt.Sprintf("the catalog at %s cannot be written: %v", c.path, err),
			Hint: "check the disk for errors and free space, then start the node again"}
	}
	return nil
}

// Close gives the file up. Everything is durable already.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.db.Close()
}
