package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store in memory.
type shelf struct {
	mu      sync.Mutex
	raw     []byte
	version kv.Version
	loads   int
	// err is what loads end with, if it is set.
	err error
	// meanwhile is called once, before something is saved.
	meanwhile func()
}

func (s *shelf) Load(ctx context.Context) ([]byte, kv.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	return s.raw, s.version, s.err
}

func (s *shelf) Save(_ context.Context, raw []byte, old kv.Version) error {
	s.mu.Lock()
	again := s.meanwhile
	s.meanwhile = nil
	s.mu.Unlock()
	if again != nil {
		again()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old != s.version {
		return kv.Errorf(kv.KindConditionFailed, "it is another version")
	}
	s.raw, s.version = raw, kv.Version{Write: s.version.Write + 1}
	return nil
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// with adds a user.
func with(u *users.User) func(*users.Table) (*users.Table, error) {
	return func(t *users.Table) (*users.Table, error) { return t.With(u) }
}

// TestChangesByOtherNodesAreLoaded within the time that is promised.
func TestChangesByOtherNodesAreLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		here, there := NewDirectory(DirectoryOptions{Store: s}), NewDirectory(DirectoryOptions{Store: s})
		defer here.Close()
		defer there.Close()
		synctest.Wait()
		require.NoError(t, here.Change(t.Context(), with(&users.User{Name: "alice"})))
		known := func(d *Directory) bool {
			table, err := d.Table(time.Now())
			require.Nil(t, err)
			return table.User("alice") != nil
		}
		require.True(t, known(here), "who makes the change knows it")
		time.Sleep(time.Second) // of the bubble's time
		synctest.Wait()
		require.True(t, known(there))
		before, _ := there.Table(time.Now())
		time.Sleep(time.Second)
		synctest.Wait()
		after, _ := there.Table(time.Now())
		require.Same(t, before, after, "what has not changed is not parsed again")
	})
}

// TestOldTablesAreNotUsed: after the grace period they admit no user.
func TestOldTablesAreNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{err: errors.New("cut off")}
		d := NewDirectory(DirectoryOptions{Store: s})
		defer d.Close()
		synctest.Wait()
		_, err := d.Table(time.Now())
		require.ErrorContains(t, err, "has not read the table of users yet")
		s.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		_, err = d.Table(time.Now())
		require.Nil(t, err)
		s.fail(errors.New("cut off again"))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		_, err = d.Table(time.Now())
		require.Nil(t, err, "it is as old as it may be")
		time.Sleep(time.Millisecond)
		_, err = d.Table(time.Now())
		require.Equal(t, kv.KindUnavailable, err.Kind)
		require.ErrorContains(t, err, "too old")
		require.Greater(t, d.Age(), 30*time.Second)
		s.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		_, err = d.Table(time.Now())
		require.Nil(t, err)
	})
}

// TestDamageIsNotTaken: a table that cannot be read does not take the place of one
// that could.
func TestDamageIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		d := NewDirectory(DirectoryOptions{Store: s})
		defer d.Close()
		require.NoError(t, d.Change(t.Context(), with(&users.User{Name: "alice"})))
		s.mu.Lock()
		s.raw, s.version = []byte("{"), kv.Version{Write: 99}
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		table, err := d.Table(time.Now())
		require.Nil(t, err)
		require.NotNil(t, table.User("alice"))
		require.Equal(t, kv.KindCorrupt, kv.KindOf(d.Change(t.Context(), with(&users.User{Name: "bob"}))),
			"nor is it written over")
	})
}

func TestTwoAdministratorsDoNotUndoEachOther(t *testing.T) {
	s := &shelf{}
	d := NewDirectory(DirectoryOptions{Store: s, Every: -1})
	defer d.Close()
	s.meanwhile = func() { require.NoError(t, d.Change(t.Context(), with(&users.User{Name: "bob"}))) }
	require.NoError(t, d.Change(t.Context(), with(&users.User{Name: "alice"})))
	all, err := d.Users(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.ErrorContains(t, d.Change(t.Context(), func(*users.Table) (*users.Table, error) {
		return nil,
			errors.New("no")
	}), "no")
	always := 0
	err = d.Change(t.Context(), func(t *users.Table) (*users.Table, error) {
		always++
		s.mu.Lock()
		s.version.Write++
		s.mu.Unlock()
		return t, nil
	})
	require.Equal(t, kv.KindConditionFailed, kv.KindOf(err))
	require.Equal(t, maxTries, always)
}

// slow is a shelf whose answers come some time after the look at it.
type slow struct {
	shelf
	takes atomic.Int64 // nanoseconds
}

func (s *slow) Load(ctx context.Context) ([]byte, kv.Version, error) {
	takes := time.Duration(s.takes.Load())
	raw, version, err := s.shelf.Load(ctx)
	time.Sleep(takes) // of the bubble's time
	return raw, version, err
}

// TestAnswersCountFromTheirQuestions: one that is late is as old as it is, and does not
// take the place of a newer one.
func TestAnswersCountFromTheirQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		s.takes.Store(int64(10 * time.Second))
		d := NewDirectory(DirectoryOptions{Store: s, Every: -1})
		defer d.Close()
		_, lerr := d.load(t.Context())
		require.NoError(t, lerr)
		require.Equal(t, 10*time.Second, d.Age())
		time.Sleep(20*time.Second + 1)
		_, err := d.Table(time.Now())
		require.NotNil(t, err)

		var late sync.WaitGroup
		late.Go(func() { _, _ = d.load(t.Context()) })
		time.Sleep(time.Second)
		s.takes.Store(0)
		require.NoError(t, d.Change(t.Context(), with(&users.User{Name: "alice"})))
		late.Wait()
		table, err := d.Table(time.Now())
		require.Nil(t, err)
		require.NotNil(t, table.User("alice"), "what was read before the change has come after it")
	})
}
