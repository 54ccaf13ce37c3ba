package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/catalog"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// open opens what is on disk. The catalog comes first: its lock keeps a
// second process out before the stores are touched, and it has the number of replicas.
func (i *Instance) open() error {
	if err := os.MkdirAll(i.opt.Dir, 0o755); err != nil {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: "the storage directory cannot be created: " + err.Error(), Hint: "set another one with --store"}
	}
	var err error
	i.catalog, err = catalog.Open(i.opt.Dir)
	if err != nil {
		return err
	}
	saved, formed := i.catalog.Get()
	if !formed {
		return nil
	}
	if err := checkLeases(i.opt.LeaderLeases, &saved); err != nil {
		return err
	}
	p := saved.Placement()
	return i.openStores(&p)
}

// openStores opens the stores for the shards of a cluster, if they are not open.
func (i *Instance) openStores(p *kv.Placement) (err error) {
	if i.disks.rows != nil {
		return nil
	}
	warn := func(f string, a ...any) { i.opt.log(logs.Store).Warn("store", "message", fmt.Sprintf(f, a...)) }
	i.disks, err = openDisks(filepath.Join(i.opt.Dir, rowsDir), filepath.Join(i.opt.Dir, logDir),
		pebblestore.Options{CacheBytes: i.opt.CacheBytes, MaxOpenFiles: i.storeFiles, NoSync: i.opt.UnsafeNoSync,
			SyncDelay: i.opt.SyncDelay, Logs: i.catalog, Logf: warn}, p)
	return err
}

// config is what the node brings to the first meeting. A node with an empty catalog opens its stores after it, so that
// a meeting that fails because of a flag leaves nothing; but files that are there are looked at before.
func (i *Instance) config(address string) (c membership.Config, err error) {
	c = membership.Config{Address: address, HotKeys: i.opt.HotKeys, NoLeases: i.opt.LeaderLeases == leasesOff}
	c.List, err = membership.JoinList(i.opt.Join, address, i.isOpen())
	if err != nil {
		return c, err
	}
	c.Replicas, c.Shards = formation(i.opt.Replicas, i.opt.Shards, len(c.List))
	p := c.Placement()
	if _, formed := i.catalog.Get(); formed {
		return c, nil
	}
	if err := checkNew(i.opt.Dir, &p); err != nil {
		return c, err
	}
	used, err := isUsed(filepath.Join(i.opt.Dir, rowsDir))
	if used && err == nil {
		err = i.openStores(&p)
	}
	return c, err
}

// checkLeases returns an error if --leader-leases differs from what the cluster was formed with.
func checkLeases(flag string, saved *membership.Saved) error {
	has := map[bool]string{false: leasesOn, true: leasesOff}[saved.NoLeases]
	if flag == "" || flag == has {
		return nil
	}
	e := kv.Errorf(kv.KindInvalid, "--leader-leases is %s, and the cluster was formed with %s", flag, has)
	e.Hint = "omit the flag; to change it, make a backup, form a new cluster, and restore it there"
	return e
}

// formation returns the numbers of replicas and of all shards of a new cluster of some nodes, the hot one included; 0
// is the default.
func formation(replicas, shards, nodes int) (int, int) {
	if replicas == 0 {
		replicas = kv.DefaultReplicas(nodes)
	}
	if shards == 0 {
		shards = kv.DefaultShards(nodes, kv.ReplicasOn(nodes, replicas))
	}
	return replicas, shards + 1
}

// checkNew returns an error if the directory of a node with an empty catalog has stores that do not fit: with replicas
// any, since an old log has votes of another disk, and without the log of replicas.
func checkNew(dir string, p *kv.Placement) error {
	for _, name := range []string{rowsDir, logDir} {
		path := filepath.Join(dir, name)
		used, err := isUsed(path)
		if err != nil {
			return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "the storage directory cannot be read: " + err.Error(),
				Hint: "the directory must be readable and writable for the user that runs the node"}
		}
		if used && (p.IsReplicated() || name == logDir) {
			return &kv.Error{Kind: kv.KindInvalid, Op: -1,
				Text: fmt.Sprintf("%s has files of an earlier node, but there is no catalog", path),
				Hint: "put the catalog back, or empty the node's directory"}
		}
	}
	return nil
}

// isUsed reports whether a directory exists and is not empty.
func isUsed(path string) (bool, error) {
	names, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(names) > 0, err
}
