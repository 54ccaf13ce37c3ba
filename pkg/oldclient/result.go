package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Type is what a key holds.
type Type uint8

const (
	// TypeRegister holds bytes, set by Put.
	TypeRegister = Type(pb.DataType_VALUE)
	// TypeCounter holds an int64, changed by Add and AddGet.
	TypeCounter = Type(pb.DataType_COUNTER)
	// TypeSet and the following have handles: see Set and the others.
	TypeSet            = Type(pb.DataType_SET)
	TypeDict           = Type(pb.DataType_MAP)
	TypeScoredSet      = Type(pb.DataType_SORTED_SET)
	TypeTopK           = Type(pb.DataType_TOP_K)
	TypeBag            = Type(pb.DataType_SUMMARY)
	TypeBoundedCounter = Type(pb.DataType_BOUNDED_COUNTER)
	TypeIDs            = Type(pb.DataType_IDS)
	TypeList           = Type(pb.DataType_LIST)
)

// String is the type's name. Of types of users' own, the server tells it:
// Result.TypeName.
func (t Type) String() string {
	if name, known := pb.DataType_name[int32(t)]; known {
		return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Outcome is what a committed transaction returned.
type Outcome struct {
	ID kv.TxnID
	// Attempts is how often the transaction was tried, 1 if it went through
	// at once.
	Attempts int
	// Aborts are the reasons, one word each, for which the node gave up the
	// attempts before the last.
	Aborts []string
	// Results has one element per operation, in order.
	Results []Result
	// Receipt tells where the transaction waited longest, and which attempts were
	// given up; zero if it went through at once.
	Receipt Receipt
	// Token is the state of the store that the transaction saw or made (After).
	Token []byte
	// Plan is how a read-only transaction read; PLAN_ANY if it took locks.
	Plan pb.ReadPlan
	// Snapshot is the state that was read, if it is one of the past.
	Snapshot *Snapshot
	// ResultsLost: it committed, but its answer was lost and the store does
	// not keep results of that size; Results is nil.
	ResultsLost bool
}

// Result is what one operation returned.
type Result struct {
	// Found says whether the key exists (reads) or existed (deletes).
	Found bool
	Type  Type
	// Value is what a register holds: empty if it holds no bytes, and nil if there is no
	// value.
	Value []byte
	// Number is what a counter holds.
	Number int64
	// Version names the write that was read or made.
	Version kv.Version
	// Pairs are those of a scan, and Resume is where to go on if the scan
	// met its limit; nil when it came to its end.
	Pairs  []Pair
	Resume []byte
	// Count is how many keys a DeleteRange removed.
	Count uint64
	// Answer is what a method of a data type returned (Call).
	Answer []Datum
	// TypeName is the name of Type.
	TypeName string
	// TTL, of a Get or Dump, is how long the key had to live when it was read; 0 if
	// it does not expire, or if that time was over (Expires tells).
	TTL time.Duration
	// Operation, of DB.Outcome, names what this is the result of: "put", "set.contains".
	// It is empty for what an older version of the store committed.
	Operation string
	expires   int64
}

// Expires is when the key that was read expires, by the clock of its shard; ok is
// false if it does not.
func (r *Result) Expires() (at time.Time, ok bool) { return expiresAt(r.expires) }

func expiresAt(ms int64) (time.Time, bool) {
	if ms == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// Pair is a key with what it holds.
type Pair struct {
	Key     []byte
	Type    Type
	Value   []byte
	Number  int64
	Version kv.Version
	// TypeName is the name of Type.
	TypeName string
	expires  int64
}

// Expires is as of Result.
func (p *Pair) Expires() (at time.Time, ok bool) { return expiresAt(p.expires) }

// Value is what a key holds, or the knowledge that it does not exist.
type Value struct {
	Found bool
	Type  Type
	// Value is as in Result.
	Value []byte
	// Number is what a counter holds.
	Number int64
	// Version names the write that was read; CompareVersionAndSet takes it.
	Version kv.Version
	// TypeName is the name of Type.
	TypeName string
	// TTL is as in Result.
	TTL     time.Duration
	expires int64
}

// Expires is as of Result.
func (v *Value) Expires() (at time.Time, ok bool) { return expiresAt(v.expires) }

func (r *Result) from(p *pb.Result) {
	r.Found, r.Type, r.Number = p.Found, Type(p.Type), p.Number
	r.Value = present(p.Found, p.Type, p.Value)
	r.Version, r.Resume, r.Count = p.Version, p.Resume, p.Count
	r.TypeName = typeName(p.Type, p.TypeName)
	r.TTL, r.expires = time.Duration(p.TtlMs)*time.Millisecond, p.ExpiresAtMs
	if len(p.Data) > 0 {
		r.Answer = make([]Datum, len(p.Data))
		for i := range p.Data {
			r.Answer[i] = Datum{p.Data[i].Inside()}
		}
	}
	if len(p.Entries) > 0 {
		r.Pairs = make([]Pair, len(p.Entries))
		for i := range p.Entries {
			r.Pairs[i] = pairOf(&p.Entries[i])
		}
	}
}

// present gives a value as it was read. An empty value is not on the wire. It is not nil,
// so that nil means that there is none.
func present(found bool, t pb.DataType, value []byte) []byte {
	if value == nil && found && t == pb.DataType_VALUE {
		return []byte{}
	}
	return value
}

func typeName(t pb.DataType, told string) string {
	switch {
	case told != "":
		return told
	case t == pb.DataType_VALUE:
		return "value"
	case t == pb.DataType_COUNTER:
		return "counter"
	}
	return Type(t).String()
}

// describe says in words what a key holds.
func (r *Result) describe() string {
	const shown = 64
	switch {
	case !r.Found:
		return "the key does not exist"
	case r.Type == TypeCounter:
		return fmt.Sprintf("the key holds the counter %d, version %v", r.Number, r.Version)
	case r.Type != TypeRegister:
		return fmt.Sprintf("the key holds a %s, version %v", r.TypeName, r.Version)
	case len(r.Value) > shown:
		return fmt.Sprintf("the key holds %d bytes that begin with %q, version %v", len(r.Value), r.Value[:shown], r.Version)
	}
	return fmt.Sprintf("the key holds %q, version %v", r.Value, r.Version)
}

func (r *Result) value() Value {
	return Value{Found: r.Found, Type: r.Type, Value: r.Value, Number: r.Number, Version: r.Version, TypeName: r.TypeName,
		TTL: r.TTL, expires: r.expires}
}

func pairOf(p *pb.Entry) Pair {
	return Pair{Key: p.Key, Type: Type(p.Type), Value: present(true, p.Type, p.Value), Number: p.Number, Version: p.Version,
		TypeName: typeName(p.Type, p.TypeName), expires: p.ExpiresAtMs}
}

func resultsOf(ps []pb.Result) []Result {
	if len(ps) == 0 {
		return nil
	}
	rs := make([]Result, len(ps))
	for i := range ps {
		rs[i].from(&ps[i])
	}
	return rs
}

// outcomeOf converts an answer. A single result, which most transactions
// have, shares its allocation with the outcome.
func outcomeOf(r *pb.ExecuteResponse) *Outcome {
	var out *Outcome
	if len(r.Results) == 1 {
		both := new(struct {
			out Outcome
			one [1]Result
		})
		both.one[0].from(&r.Results[0])
		out, both.out.Results = &both.out, both.one[:]
	} else {
		out = &Outcome{Results: resultsOf(r.Results)}
	}
	out.ID, out.Attempts, out.Token, out.ResultsLost = r.TxnId, int(r.Attempts), r.CausalityToken, r.ResultsLost
	out.Plan, out.Snapshot = r.Plan, snapshotOf(r.Snapshot)
	out.Receipt, out.Aborts = receiptOf(r.Receipt), r.AbortReasons
	return out
}
