package snapshot

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

const (
	second = int64(time.Second)
	minute = 60 * second
	day    = 24 * 60 * minute
	// noon is the right time of day.
	noon = 20_000 * day
)

// TestStoreWithFutureTimesRecovers: the time of day was a day, or ten years, ahead for some seconds, and the
// snapshots retained since have that time, as an older version wrote them. The history of the new incarnation
// is right from the beginning. The former one expires in time, and so do snapshots that would be retained for
// years.
func TestStoreWithFutureTimesRecovers(t *testing.T) {
	for _, ahead := range []int64{day, 3650 * day} {
		var rows []*msg.Snapshot
		add := func(name string, at, expires int64) {
			n := uint64(len(rows) + 1)
			rows = append(rows, &msg.Snapshot{
				Number: n, Name: name, Time: at, Expires: expires,
				Clock: []msg.ShardCSN{{Shard: 0, CSN: kv.CSN(n)}},
			})
		}
		for i := range int64(300) {
			add("", noon+(i-600)*second, 0)
		}
		jumped := noon - 300*second + ahead
		add("ahead", jumped, jumped+day)
		for range 300 {
			add("", jumped, 0)
		}
		add("right", jumped, noon+day)
		k := New(Options{History: 10 * time.Minute, Doubt: 10 * time.Minute}, rows, uint64(len(rows)+1), 0, noon)
		require.NoError(t, k.Check())
		got, err := k.AsOf(0, noon-400*second)
		require.Nil(t, err)
		require.Equal(t, noon-400*second, got.Time)
		_, err = k.AsOf(0, noon-100*second)
		require.Equal(t, kv.KindTooOld, err.Kind)
		require.Contains(t, err.Text, "is unknown")
		got, err = k.AsOf(0, noon)
		require.Nil(t, err)
		require.EqualValues(t, len(rows)-1, got.Number, "the last snapshot of the former history")
		for _, name := range []string{"ahead", "right"} {
			_, err = k.FindName(0, name)
			require.Nil(t, err)
		}
		var changed []*msg.Snapshot
		for now := second; now <= 10*minute+2*second; now += second {
			changed = append(changed, k.Observe(now, noon+now, false)...)
			p := mustRetain(t, k, now, request(now, kv.CSN(1000+now/second)))
			require.Equal(t, noon+now, p.Time)
			got, err := k.AsOf(now, noon+now)
			require.Nil(t, err)
			require.Equal(t, p, got)
			k.Expire(now)
		}
		all, named := k.Len()
		require.Equal(t, 2, named)
		require.InDelta(t, 602, all-named, 2, "the former history has expired")
		if ahead > day {
			require.Len(t, changed, 1)
			require.Equal(t, noon+int64(MaxTTL), changed[0].Expires)
		}
		require.Len(t, k.List(day-1), 2)
		require.Empty(t, k.List(int64(MaxTTL)))
	}
}

// incarnations are those of a registry whose time of day is wrong now and then, also at a start, for less than
// the settle time. It is observed every second.
type incarnations struct {
	registry *Registry
	// now is the right time; the registry's Now is now minus base.
	now, base int64
	// wrong is by how much the time of day is off, until right.
	wrong, right int64
	snapshots    []retainedAt
	// rows are the rows of the snapshots in the log.
	rows map[uint64]msg.Snapshot
}

// retainedAt is a snapshot and when it was retained, by the right time. It is doubtful if the incarnation that
// retained it ended while its clock was wrong.
type retainedAt struct {
	number        uint64
	named         bool
	fixed, endsAt int64
	own           bool
	doubtful      bool
}

const (
	testSettleTime = 60 * second
	testHistory    = 30 * second
)

func (l *incarnations) wall() int64 { return l.now + l.wrong }

func (l *incarnations) restart() {
	var rows []*msg.Snapshot
	next := uint64(1)
	if l.registry != nil {
		next = l.registry.nextNumber
	}
	for _, p := range l.rows {
		rows = append(rows, &p)
	}
	for i := range l.snapshots {
		p := &l.snapshots[i]
		p.doubtful = p.doubtful || p.own && !isNear(l.registry.day.at(l.now-l.base), l.now)
		p.own = false
	}
	l.base = l.now - 5
	opt := Options{History: time.Duration(testHistory), Doubt: time.Duration(testSettleTime)}
	l.registry = New(opt, rows, next, 5, l.wall())
}

func (l *incarnations) second(t *rapid.T) {
	l.now += second
	if l.now >= l.right {
		l.wrong = 0
	}
	now := l.now - l.base
	for _, p := range l.registry.Observe(now, l.wall(), false) {
		l.rows[p.Number] = *p
	}
	csn := kv.CSN(l.now / second)
	q := request(now, csn)
	q.Origin.Time = l.now
	p := retainedAt{fixed: l.now, own: true}
	if rapid.IntRange(0, 5).Draw(t, "named") == 0 {
		q.TTL = time.Duration(rapid.Int64Range(1, 200).Draw(t, "ttl") * second)
		q.Name, p.named, p.endsAt = fmt.Sprint(csn), true, l.now+int64(q.TTL)
	}
	made, _, err := l.registry.Retain(now, q, func() uint64 { return l.registry.nextNumber })
	require.Nil(t, err)
	p.number, l.rows[made.Number] = made.Number, *made
	l.snapshots = append(l.snapshots, p)
	for _, n := range l.registry.Expire(now) {
		delete(l.rows, n)
	}
	require.NoError(t, l.registry.Check())
}

// check checks that no snapshot has expired early, that those of this incarnation expire in time, and that a
// read as of a time gets the state of that time.
func (l *incarnations) check(t *rapid.T) {
	next, inherited := int64(-1), 0
	for i := len(l.snapshots) - 1; i >= 0; i-- {
		p := &l.snapshots[i]
		_, has := l.registry.indexOf(p.number)
		endsAt := p.endsAt
		if !p.named {
			endsAt = next + testHistory
		}
		switch {
		case !p.named && next < 0:
			require.True(t, has, "the newest state")
		case !has && !p.doubtful:
			require.LessOrEqual(t, endsAt, l.now+2*maxCorrection, "%+v has expired early", p)
		case has && p.own:
			require.Greater(t, endsAt, l.now, "%+v has not expired", p)
		}
		if !p.named {
			next = p.fixed
			if has && !p.own {
				inherited++
			}
		}
	}
	if l.registry.day.isSure() {
		require.LessOrEqual(t, inherited, 1)
		l.checkAsOf(t)
	}
}

// checkAsOf is called when the time of day is certain.
func (l *incarnations) checkAsOf(t *rapid.T) {
	at := l.now - rapid.Int64Range(0, 29).Draw(t, "ago")*second
	got, err := l.registry.AsOf(l.now-l.base, at)
	require.Nil(t, err)
	for _, p := range l.snapshots {
		if !p.named && p.fixed <= at-maxCorrection {
			require.GreaterOrEqual(t, got.Number, p.number)
		}
		if p.number == got.Number {
			require.LessOrEqual(t, p.fixed, at+maxCorrection)
		}
	}
}

func TestSnapshotsExpireOnTimeWhenTimeOfDayJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &incarnations{now: noon, rows: map[uint64]msg.Snapshot{}}
		l.restart()
		for range rapid.IntRange(1, 12).Draw(t, "times") {
			switch rapid.SampledFrom([]string{"jump", "restart", "wait", "wait"}).Draw(t, "what") {
			case "jump":
				if l.wrong != 0 {
					continue // it would be wrong for too long
				}
				steps := []int64{-3650 * day, -day, -minute, -5 * second, 5 * second, minute, day, 3650 * day}
				l.wrong = rapid.SampledFrom(steps).Draw(t, "by")
				l.right = l.now + rapid.Int64Range(1, 50).Draw(t, "for")*second
			case "restart":
				l.restart()
			}
			for range rapid.IntRange(1, 80).Draw(t, "seconds") {
				l.second(t)
				l.check(t)
			}
		}
	})
}
