package catalog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	bucketName  = "linchpin"
	newSuffix   = ".new"
	sumSize     = 4
	hintRestore = "check the disk; restore a backup, " +
		"or put back a copy of the node's directory if it was made after the node last stopped"
	lockPoll = 20 * time.Millisecond
)

var errInUse = errors.New("it is in use")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal prefixes a value with a checksum of key and value.
func seal(key string, value []byte) []byte {
	b := make([]byte, sumSize, sumSize+len(value))
	binary.BigEndian.PutUint32(b, sum(key, value))
	return append(b, value...)
}

func sum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

// unseal checks and decodes the value of a key.
func unseal(values map[string][]byte, key string, into any) error {
	b, ok := values[key]
	switch {
	case !ok:
		return damaged("its %s is missing", key)
	case len(b) < sumSize || binary.BigEndian.Uint32(b) != sum(key, b[sumSize:]):
		return damaged("the checksum of its %s is wrong", key)
	}
	if err := json.Unmarshal(b[sumSize:], into); err != nil {
		return damaged("its %s cannot be decoded: %v", key, err)
	}
	return nil
}

// openFile returns the values of the file at path, and the database to write them to. It creates the file
// if there is none. The directory is locked meanwhile, so that one of several processes creates the file,
// and none reads an incomplete one.
func openFile(path string, timeout time.Duration) (map[string][]byte, *bbolt.DB, error) {
	dir, err := lock(filepath.Dir(path), os.O_RDONLY, timeout)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close() // unlocks
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return create(path, dir, timeout)
	}
	b, err := readLocked(path, timeout)
	if err != nil {
		return nil, nil, err
	}
	values, err := readPages(b, bucketName)
	if err != nil {
		return nil, nil, err
	}
	db, err := openBolt(path, timeout)
	return values, db, err
}

// create makes a catalog without identity under another name, and renames it when it is complete. The
// database continues to use the open file.
func create(path string, dir *os.File, timeout time.Duration) (map[string][]byte, *bbolt.DB, error) {
	temp := path + newSuffix
	// A crash may have left an incomplete file.
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	db, err := openBolt(temp, timeout)
	if err != nil {
		return nil, nil, err
	}
	values := map[string][]byte{
		keyFormat:       seal(keyFormat, []byte(fmt.Sprint(formatFirst))),
		keyIdentity:     seal(keyIdentity, []byte("null")),
		keyIncarnations: seal(keyIncarnations, []byte("{}")),
		keyLogs:         seal(keyLogs, []byte("[]")),
		keyStarts:       seal(keyStarts, []byte("0")),
	}
	err = update(db, values)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil {
		err = dir.Sync()
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return values, db, nil
}

// lock opens a file or directory and locks it, as bbolt does with its file. Closing it releases the lock.
func lock(path string, flag int, timeout time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockPoll) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(errInUse, f.Close())
		}
	}
}

// readLocked reads a file while no process has it open as a catalog.
func readLocked(path string, timeout time.Duration) ([]byte, error) {
	f, err := lock(path, os.O_RDWR, timeout)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// openBolt opens a file that was checked, or is new.
func openBolt(path string, timeout time.Duration) (db *bbolt.DB, err error) {
	defer recovered(&err)
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: max(timeout, lockPoll)})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errInUse
	}
	return db, err
}

// update writes values in one synced transaction.
func update(db *bbolt.DB, values map[string][]byte) (err error) {
	defer recovered(&err)
	return db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(bucketName))
		if err != nil {
			return err
		}
		for k, v := range values {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
}

// recovered converts a panic of bbolt, which panics on unexpected content, to an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = damaged("%v", p)
	}
}

// openError sets the kind and the hint of an error of Open.
func (c *Catalog) openError(err error) error {
	e := &kv.Error{Kind: kv.KindInternal, Op: -1, Text: fmt.Sprintf("the catalog at %s cannot be opened: %v", c.path, err),
		Hint: "check the disk"}
	var known *kv.Error
	switch {
	case errors.As(err, &known):
		e.Kind, e.Hint = known.Kind, known.Hint
		e.Text = fmt.Sprintf("the catalog at %s cannot be opened: %s", c.path, known.Text)
	case errors.Is(err, errInUse):
		e.Kind, e.Hint = kv.KindUnavailable, "stop the other process that uses this directory, or use another directory"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Hint = kv.KindInvalid, "the directory and the file must be writable for the user that runs the node"
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Hint = kv.KindInvalid, "create the directory first"
	case errors.Is(err, syscall.ENOSPC):
		e.Kind, e.Hint = kv.KindResourceExhausted, "free disk space"
	}
	return e
}
