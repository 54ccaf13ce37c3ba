package shard_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// leaders are the machines of the leaders of one shard, one after the other. Their log is committed at once.
type leaders struct {
	*steps
	// lease is how long the lease of the leader lasts from each step on.
	lease time.Duration
}

// newLeaders returns a shard with its first leader.
func newLeaders(t *testing.T, mutants mutant.Set) *leaders {
	return newLeadersWith(t, func(c *shard.Config) { c.Lease, c.Mutants = 2*time.Second, mutants })
}

func newLeadersWith(t *testing.T, set func(*shard.Config)) *leaders {
	f := &leaders{steps: newStepsWith(t, 1, set), lease: 600 * time.Millisecond}
	f.change(0)
	return f
}

func (f *leaders) machine() *shard.Machine { return f.shards[0].M }

// change has the next leader begin, which waits for readers until a time.
func (f *leaders) change(wait time.Duration) {
	csn := f.machine().CSN()
	f.restartWith(0, func(rec *shard.Recovered) { rec.Replica = &shard.Replica{Wait: int64(wait), CSN: csn} })
	f.at(time.Duration(f.now))
}

// at executes a step at a time. The leader has renewed its lease.
func (f *leaders) at(now time.Duration) {
	f.now, f.shards[0].LeaseEnd = int64(now), int64(now+f.lease)
	f.step(0)
}

// read has a reader register for a key.
func (f *leaders) read(n int64, key string) *msg.ReadResponse {
	e := msg.ToShard(0)
	e.Body = &msg.Read{Reader: nthTxn(n), Gateway: 1, Number: 1, Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte(key)}},
		LeaseNanos: int64(2 * time.Second)}
	f.send(e)
	r := msg.As[msg.ReadResponse](f.out[len(f.out)-1])
	require.NotNil(f.t, r)
	return r
}

// put sends a transaction of this shard alone that writes a key, and reports whether it has committed.
func (f *leaders) put(n int64, key string) bool {
	sent := len(f.out)
	e := commitMsg(nthTxn(n), kv.CommitID{Gateway: 1, Number: uint64(n)}, 0, nil,
		msg.Piece{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v")}}})
	msg.As[msg.CommitRequest](e).Piece.Incarnation = f.machine().Incarnation()
	f.send(e)
	return len(f.out) > sent && f.answer().Committed
}

func TestLeaderStartsAtItsCSN(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	for n := range int64(3) {
		require.True(t, f.put(n+1, "k"))
		before := f.machine().CSN()
		require.EqualValues(t, n+1, before, "no CSN is skipped")
		f.change(0)
		require.Equal(t, before, f.machine().CSN())
	}
}

func TestLeaderWaitsForReadersOnlyAsStated(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	f.read(1, "k")
	f.change(0)
	require.True(t, f.put(2, "k"), "the lease of the leader before has ended, and so has the registration")
	f.change(time.Second)
	require.False(t, f.put(3, "k"), "the window of a transfer")
	f.at(time.Second)
	require.True(t, f.answer().Committed)
}

// registrationOutlivesLeader reports whether a reader is registered when the lease of its leader has ended, and for how
// long the responses say so.
func registrationOutlivesLeader(f *leaders) (outlives bool, read, renewed time.Duration) {
	read = time.Duration(f.read(1, "k").LeaseNanos)
	f.at(400 * time.Millisecond)
	e := msg.ToShard(0)
	e.Body = &msg.RenewLease{Reader: nthTxn(1), Gateway: 1, Number: 2, Incarnation: f.machine().Incarnation(),
		LeaseNanos: int64(2 * time.Second)}
	f.send(e)
	renewed = time.Duration(msg.As[msg.RenewLeaseResponse](f.out[len(f.out)-1]).LeaseNanos)
	f.now = int64(time.Second)
	return !f.put(2, "k"), read, renewed
}

func TestRegistrationEndsWithTheLeaderLease(t *testing.T) {
	outlives, read, renewed := registrationOutlivesLeader(newLeaders(t, mutant.Set{}))
	require.False(t, outlives)
	require.Equal(t, 600*time.Millisecond, read)
	require.Equal(t, 600*time.Millisecond, renewed)

	f := newLeaders(t, mutant.Set{})
	f.lease = 3 * time.Second
	f.at(time.Second)
	require.Zero(t, f.read(1, "k").LeaseNanos, "as requested")
	f.shards[0].LeaseEnd = f.now
	require.EqualValues(t, 1, f.read(2, "k").LeaseNanos, "0 would be as requested")
}

// decide sends the decision to commit a transaction, and returns how many acknowledgements there are.
func (f *leaders) decide(txn kv.TxnRef) (acks int) {
	e := msg.ToShard(0)
	e.Body = &msg.Decision{Txn: txn, CommitID: firstCommit, Last: 9, Commit: true}
	f.hold = msg.Is[msg.DecisionAck]
	f.held = nil
	f.send(e)
	for _, e := range f.held {
		require.Equal(f.t, &msg.DecisionAck{Txn: txn, CommitID: firstCommit, Shard: 0}, msg.As[msg.DecisionAck](e))
	}
	return len(f.held)
}

func (f *leaders) prepare(txn kv.TxnRef) {
	e := prepareMsg(txn, firstCommit, 0, 9, msg.Piece{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("k")}}})
	msg.As[msg.Prepare](e).Piece.Incarnation = f.machine().Incarnation()
	f.send(e)
}

// TestOnlyAppliedCommitsAreAcknowledged: a leader that is deposed receives the decision about what its successor has
// prepared. What was applied is acknowledged again, by the next leader as well.
func TestOnlyAppliedCommitsAreAcknowledged(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	f.at(time.Hour)
	txn := kv.TxnRef{TxnID: kv.TxnID{Time: f.now, Rand: 1}, Attempt: 1}
	require.Zero(t, f.decide(txn), "it was never prepared here")
	f.prepare(txn)
	require.Equal(t, 1, f.decide(txn))
	require.Equal(t, 1, f.decide(txn), "from memory")
	f.change(0)
	require.Equal(t, 1, f.decide(txn), "from the log")
	txn.Attempt++
	require.Zero(t, f.decide(txn), "another attempt")
	txn = kv.TxnRef{TxnID: kv.TxnID{Time: f.now + 1, Rand: 2}, Attempt: 1}
	require.Zero(t, f.decide(txn), "the log does not have it")

	for range 60 {
		f.at(time.Duration(f.now) + 30*time.Second)
		require.True(t, f.put(f.now, "k"))
	}
	require.Equal(t, 1, f.decide(txn), "outcomes of that time are deleted")
}

// lookupsOfNewLeader returns how many new ids the next leader looks up in the log, after a transfer or a crash.
func lookupsOfNewLeader(f *leaders, transfers bool) (lookups int) {
	require.True(f.t, f.put(int64(time.Minute), "k"))
	f.read(1, "k")
	if transfers {
		rows := []entry.Group{{Entries: f.machine().TransferEntries()}}
		_, err := f.shards[0].Store.Append(rows)
		require.NoError(f.t, err)
	}
	f.change(0)
	f.shards[0].OnOutput = func(out *shard.Output) {
		for _, r := range out.Reads {
			if r.Table == entry.TableOutcome {
				lookups++
			}
		}
	}
	for n := range int64(10) {
		require.True(f.t, f.put(int64(time.Minute)+1+n, "k"))
	}
	return lookups
}

func TestTransferCutsOffTheReserveOfIDs(t *testing.T) {
	require.Zero(t, lookupsOfNewLeader(newLeaders(t, mutant.Set{}), true))
	require.Equal(t, 10, lookupsOfNewLeader(newLeaders(t, mutant.Set{}), false), "after a crash")
}

// tryLock requests a lock of a key, and reports whether it is granted at once.
func (f *leaders) tryLock(n int64, key string) bool {
	sent := len(f.out)
	e := msg.ToShard(0)
	e.Body = &msg.Lock{Txn: nthTxn(n), Gateway: 1, Number: 1, Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(key)}}}
	f.send(e)
	return len(f.out) > sent && msg.Is[msg.LockResponse](f.out[len(f.out)-1])
}

func (f *leaders) release(n int64) {
	e := msg.ToShard(0)
	e.Body = &msg.Release{Txn: nthTxn(n)}
	f.send(e)
}

// holdersBeforeTransfer has a holder and a waiter of a lock when a transfer is due, and a later request. It reports
// whether there are holders after the first one has ended.
func holdersBeforeTransfer(f *leaders) bool {
	require.True(f.t, f.tryLock(1, "k"))
	require.False(f.t, f.tryLock(2, "k"))
	f.shards[0].Transferring = true
	f.at(time.Millisecond)
	require.True(f.t, f.machine().HasLockHolders())
	require.True(f.t, f.tryLock(1, "k"), "the response is repeated")
	f.tryLock(2, "k")
	f.tryLock(3, "m")
	require.True(f.t, f.put(4, "n"), "one-shots go on")
	require.NotNil(f.t, f.read(5, "n"), "and so do readers")
	f.release(1)
	return f.machine().HasLockHolders()
}

// readersBeforeTransfer has an open reader when readers are withheld, and requests of others later. It reports whether
// there are open readers after the first one has ended.
func readersBeforeTransfer(f *leaders) bool {
	f.read(1, "k")
	f.shards[0].ReadersWithheld = true
	f.at(time.Millisecond)
	require.True(f.t, f.machine().HasOpenReaders())
	f.read(1, "k") // the response is repeated
	require.True(f.t, f.put(4, "n"), "updates go on")
	e := msg.ToShard(0)
	e.Body = &msg.Read{Reader: nthTxn(2), Gateway: 1, Number: 1, LeaseNanos: int64(time.Second),
		Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("m")}}}
	f.send(e)
	sent := len(f.out)
	e = msg.ToShard(0)
	e.Body = &msg.Read{Reader: nthTxn(3), Gateway: 1, Number: 1, LeaseNanos: int64(time.Second),
		RetainNanos: int64(time.Second)}
	f.send(e)
	require.Greater(f.t, len(f.out), sent, "and so do rounds")
	e = msg.ToShard(0)
	e.Body = &msg.Deregister{Reader: nthTxn(1)}
	f.send(e)
	return f.machine().HasOpenReaders()
}

func TestNoReadersRegisterBeforeATransfer(t *testing.T) {
	require.False(t, readersBeforeTransfer(newLeaders(t, mutant.Set{})))
}

func TestNoLocksAreGrantedBeforeATransfer(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	require.False(t, holdersBeforeTransfer(f))
	f.at(time.Second)
	require.False(t, f.machine().HasLockHolders())
	f.shards[0].Transferring = false
	f.change(0)
	require.True(t, f.tryLock(2, "k"))
	require.True(t, f.tryLock(3, "m"))
	require.True(t, f.machine().HasLockHolders())
	f.prepare(nthTxn(2))
	f.release(3)
	require.False(t, f.machine().HasLockHolders(), "locks of what is prepared are in the log")
}

// voteOfLater sends a vote that names the next incarnation of the shard, and returns the output of the step.
func voteOfLater(f *leaders) (last shard.Output) {
	f.shards[0].OnOutput = func(out *shard.Output) { last = *out }
	e := msg.ToShard(0)
	e.Body = &msg.Vote{Txn: nthTxn(1), CommitID: firstCommit, Shard: 5, LastIncarnation: f.machine().Incarnation() + 1,
		Yes: true, Repeated: true}
	f.step(0, e)
	return last
}

func TestDeposedLeaderIsSilent(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	require.Equal(t, shard.Output{Deposed: f.machine().Incarnation() + 1, Next: math.MaxInt64}, voteOfLater(f))
}

// TestUrgentMessagesAreListed: the comment of package step lists each kind of message that overtakes the log in a
// script, with the reason why a deposed leader may send it.
func TestUrgentMessagesAreListed(t *testing.T) {
	code, err := os.ReadFile("step/env.go")
	require.NoError(t, err)
	comment, _, _ := strings.Cut(string(code), "\npackage step")
	scripts, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	sent := map[string]bool{}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^ *now +to [^:]*: (\w+)`).FindAllSubmatch(text, -1) {
			sent[string(m[1])] = true
		}
	}
	require.Greater(t, len(sent), 7)
	for _, row := range msg.Rows() {
		listed := regexp.MustCompile(`(?m)^//\t(\w+, )?` + row.Name + `\b`).MatchString(comment)
		require.Equal(t, sent[row.Name] || row.Name == "WaitReport", listed, row.Name)
	}
}

// deletesOutcomes reports whether a shard whose leader changes every five minutes deletes outcomes after half an hour.
func deletesOutcomes(f *leaders) bool {
	began := time.Hour
	f.at(began)
	require.True(f.t, f.put(int64(began), "k"))
	for range 6 {
		csn, steady := f.machine().CSN(), f.now-int64(began)
		f.restartWith(0, func(rec *shard.Recovered) { rec.Replica = &shard.Replica{CSN: csn, SteadyNanos: steady} })
		for range 5 {
			f.at(time.Duration(f.now) + time.Minute)
			require.True(f.t, f.put(f.now, "k"))
		}
	}
	return !f.put(int64(began)+1, "k")
}

func TestNewLeaderBelievesTheClockOfItsNode(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	require.True(t, deletesOutcomes(f))
	require.Equal(t, msg.ReasonTooOld, f.answer().Failure.Reason)
}

// TestRenewalOfAnotherReadingIsRefused: a late copy of a request has registered the reader again, after its
// registration had expired and updates were decided.
func TestRenewalOfAnotherReadingIsRefused(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	renews := func(reading uint64) bool {
		e := msg.ToShard(0)
		e.Body = &msg.RenewLease{Reader: nthTxn(1), Gateway: 1, Number: 2, Incarnation: f.machine().Incarnation(),
			LeaseNanos: int64(100 * time.Millisecond), Reading: reading}
		f.send(e)
		return msg.As[msg.RenewLeaseResponse](f.out[len(f.out)-1]).Ok
	}
	first := f.read(1, "k").Reading.Number
	require.True(t, renews(0))
	require.True(t, renews(first))
	require.False(t, renews(first+1))
	f.at(2 * time.Second)
	require.False(t, renews(first), "it has expired")
	second := f.read(1, "k").Reading.Number
	require.NotEqual(t, first, second)
	require.False(t, renews(first))
	require.True(t, renews(second))
}
