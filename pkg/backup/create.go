package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Partial is the suffix of the name of an unfinished backup.
const Partial = ".partial"

// CreateOptions are the options of a backup.
type CreateOptions struct {
	// Snapshot is the name or id of the snapshot to copy. If it is empty, the backup creates a snapshot,
	// with the time to live Keep, and drops it at the end.
	Snapshot string
	// AsOf, unless it is zero, is the time of the state of the history to copy, instead of Snapshot. The history may end
	// before a large backup does, if the cluster goes on.
	AsOf time.Time
	// Keep is for how long an unfinished backup can be continued; 0 is a day.
	Keep time.Duration
	// Continue continues an unfinished backup, whatever its snapshot. Without it, an unfinished backup is
	// continued only if Snapshot names its snapshot.
	Continue bool
	// Program is the version of the program, for the header.
	Program string
	// Progress, if set, is called every 512 keys with what has been copied so far.
	Progress func(keys, bytes uint64)
}

// Create copies a state of the cluster into a file, which must not exist, and returns its header and
// footer. It continues FILE.partial as the options say, if that is of the same cluster and its snapshot
// still exists.
func Create(ctx context.Context, db *client.DB, path string, o CreateOptions) (Header, Footer, error) {
	status, err := admin.New(db).Status(ctx)
	if err != nil {
		return Header{}, Footer{}, err
	}
	f, err := openPartial(path)
	if err != nil {
		return Header{}, Footer{}, err
	}
	defer f.Close() // releases the lock
	c := &creation{db: db, file: f, path: path, o: o, cluster: status.Cluster}
	if err := c.begin(ctx); err != nil {
		return c.header, Footer{}, err
	}
	footer, err := c.copy(ctx)
	if err == nil {
		err = c.publish()
	}
	if err != nil {
		return c.header, footer, err
	}
	err = c.dropOwn(ctx)
	if err != nil {
		err = fmt.Errorf("the backup is complete, but its snapshot %s could not be dropped: %w", Shown(c.header.Own), err)
	}
	return c.header, footer, err
}

// CreateTo copies a state of the cluster to a writer. It cannot be continued after an error, so it drops
// its own snapshot in any case.
func CreateTo(ctx context.Context, db *client.DB, to io.Writer, o CreateOptions) (Header, Footer, error) {
	status, err := admin.New(db).Status(ctx)
	if err != nil {
		return Header{}, Footer{}, err
	}
	c := &creation{db: db, o: o, cluster: status.Cluster}
	err = c.start(ctx, to)
	if err != nil {
		return c.header, Footer{}, err
	}
	footer, err := c.copy(ctx)
	drop, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return c.header, footer, errors.Join(err, c.dropOwn(drop))
}

// dropTimeout bounds how long an interrupted CreateTo drops its snapshot.
const dropTimeout = 5 * time.Second

// ownPrefix begins the names of the snapshots that backups create.
const ownPrefix = "backup-"

// dropOwn drops the snapshot that was created for the backup. Its name comes from the file, so another
// name than that of a backup's snapshot is ignored.
func (c *creation) dropOwn(ctx context.Context) error {
	if !strings.HasPrefix(c.header.Own, ownPrefix) {
		return nil
	}
	err := c.db.DropSnapshot(ctx, c.header.Own)
	if errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

// openPartial opens the unfinished file and locks it. Two processes that write it would damage it, and
// the first to end would drop the snapshot of the other.
func openPartial(path string) (*os.File, error) {
	if err := absent(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+Partial, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	busy := refuse("wait for its end, or use another file", "another backup is writing %s", Shown(path))
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(busy, f.Close())
	} else if err != nil {
		return nil, errors.Join(fmt.Errorf("backup: %s cannot be locked: %w", f.Name(), err), f.Close())
	}
	// Another backup may have finished between the opening and the lock. Then this file is that backup, or
	// the name has another file.
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if named, err := os.Lstat(f.Name()); err != nil || !os.SameFile(mine, named) {
		return nil, errors.Join(busy, f.Close())
	}
	if err := absent(path); err != nil {
		if mine.Size() == 0 {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return refuse("use another file, or remove it", "%s already exists", Shown(path))
	}
	return nil
}

// Shown returns a name for a terminal: quoted if it has characters that do not print, which could control
// the terminal.
func Shown(name string) string {
	quoted := strconv.Quote(name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}

func refuse(hint, format string, args ...any) error {
	return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// creation is a backup in progress.
type creation struct {
	db      *client.DB
	file    *os.File
	path    string
	o       CreateOptions
	cluster string
	header  Header
	writer  *Writer
	last    []byte
}

// begin writes the header, or continues a file that has one.
func (c *creation) begin(ctx context.Context) error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		return c.resume(ctx)
	}
	err = c.start(ctx, c.file)
	if err != nil && c.header.Snapshot == "" {
		err = errors.Join(err, os.Remove(c.file.Name()))
	}
	return err
}

// start finds or creates the snapshot, and writes the header.
func (c *creation) start(ctx context.Context, to io.Writer) error {
	s, own, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	c.header = Header{Format: Format, Cluster: c.cluster, Snapshot: s.ID, Time: s.Time.UTC(), Own: own,
		Program: c.o.Program}
	c.writer, err = NewWriter(to, c.header)
	return err
}

// snapshot finds the snapshot to copy, or creates one. own is the name of one that it has created.
func (c *creation) snapshot(ctx context.Context) (s client.SnapshotInfo, own string, err error) {
	switch {
	case c.o.Snapshot != "":
		s, err = kept(ctx, c.db.AtSnapshot(c.o.Snapshot))
		return s, "", err
	case !c.o.AsOf.IsZero():
		s, err = kept(ctx, c.db.AsOf(c.o.AsOf))
		return s, "", err
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	keep := c.o.Keep
	if keep == 0 {
		keep = 24 * time.Hour
	}
	own = ownPrefix + hex.EncodeToString(b[:])
	made, err := c.db.CreateSnapshot(ctx, own, client.TTL(keep))
	if err != nil {
		return s, own, err
	}
	return made.Info(), own, nil
}

// kept finds a state that is kept, by reading at it. A list of the snapshots needs the leader of the hot shard, and a
// read by id or time does not.
func kept(ctx context.Context, at *client.Snapshot) (client.SnapshotInfo, error) {
	for _, err := range at.Scan(ctx, client.Range{}, client.Limit(1)) {
		if err != nil {
			return client.SnapshotInfo{}, err
		}
	}
	return at.Info(), nil
}

// resume continues an unfinished backup after its last whole frame. It truncates the rest.
func (c *creation) resume(ctx context.Context) error {
	name := Shown(c.file.Name())
	r, err := c.read()
	if err != nil && r == nil {
		return refuse("remove it to start again", "%s cannot be continued: %v", name, err)
	}
	c.header = r.Header
	if r.Header.Cluster != c.cluster {
		return refuse("remove it to start again", "%s belongs to another cluster, %s", name, Shown(r.Header.Cluster))
	}
	s, err := kept(ctx, c.db.AtSnapshot(r.Header.Snapshot))
	switch kind := kv.KindOf(err); {
	case kind == kv.KindNotFound || kind == kv.KindTooOld:
		return fmt.Errorf("%s cannot be continued; remove it to start again: %w", name, err)
	case err != nil: // it may be read later
		return err
	case !c.o.AsOf.IsZero():
		return refuse("continue it with --continue and without --as-of, or remove it",
			"%s is an unfinished backup as of %s", name, r.Header.Time.Format(time.RFC3339))
	}
	if want := c.o.Snapshot; want != "" && want != s.Name && want != s.ID {
		return refuse("remove it to start again", "%s was made of the snapshot %s", name, Shown(s.Name))
	} else if want == "" && !c.o.Continue {
		return refuse("continue it with --continue, or remove it",
			"%s is an unfinished backup as of %s", name, r.Header.Time.Format(time.RFC3339))
	}
	if err := c.file.Truncate(r.whole); err != nil {
		return err
	}
	// Verify that the file ends after a whole frame now.
	r, err = c.read()
	if err != errOpen {
		return refuse("remove it to start again", "%s cannot be continued: %v", name, err)
	}
	c.writer, err = newWriter(c.file)
	if err != nil {
		return err
	}
	c.writer.after(r)
	c.last = r.last
	_, err = c.file.Seek(r.whole, io.SeekStart)
	return err
}

// read reads the file from its start. The error is errOpen if the file ends between two frames.
func (c *creation) read() (*Reader, error) {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := NewReader(c.file)
	if err != nil {
		return nil, err
	}
	for err == nil {
		_, err = r.Next()
	}
	if r.at == r.whole && !r.ended {
		if _, end := r.from.ReadByte(); end == io.EOF {
			err = errOpen
		}
	}
	return r, err
}

// copy writes all keys and the footer.
func (c *creation) copy(ctx context.Context) (Footer, error) {
	types, err := typeNames(ctx, c.db)
	if err != nil {
		return Footer{}, err
	}
	for r, err := range export(ctx, c.db, c.header.Snapshot, c.last) {
		if err == nil {
			err = c.writer.Add(r)
		}
		if err != nil {
			return Footer{}, errors.Join(err, c.writer.Flush())
		}
		if c.o.Progress != nil && c.writer.keys%pageKeys == 0 {
			c.o.Progress(c.writer.keys, c.writer.bytes)
		}
	}
	return c.writer.Close(func(t uint32) string { return types[t] })
}

// publish renames the complete file, without replacing another one.
func (c *creation) publish() error {
	err := c.file.Sync()
	if err == nil {
		err = os.Link(c.file.Name(), c.path) // unlike a rename, this replaces nothing
	}
	if err == nil {
		err = os.Remove(c.file.Name())
	}
	if err == nil {
		err = syncDir(filepath.Dir(c.path))
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// typeNames returns the names of the data types of a cluster, by number.
func typeNames(ctx context.Context, db *client.DB) (map[uint32]string, error) {
	all, err := admin.New(db).Types(ctx, "")
	if err != nil {
		return nil, err
	}
	out := map[uint32]string{}
	for _, t := range all {
		out[uint32(t.Number)] = t.Name
	}
	return out, nil
}
