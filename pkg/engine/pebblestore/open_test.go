package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// refused opens a store that must not open and checks that the error names
// the directory and says what to do.
func refused(t *testing.T, dir string, o Options, kind kv.Kind, say ...string) {
	t.Helper()
	_, err := Open(dir, o)
	var e *kv.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Error(), dir)
	require.NotEmpty(t, e.Hint, "%v", err)
	for _, s := range say {
		require.Contains(t, e.Error(), s)
	}
}

// TestMemtablesLeaveRoomInSmallCaches: what they hold is taken out of the cache,
// which is there for blocks.
func TestMemtablesLeaveRoomInSmallCaches(t *testing.T) {
	for cache, memtable := range map[int64]uint64{0: 16, 1024: 16, 256: 16, 64: 8, 16: 2, 4: 1} {
		require.Equal(t, memtable<<20, Options{CacheBytes: cache << 20}.withDefaults().MemTableBytes, "of %d MiB", cache)
	}
	o := testOptions(t, nil)
	o.CacheBytes, o.MemTableBytes = 16<<20, 0
	s, err := Open(t.TempDir(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for n := 1; n <= 300; n++ {
		_, err := s.Append(numbered(n, 2000))
		require.NoError(t, err)
	}
	require.NoError(t, s.db.Flush())
	for range 2 {
		require.Equal(t, 300, survivors(t, s))
	}
	require.Positive(t, s.Metrics().CacheHits, "what is read again is in the cache")
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := Open("never-made", Options{CacheBytes: -1, MemTableBytes: 5, SyncDelay: -1, FS: vfs.NewMem()})
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	for _, s := range []string{"CacheBytes", "MemTableBytes", "SyncDelay"} {
		require.ErrorContains(t, err, s)
	}
}

func TestStoreInUse(t *testing.T) {
	for name, o := range map[string]Options{"in memory": testOptions(t, vfs.NewMem()), "on disk": testOptions(t, nil)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(dir, o)
			require.NoError(t, err)
			refused(t, dir, o, kv.KindUnavailable, "another process uses")
			require.NoError(t, s.Close())
			s, err = Open(dir, o)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
}

func TestNotAStore(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letters.txt"), []byte("dear"), 0o600))
	refused(t, dir, testOptions(t, nil), kv.KindInvalid, "not a linchpin store", "letters.txt")
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1, "nothing was written into it")

	dir = t.TempDir()
	db, err := pebble.Open(dir, &pebble.Options{Logger: logger{&Store{opts: testOptions(t, nil).withDefaults()}}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	refused(t, dir, testOptions(t, nil), kv.KindInvalid, "not a linchpin store")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(file, testOptions(t, nil))
	require.Error(t, err)
}

func TestReadOnly(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EROFS, syscall.EPERM} {
		mem := vfs.NewMem()
		s, err := Open("store", testOptions(t, mem))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		deny := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return &os.PathError{Op: "open", Path: op.Path, Err: errno}
			}
			return nil
		})
		refused(t, "store", testOptions(t, errorfs.Wrap(mem, deny)), kv.KindInvalid, "writable")
	}
}

func TestNewerFormat(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open("store", testOptions(t, mem))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, writeSummed(mem, "store", formatFile, fmt.Sprintf("linchpin store\nformat %d\nwho knows\n",
		formatUnlogged+1)))
	refused(t, "store", testOptions(t, mem), kv.KindInvalid, fmt.Sprintf("format is %d", formatUnlogged+1), "newer")

	require.NoError(t, writeSummed(mem, "store", formatFile, "linchpin store\nformat 1\nstate odd\n"))
	refused(t, "store", testOptions(t, mem), kv.KindCorrupt, formatFile)
}

// TestAnOlderFormatBecomesTheNewerOne: what an older linchpin has written is read, and
// that one does not open it again.
func TestAnOlderFormatBecomesTheNewerOne(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open("store", testOptions(t, mem))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, mem.Remove("store/"+closedFile))
	require.NoError(t, writeSummed(mem, "store", formatFile, "linchpin store\nformat 1\nstate ready\n"))
	s, err = Open("store", testOptions(t, mem))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	st, format, err := readFormat(mem, "store")
	require.NoError(t, err)
	require.Equal(t, stateReady, st)
	require.Equal(t, formatLogged, format)
}

// TestAStoreKeepsItsLog: one that was written with a log is not opened without, nor the other way round. A store whose
// creation has not ended may become either.
func TestAStoreKeepsItsLog(t *testing.T) {
	for _, first := range []bool{true, false} {
		mem := vfs.NewMem()
		with, without := testOptions(t, mem), unlogged(testOptions(t, mem))
		o, other, format := with, without, formatLogged
		say := "it has a log of its own, as without replicas"
		if !first {
			o, other, format, say = without, with, formatUnlogged, "it has no log of its own, as with replicas"
		}
		require.NoError(t, mem.MkdirAll("store", 0o755))
		require.NoError(t, writeFormat(mem, "store", other.format(), stateCreating))
		s, err := Open("store", o)
		require.NoError(t, err)
		p, err := s.Append(numbered(1, 10))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
		require.NoError(t, s.Close())
		refused(t, "store", other, kv.KindInvalid, say, "use the directory of the node as a whole")
		s, err = Open("store", o)
		require.NoError(t, err)
		require.Equal(t, 1, survivors(t, s))
		require.NoError(t, s.Close())
		_, found, err := readFormat(mem, "store")
		require.NoError(t, err)
		require.Equal(t, format, found)
	}
}

func TestMissingFiles(t *testing.T) {
	for _, lose := range []string{"marker.manifest", "MANIFEST-", "OPTIONS-", "marker.format-version"} {
		for _, closed := range []bool{true, false} {
			mem := vfs.NewMem()
			s, err := Open("store", testOptions(t, mem))
			require.NoError(t, err)
			p, err := s.Append(numbered(1, 10))
			require.NoError(t, err)
			require.NoError(t, s.WaitDurable(p))
			require.NoError(t, s.Close())
			if !closed {
				require.NoError(t, mem.Remove("store/"+closedFile))
			}
			names, err := mem.List("store")
			require.NoError(t, err)
			for _, n := range names {
				if strings.HasPrefix(n, lose) {
					require.NoError(t, mem.Remove("store/"+n))
				}
			}
			again, err := Open("store", testOptions(t, mem))
			if err == nil {
				// pebble can do without its options.
				require.Equal(t, "OPTIONS-", lose)
				require.False(t, closed)
				require.Equal(t, 1, survivors(t, again))
				require.NoError(t, again.Close())
				continue
			}
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%s: %v", lose, err)
		}
	}
}

// TestLogFailure breaks the log in each way it can break. The store says so
// once, answers every later call with it, and a new process finds all that
// was acknowledged.
func TestLogFailure(t *testing.T) {
	for name, match := range map[string]func(errorfs.Op) bool{
		"an fsync fails": func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		},
		"a write fails": func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite },
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			broken := errors.New("the disk is on fire")
			toggle := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
				if strings.HasSuffix(op.Path, ".log") && match(op) {
					return broken
				}
				return nil
			})}
			fatal := make(chan error, 10)
			o := testOptions(t, errorfs.Wrap(mem, &toggle))
			o.OnFatal = func(err error) { fatal <- err }
			s, err := Open("store", o)
			require.NoError(t, err)
			p, err := s.Append(numbered(1, 10))
			require.NoError(t, err)
			require.NoError(t, s.WaitDurable(p))

			toggle.On()
			p, err = s.Append(numbered(2, 10))
			if err == nil {
				err = s.WaitDurable(p)
			}
			require.ErrorContains(t, err, broken.Error())
			require.ErrorContains(t, <-fatal, "start the node again")
			_, err = s.Append(numbered(3, 10))
			require.ErrorContains(t, err, broken.Error())
			require.Error(t, s.WaitDurable(p))
			toggle.Off()
			_, err = s.Append(numbered(3, 10))
			require.Error(t, err, "a failed log is not tried again")
			require.Error(t, s.Close())
			require.Empty(t, fatal, "it is said once")

			again, err := Open("store", testOptions(t, mem.CrashClone(vfs.CrashCloneCfg{})))
			require.NoError(t, err)
			require.GreaterOrEqual(t, survivors(t, again), 1)
			require.NoError(t, again.Close())
		})
	}
}

// TestLogFailureEndsTheProcess runs itself as another process, whose log
// cannot be written and which has no OnFatal of its own.
func TestLogFailureEndsTheProcess(t *testing.T) {
	const inChild = "LINCHPIN_TEST_LOG_FAILURE"
	if os.Getenv(inChild) != "" {
		toggle := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileSyncData {
				return errors.New("the disk is on fire")
			}
			return nil
		})}
		s, err := Open("store", Options{FS: errorfs.Wrap(vfs.NewMem(), &toggle)})
		require.NoError(t, err)
		toggle.On()
		p, err := s.Append(numbered(1, 10))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
		return // with exit code 0
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLogFailureEndsTheProcess$")
	cmd.Env = append(os.Environ(), inChild+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, ExitFatal, exit.ExitCode(), "%s", out)
	require.Contains(t, string(out), "the disk is on fire")
	require.Contains(t, string(out), "start the node again")
}
