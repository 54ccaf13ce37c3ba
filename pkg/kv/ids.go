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

// ShardID names a shard, from 0 to the number of shards less one. The hot
// shard has the highest number of all.
type ShardID uint16

func (s ShardID) String() string { return "s" + strconv.Itoa(int(s)) }

// NodeID names a member of the cluster: its place in the sorted list of first
// members, from 1. Zero is no node.
type NodeID uint16

func (n NodeID) String() string { return "n" + strconv.Itoa(int(n)) }

// Incarnation counts the lives of a shard, from 1. Zero means "not known".
type Incarnation uint64

// Known is what a gateway knew of a last agent when it sent a commit there. The last agent
// tells by it a commit that it may have aborted and forgotten (docs/decisions/0004).
type Known struct {
	Incarnation Incarnation
	// Aborts is how many commits the shard had aborted in that incarnation, as far
	// as was known.
	Aborts uint64
}

func (k Known) String() string { return fmt.Sprintf("%d+%d", k.Incarnation, k.Aborts) }

// CommitID names one commit: one request of one gateway to commit one attempt. Each message
// about the commit carries it, and counts for no other commit. Two commits of one attempt
// exist if a client sends its id to two gateways, or again after a gateway has restarted.
type CommitID struct {
	// Number counts the commits of the gateway in its incarnation, from 1.
	Number uint64
	// Incarnation counts the starts of the gateway's node, from 1. It is durable before the
	// gateway sends anything.
	Incarnation uint32
	// Gateway is the node that is sent the result.
	Gateway NodeID
}

func (c CommitID) String() string {
	return fmt.Sprintf("%v.%d.%d", c.Gateway, c.Incarnation, c.Number)
}

// Account stands for a user where shards count what each of them uses. Zero is for what
// the store does by itself.
type Account uint16

// AccountOf is the account of a user's name. Two users have the same one with a probability of
// one in 65,536, and then count as one.
func AccountOf(name string) Account {
	h := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return max(Account(h^h>>16), 1)
}

// Index counts the transactions that have become visible on a shard, from 1.
// Zero is the empty shard.
type Index uint64

// Epoch is one sealing of a prepared participant: a certify lock against
// readers. Epochs of one shard are ordered by incarnation first, so that an
// epoch of an earlier life is never mistaken for a current one.
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

// IsZero reports whether e names no sealing at all.
func (e Epoch) IsZero() bool { return e == Epoch{} }

func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Incarnation, e.Count) }

// TxnID names a transaction over all its attempts. It is made by the client:
// the time of its first start and random bits. Nothing depends on the client's
// clock being right: transactions are ordered by Age.
type TxnID struct {
	// Time is when the transaction first started, in nanoseconds since 1970
	// by its maker's clock.
	Time int64
	// Rand tells apart what started in the same nanosecond.
	Rand uint64
}

// IsZero reports whether id names no transaction.
func (id TxnID) IsZero() bool { return id == TxnID{} }

// Mask gives an id that stands for this one where its transaction's may not be told, once
// its random part has been replaced. Its time is that of no transaction.
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

// String gives 32 hexadecimal digits, the form ParseTxnID reads.
func (id TxnID) String() string {
	var b [txnIDSize]byte
	id.put(b[:])
	return hex.EncodeToString(b[:])
}

// ParseTxnID reads what String wrote.
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

// CompareAge orders attempts by the time in the id, then the random bits; of
// one id the later attempt comes first.
func (r TxnRef) CompareAge(o TxnRef) int {
	if c := r.TxnID.Compare(o.TxnID); c != 0 {
		return c
	}
	return cmp.Compare(o.Attempt, r.Attempt)
}

func (r TxnRef) String() string { return r.TxnID.String() + "/" + strconv.Itoa(int(r.Attempt)) }

// Age is the place of an attempt in the order of wound-wait. It is fixed for the
// attempt, unique, and the same on all shards.
type Age struct {
	// Begun is when the transaction counts as begun, in nanoseconds since 1970. The
	// gateway decides it: the time in the id is the client's word.
	Begun int64
	TxnRef
}

// AgeOf is the age of an attempt that counts as begun at a time; 0 is the time in its id.
func AgeOf(r TxnRef, begun int64) Age {
	if begun == 0 {
		begun = r.Time
	}
	return Age{Begun: begun, TxnRef: r}
}

// Older reports whether a goes before o in wound-wait: the one that began earlier, and of
// two attempts of one id the later, which would else wait for the locks of the earlier one
// for ever (protocol, section 1).
func (a Age) Older(o Age) bool { return a.Compare(o) < 0 }

// Compare is the order behind Older.
func (a Age) Compare(o Age) int {
	if c := cmp.Compare(a.Begun, o.Begun); c != 0 {
		return c
	}
	return a.TxnRef.CompareAge(o.TxnRef)
}

// Version names one write of one key, wherever the key has been moved since:
// equal means the same write, and of two versions of one key the greater is
// the newer. The zero Version is that of a key which was never written.
type Version struct {
	// Moves is no less than the number of the key's moves between shards before the
	// write.
	Moves uint32
	// Shard is where the write was made.
	Shard ShardID
	// Write is the write's number among all writes of that shard, from 1.
	// It is given when the write is executed, which for a participant is
	// before its index is known; docs/decisions/0002 says why.
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

// String gives moves.shard.write, the form ParseVersion reads.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Moves, uint16(v.Shard), v.Write) }

// ParseVersion reads what String wrote.
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
