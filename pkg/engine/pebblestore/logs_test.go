package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// memNotes are durable at once.
type memNotes struct {
	mu    sync.Mutex
	logs  []uint64
	times int
	most  int
	err   error
}

func (n *memNotes) Logs() []uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.logs)
}

func (n *memNotes) SetLogs(logs []uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return n.err
	}
	n.logs = slices.Clone(logs)
	n.times, n.most = n.times+1, max(n.most, len(logs))
	return nil
}

func (n *memNotes) copied() *memNotes { return &memNotes{logs: n.Logs()} }

// noted opens a store whose logs are noted.
func noted(t *testing.T, fs vfs.FS, n *memNotes) (*Store, error) {
	o := testOptions(t, fs)
	o.MemTableBytes = 64 << 10
	o.Logs = n
	return Open("store", o)
}

func appendDurably(t *testing.T, s *Store, n, padding int) {
	t.Helper()
	p, err := s.Append(numbered(n, padding))
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p))
}

// logsOf lists the logs of an image, oldest first.
func logsOf(im image) (names []string) {
	for name := range im {
		if strings.HasSuffix(name, logSuffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (im image) with(name string, content []byte) image {
	out := image{}
	for n, b := range im {
		out[n] = b
	}
	out[name] = content
	if content == nil {
		delete(out, name)
	}
	return out
}

// spoils are what can become of a log.
var spoils = map[string]func(b []byte) []byte{
	"gone":      func([]byte) []byte { return nil },
	"empty":     func([]byte) []byte { return []byte{} },
	"zeros":     func(b []byte) []byte { return make([]byte, len(b)) },
	"cut short": func(b []byte) []byte { return b[:min(len(b), 20)] },
}

// TestALogThatIsLostIsNoticed: after a crash, a log that has acknowledged writes is
// gone or empty. The store says so and does not open, however often one tries; when
// the log is back, it does.
func TestALogThatIsLostIsNoticed(t *testing.T) {
	for _, logs := range []int{1, 2} {
		for how, spoil := range spoils {
			t.Run(fmt.Sprintf("%s, the newest of %d", how, logs), func(t *testing.T) {
				fs, notes := vfs.NewMem(), &memNotes{}
				s, err := noted(t, fs, notes)
				require.NoError(t, err)
				n := 0
				for i := range logs {
					if i > 0 {
						require.NoError(t, s.db.Flush())
					}
					for range 5 {
						n++
						appendDurably(t, s, n, 10)
					}
				}
				im, kept := takeImage(t, fs), notes.copied()
				require.NoError(t, s.Close())
				newest := logsOf(im)[len(logsOf(im))-1]

				disk := im.with(newest, spoil(im[newest])).disk(t, "", 0, 0)
				for range 2 {
					_, err := noted(t, disk, kept)
					var e *kv.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, kv.KindCorrupt, e.Kind)
					require.ErrorContains(t, err, "the log "+newest)
					require.ErrorContains(t, err, "it contained acknowledged writes")
					require.Contains(t, e.Hint, "put the file back")
				}
				require.NoError(t, disk.MkdirAll("store", 0o755))
				f, err := disk.Create("store/"+newest, vfs.WriteCategoryUnspecified)
				require.NoError(t, err)
				_, err = f.Write(im[newest])
				require.NoError(t, err)
				require.NoError(t, f.Close())
				s, err = noted(t, disk, kept)
				require.NoError(t, err)
				require.Equal(t, n, survivors(t, s))
				require.NoError(t, s.Close())
			})
		}
	}
}

// TestALostStoreIsNoticed: the directory is empty, or a new store was begun in it.
func TestALostStoreIsNoticed(t *testing.T) {
	notes := &memNotes{}
	s, err := noted(t, vfs.NewMem(), notes)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = noted(t, vfs.NewMem(), notes)
	require.NoError(t, err, "nothing was written into the first one")
	appendDurably(t, s, 1, 10)
	require.NoError(t, s.Close())
	for _, begun := range []bool{false, true} {
		mem := vfs.NewMem()
		if begun {
			require.NoError(t, mem.MkdirAll("store", 0o755))
			require.NoError(t, writeFormat(mem, "store", formatLogged, stateCreating))
		}
		_, err := noted(t, mem, notes)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
		require.ErrorContains(t, err, "it is missing, but it contained acknowledged writes")
		require.ErrorContains(t, err, "put it back")
	}
}

// TestLogsThatMayBeMissing: a log in which nothing was written, or all of whose writes
// are in tables, is not missed.
func TestLogsThatMayBeMissing(t *testing.T) {
	fs, notes := vfs.NewMem(), &memNotes{}
	s, err := noted(t, fs, notes)
	require.NoError(t, err)
	untouched := takeImage(t, fs)
	require.Empty(t, notes.Logs())
	for n := range 5 {
		appendDurably(t, s, n+1, 10)
	}
	require.NoError(t, s.db.Flush()) // and a new log is begun
	crashed := takeImage(t, fs)
	require.NoError(t, s.Close())
	closed := takeImage(t, fs)
	for name, at := range map[string]struct {
		im   image
		want int
	}{"nothing was written": {untouched, 0}, "all is in tables": {crashed, 5}, "closed": {closed, 5}} {
		for how, spoil := range spoils {
			kept := notes.copied()
			im := at.im
			for _, log := range logsOf(im) {
				im = im.with(log, spoil(im[log]))
			}
			s, err := noted(t, im.disk(t, "", 0, 0), kept)
			if at.want == 0 && kept.Logs() != nil {
				// The notes are of later: to them it is an old copy.
				require.ErrorContains(t, err, "replaced by an old copy")
				s, err = noted(t, im.disk(t, "", 0, 0), &memNotes{})
			}
			require.NoError(t, err, "%s, %s", name, how)
			require.Equal(t, at.want, survivors(t, s))
			appendDurably(t, s, at.want+1, 10)
			require.NoError(t, s.Close())
		}
	}
}

// TestAnyLogMayBeLost: a machine crashes at random moments, and any one of the logs is
// lost. Then the store has all that was acknowledged, or refuses. Without a loss it
// has it.
func TestAnyLogMayBeLost(t *testing.T) {
	refused, harmless := 0, 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 2))
		fs, notes := vfs.NewCrashableMem(), &memNotes{}
		total, padding := 1+rng.IntN(300), rng.IntN(3000)
		s, err := noted(t, fs, notes)
		require.NoError(t, err)
		for n := 1; n <= total; n++ {
			p, err := s.Append(numbered(n, padding))
			require.NoError(t, err)
			if rng.IntN(8) == 0 || n == total {
				require.NoError(t, s.WaitDurable(p))
			}
			if rng.IntN(60) == 0 {
				_, err := s.db.AsyncFlush()
				require.NoError(t, err)
			}
			if rng.IntN(200) == 0 {
				require.NoError(t, s.Close())
				s, err = noted(t, fs, notes)
				require.NoError(t, err)
			}
		}
		kept := notes.copied() // before the disk's state: what is noted is on the disk
		disk := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		require.NoError(t, s.Close())
		im := takeImage(t, disk)
		again, err := noted(t, im.disk(t, "", 0, 0), kept.copied())
		require.NoError(t, err, "seed %d: without a loss", seed)
		require.Equal(t, total, survivors(t, again), "seed %d", seed)
		require.NoError(t, again.Close())
		for _, log := range logsOf(im) {
			for _, how := range []string{"gone", "empty"} {
				again, err := noted(t, im.with(log, spoils[how](im[log])).disk(t, "", 0, 0), kept.copied())
				if err != nil {
					require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%v", err)
					refused++
					continue
				}
				harmless++
				require.Equal(t, total, survivors(t, again), "seed %d: %s is %s, and nobody noticed", seed, log, how)
				require.NoError(t, again.Close())
			}
		}
	}
	t.Logf("%d losses refused, %d harmless", refused, harmless)
	require.Positive(t, refused)
	require.Positive(t, harmless)
}

// TestOneNoteForEachLog: notes are made once in the life of a log, and those of logs
// that are gone are given up.
func TestOneNoteForEachLog(t *testing.T) {
	fs, notes := vfs.NewMem(), &memNotes{}
	s, err := noted(t, fs, notes)
	require.NoError(t, err)
	const logs, each = 60, 7
	for n := 1; n <= logs*each; n++ {
		appendDurably(t, s, n, 10)
		if n%each == 0 {
			require.NoError(t, s.db.Flush())
		}
	}
	require.Equal(t, logs, notes.times)
	require.LessOrEqual(t, notes.most, 20)
	require.NoError(t, s.Close())
	manifest, err := checkManifest(fs, "store")
	require.NoError(t, err)
	require.Greater(t, unflushedLog(manifest), slices.Max(notes.Logs()), "all is in tables")
	s, err = noted(t, fs, notes)
	require.NoError(t, err)
	appendDurably(t, s, logs*each+1, 10)
	require.Len(t, notes.Logs(), 1, "those of the life before are done with")

	crashed, kept := takeImage(t, fs), notes.copied()
	require.NoError(t, s.Close())
	s, err = noted(t, crashed.disk(t, "", 0, 0), kept) // which replays the log, and deletes it
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s.logs.mu.Lock()
		defer s.logs.mu.Unlock()
		return len(s.logs.logs) == 0
	}, 30*time.Second, time.Millisecond)
	appendDurably(t, s, logs*each+2, 10)
	require.Len(t, kept.Logs(), 1)
	require.NoError(t, s.Close())
}

// TestUnflushedLog: what the manifest is found to say is what pebble goes by: after a
// flush it is the log that was begun for it, and the logs before it are not replayed.
func TestUnflushedLog(t *testing.T) {
	fs := vfs.NewMem()
	s, err := noted(t, fs, &memNotes{})
	require.NoError(t, err)
	last := uint64(0)
	for n := 1; n <= 30; n++ {
		appendDurably(t, s, n, 3000)
		if n%5 != 0 {
			continue
		}
		require.NoError(t, s.db.Flush())
		im := takeImage(t, fs)
		manifest, err := checkManifest(fs, "store")
		require.NoError(t, err)
		log := unflushedLog(manifest)
		names := logsOf(im)
		require.Equal(t, names[len(names)-1], logName(log))
		require.Greater(t, log, last)
		last = log
	}
	require.NoError(t, s.Close())
	require.Zero(t, unflushedLog(nil))
	require.Zero(t, unflushedLog([]byte("no manifest")))
}

// TestALogThatCannotBeNoted ends the store before what it holds is acknowledged.
func TestALogThatCannotBeNoted(t *testing.T) {
	notes := &memNotes{err: errors.New("the disk of the notes is full")}
	failed := make(chan error, 1)
	o := testOptions(t, vfs.NewMem())
	o.Logs, o.OnFatal = notes, func(err error) { failed <- err }
	s, err := Open("store", o)
	require.NoError(t, err)
	p, err := s.Append(numbered(1, 10))
	if err == nil {
		err = s.WaitDurable(p)
	}
	require.ErrorContains(t, err, "cannot be registered: the disk of the notes is full")
	require.ErrorContains(t, <-failed, "cannot be registered")
	require.Error(t, s.Close())
}
