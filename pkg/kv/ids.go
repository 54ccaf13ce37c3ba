package kv

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ShardID names a shard, from 0. The hot shard has the highest number.
type ShardID uint16

func (s ShardID) String() string { return "s" + strconv.Itoa(int(s)) }

// NodeID names a member of the cluster: its position in the sorted list of first members, from 1.
// Zero is no node.
type NodeID uint16

func (n NodeID) String() string { return "n" + strconv.Itoa(int(n)) }

// Incarnation is the number of a shard's current run, from 1. Zero means unknown.
type Incarnation uint64

// KnownState is what a gateway knew about a last agent when it sent a commit request. The last agent
// uses it to detect a commit that it may have aborted and discarded (docs/decisions/0004).
type KnownState struct {
	Incarnation Incarnation
	// Aborts is the number of commits that the shard had aborted in that incarnation, as far as
	// known.
	Aborts uint64
}

// Newest returns the newer one of two states: that of the later incarnation, or of the same one with more aborts.
func (k KnownState) Newest(o KnownState) KnownState {
	if k.Incarnation < o.Incarnation || k.Incarnation == o.Incarnation && k.Aborts < o.Aborts {
		return o
	}
	return k
}

func (k KnownState) String() string { return fmt.Sprintf("%d+%d", k.Incarnation, k.Aborts) }

// CommitID names one commit: one request of one gateway to commit one attempt. Each message about
// the commit carries it, and is valid for no other commit. Two commits of one attempt exist if a
// client sends its id to two gateways, or again after a gateway has restarted.
type CommitID struct {
	// Number counts the commits of the gateway in its incarnation, from 1.
	Number uint64
	// Incarnation counts the starts of the gateway's node, from 1. It is durable before the gateway
	// sends anything.
	Incarnation uint32
	// Gateway is the node that receives the result.
	Gateway NodeID
}

func (c CommitID) String() string {
	return fmt.Sprintf("%v.%d.%d", c.Gateway, c.Incarnation, c.Number)
}

// Account stands for a user where shards account for the usage of each user. Zero stands for the
// store itself.
type Account uint16

// AccountOf returns the account of a user's name. Two users share an account with a probability of
// 1/65,536; then their usage is added.
func AccountOf(name string) Account {
	h := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return max(Account(h^h>>16), 1)
}

// CSN is a commit sequence number (CSN): it counts the transactions that became visible on a
// shard, from 1. Zero is the empty shard.
type CSN uint64

// Epoch is one sealing of a prepared update, a certify lock against readers. Epochs of a shard are
// ordered by incarnation first, so an epoch of an earlier incarnation is never equal to a current
// one.
type Epoch struct {
	Incarnation Incarnation
	Count       uint64
}

// Less reports whether e is an older sealing than o.
func (e Epoch) Less(o Epoch) bool {
	if e.Incarnation != o.Incarnation {
		return e.Incarnation < o.Incarnation
	}
	return e.Count < o.Count
}

// IsZero reports whether e names no sealing.
func (e Epoch) IsZero() bool { return e == Epoch{} }

func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Incarnation, e.Count) }

// TxnID names a transaction with all its attempts. The client makes it. Nothing relies on the
// client's clock: transactions are ordered by Age.
type TxnID struct {
	// Time is when the transaction first started, in nanoseconds since 1970, by the clock of the
	// client.
	Time int64
	// Rand distinguishes transactions that started in the same nanosecond.
	Rand uint64
}

// IsZero reports whether id names no transaction.
func (id TxnID) IsZero() bool { return id == TxnID{} }

// Mask returns an id that stands for this one where the caller may not see the transaction; rand
// replaces the random part. Its time is that of no transaction.
func (id TxnID) Mask(rand uint64) TxnID { return TxnID{Time: id.Time | math.MinInt64, Rand: rand} }

// Masked reports whether an id only stands for another one.
func (id TxnID) Masked() bool { return id.Time < 0 }

// Affinity is the same for a transaction and for the names under which its
// gateway reads for it.
func (id TxnID) Affinity() uint64 { return uint64(id.Time) ^ id.Rand }

// Compare orders ids by age: negative when id is older than o.
func (id TxnID) Compare(o TxnID) int {
	if c := cmp.Compare(id.Time, o.Time); c != 0 {
		return c
	}
	return cmp.Compare(id.Rand, o.Rand)
}

// String returns 32 hexadecimal digits, which ParseTxnID parses.
func (id TxnID) String() string {
	var b [txnIDSize]byte
	id.put(b[:])
	return hex.EncodeToString(b[:])
}

// ParseTxnID parses the result of String.
func ParseTxnID(s string) (TxnID, error) {
	var id TxnID
	b, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil || len(b) != txnIDSize {
		return id, fmt.Errorf("kv: %q is not a transaction id: want %d hexadecimal digits", s, 2*txnIDSize)
	}
	id.get(b)
	return id, nil
}

// TxnRef names one attempt of a transaction.
type TxnRef struct {
	TxnID
	// Attempt counts from 1.
	Attempt uint32
}

// CompareAge orders attempts by the time in the id, then the random bits; of one id, the later
// attempt is first.
func (r TxnRef) CompareAge(o TxnRef) int {
	if c := r.TxnID.Compare(o.TxnID); c != 0 {
		return c
	}
	return cmp.Compare(o.Attempt, r.Attempt)
}

func (r TxnRef) String() string { return r.TxnID.String() + "/" + strconv.Itoa(int(r.Attempt)) }

// Age is the position of an attempt in the order of wound-wait. It is fixed for the attempt,
// unique, and the same on all shards.
type Age struct {
	// Begun is the begin time in nanoseconds since 1970. The gateway sets it: the time in the id is
	// set by the client.
	Begun int64
	TxnRef
}

// AgeOf returns the age of an attempt with a begin time; 0 stands for the time in its id.
func AgeOf(r TxnRef, begun int64) Age {
	if begun == 0 {
		begun = r.Time
	}
	return Age{Begun: begun, TxnRef: r}
}

// Older reports whether a precedes o in wound-wait: it began earlier or, of one id, is the later
// attempt. The client has abandoned the earlier attempt, and the later one would otherwise wait for
// its locks (protocol, section 1).
func (a Age) Older(o Age) bool { return a.Compare(o) < 0 }

// Compare is the order of Older.
func (a Age) Compare(o Age) int {
	if c := cmp.Compare(a.Begun, o.Begun); c != 0 {
		return c
	}
	return a.TxnRef.CompareAge(o.TxnRef)
}

// Version names one write of one key, also after the key has moved: equal versions are the same
// write, and the greater of two versions of one key is newer. The zero Version is that of a key
// which was never written.
type Version struct {
	// Moves is at least the number of the key's moves between shards before the write.
	Moves uint32
	// Shard is the shard of the write.
	Shard ShardID
	// Write is the number of the write on that shard, from 1. It is assigned when the write is
	// executed, which on a participant is before its CSN is known (docs/decisions/0002).
	Write uint64
}

// IsZero reports whether v names no write.
func (v Version) IsZero() bool { return v == Version{} }

// Compare orders the versions of one key: by moves, then by write number.
func (v Version) Compare(o Version) int {
	if c := cmp.Compare(v.Moves, o.Moves); c != 0 {
		return c
	}
	return cmp.Compare(v.Write, o.Write)
}

// String returns moves.shard.write, which ParseVersion parses.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Moves, uint16(v.Shard), v.Write) }

// ParseVersion parses the result of String.
func ParseVersion(s string) (Version, error) {
	var v Version
	parts := strings.Split(s, ".")
	if len(parts) == 3 {
		m, err1 := strconv.ParseUint(parts[0], 10, 32)
		sh, err2 := strconv.ParseUint(parts[1], 10, 16)
		i, err3 := strconv.ParseUint(parts[2], 10, 64)
		if err1 == nil && err2 == nil && err3 == nil {
			return Version{Moves: uint32(m), Shard: ShardID(sh), Write: i}, nil
		}
	}
	return v, fmt.Errorf("kv: %q is not a version: want MOVES.SHARD.WRITE, as in 0.3.1742", s)
}

const (
	txnIDSize   = 16
	txnRefSize  = 20
	versionSize = 14
	epochSize   = 16
)

func (id TxnID) put(b []byte) {
	binary.BigEndian.PutUint64(b, uint64(id.Time))
	binary.BigEndian.PutUint64(b[8:], id.Rand)
}

func (id *TxnID) get(b []byte) {
	id.Time = int64(binary.BigEndian.Uint64(b))
	id.Rand = binary.BigEndian.Uint64(b[8:])
}
