package msg

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Kind is a kind of message: the number of its field in Envelope (msg.proto).
type Kind uint8

// Body is the message that an [Envelope] carries. All types of this package that have a Kind
// implement it.
type Body interface {
	Kind() Kind
	String() string
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
	Unmarshal([]byte) error
}

// About is what a message is about. Of two messages of one kind to one recipient that are about the
// same, the later one supersedes the earlier: votes, decisions and responses about one commit are
// complete each time, and so are snapshot lists, load reports and wait reports.
type About struct {
	// Txn is the attempt, the reader or the request. A gateway passes the message to the state machine of this id;
	// without one it concerns all its state machines, or none.
	Txn kv.TxnRef
	// By is the transaction for which another one is wounded.
	By     kv.TxnRef
	Commit kv.CommitID
	// Number distinguishes the requests of an attempt.
	Number uint64
	// From is the shard that sent the message, if several can respond.
	From kv.ShardID
	// Variant separates messages that must not supersede each other: those that end something from the others.
	Variant uint8
}

// Recipient is the kind of receiver.
type Recipient uint8

const (
	ToShards   Recipient = 1 << iota // from gateways and shards
	ToGateways                       // from shards and gateways
)

// Row describes the messages of one kind.
type Row struct {
	Kind Kind
	// Name is the message's name in msg.proto.
	Name string
	To   Recipient
	// Ends: the message ends a transaction in flight, or releases what others wait for: locks,
	// prepared states, registrations. Queues deliver such messages before those that begin something,
	// which are all the others.
	//
	//	Decision, Release, Check, Deregister   end locks, prepared states and registrations
	//	Vote                                   is what a decision waits for (but see Envelope.Ends)
	//	LockResponse, ReadResponse             are what a holder of locks, or a registered reader, waits for
	//	Registered, UnsealResponse             let a Read continue whose reader is registered
	//	CommitResponse, CheckResponse          end an update or a locking reader at the gateway
	//
	// A query does not count, since it may abort an attempt that an earlier message would have completed: Wound,
	// CancelRequest, VoteRequest, Unseal, Push. A PushResponse follows a long silence and is not urgent.
	Ends bool
	// Traced: the message belongs to the trace of its transaction. Queries of a transaction, and messages about
	// snapshots and hot keys, do not.
	Traced bool

	// New makes an empty message of the kind.
	New func() Body

	about func(Body) About
}

// The flags of a row.
const (
	ends = 1 << iota
	traced
)

var rows = func() (t [64]Row) {
	for _, r := range []Row{
		row(ToShards, traced, func(m *Lock) About { return About{Txn: m.Txn, Number: uint64(m.Number)} }),
		row(ToGateways, ends|traced, func(m *LockResponse) About {
			return About{Txn: m.Txn, Number: uint64(m.Number), From: m.Shard}
		}),
		row(ToShards, ends|traced, func(m *Check) About { return About{Txn: m.Txn} }),
		row(ToGateways, ends|traced, func(m *CheckResponse) About {
			return About{Txn: m.Txn, From: m.Shard, Variant: variant(m.Ok)}
		}),
		row(ToShards, ends|traced, func(m *Release) About { return About{Txn: m.Txn} }),

		row(ToShards, traced, func(m *Prepare) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToShards, traced, func(m *CommitRequest) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToShards, ends|traced, func(m *Vote) About { return About{Txn: m.Txn, Commit: m.CommitID, From: m.Shard} }),
		row(ToShards, 0, func(m *VoteRequest) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToShards, ends|traced, func(m *Decision) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToShards, traced, func(m *DecisionAck) About { return About{Txn: m.Txn, Commit: m.CommitID, From: m.Shard} }),
		row(ToGateways, ends|traced, func(m *CommitResponse) About {
			return About{Txn: m.Txn, Commit: m.CommitID, From: m.Shard}
		}),

		row(ToShards|ToGateways, 0, func(m *Wound) About { return About{Txn: m.Txn, By: m.By} }),
		row(ToShards, 0, func(m *CancelRequest) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToGateways, 0, func(m *Push) About { return About{Txn: m.Txn, From: m.Shard} }),
		row(ToShards, 0, func(m *PushResponse) About { return About{Txn: m.Txn, Variant: variant(m.Known)} }),
		row(ToGateways, 0, func(m *WaitReport) About { return About{Txn: m.Txn, From: m.Shard} }),

		row(ToShards, 0, func(m *QueryTxn) About { return About{Txn: kv.TxnRef{TxnID: m.Id}} }),
		row(ToGateways, 0, func(m *QueryTxnResponse) About { return About{Txn: kv.TxnRef{TxnID: m.Id}, From: m.Shard} }),
		row(ToGateways, 0, aboutAnnouncement),

		row(ToShards, traced, func(m *Read) About { return About{Txn: m.Reader, Number: uint64(m.Number)} }),
		row(ToGateways, ends|traced, func(m *ReadResponse) About {
			return About{Txn: m.Reader, Number: uint64(m.Number), From: m.Reading.Shard}
		}),
		row(ToShards, ends|traced, func(m *Registered) About { return About{Txn: m.Reader, From: m.Reading.Shard} }),
		row(ToShards, ends, func(m *Deregister) About { return About{Txn: m.Reader} }),
		row(ToShards, 0, func(m *RenewLease) About { return About{Txn: m.Reader} }),
		row(ToGateways, 0, func(m *RenewLeaseResponse) About {
			return About{Txn: m.Reader, Number: uint64(m.Number), From: m.Shard}
		}),
		row(ToShards, 0, func(m *Unseal) About { return About{Txn: m.Txn, Commit: m.CommitID, From: m.Shard} }),
		row(ToShards, ends, func(m *UnsealResponse) About { return About{Txn: m.Txn, Commit: m.CommitID} }),
		row(ToShards, traced, func(m *ReadPage) About {
			return About{Txn: m.Txn, Number: m.Number, Variant: variant(m.Done)}
		}),
		row(ToGateways, traced, func(m *ReadPageResponse) About {
			return About{Txn: m.Txn, Number: m.Number, From: m.Shard}
		}),

		row(ToGateways, 0, aboutDue),
		row(ToShards, 0, func(m *RetainSnapshot) About { return About{Txn: m.Request} }),
		row(ToShards, 0, func(m *FindSnapshot) About { return About{Txn: m.Request} }),
		row(ToShards, 0, func(m *DropSnapshot) About { return About{Txn: m.Request} }),
		row(ToGateways, 0, func(m *SnapshotResponse) About { return About{Txn: m.Request} }),
		row(ToShards, 0, func(m *SnapshotListRequest) About { return About{From: m.Shard} }),
		row(ToShards, 0, func(m *SnapshotList) About { return About{} }),

		row(ToShards, 0, func(m *LoadReport) About { return About{From: m.Shard} }),
		row(ToShards, 0, func(m *PairReport) About { return About{From: kv.ShardID(m.Gateway)} }),
		row(ToGateways, 0, func(m *HeatMap) About { return About{} }),
		row(ToGateways, 0, func(m *MoveKey) About { return About{Txn: m.Txn} }),
		row(ToShards, 0, func(m *SetHotPolicy) About { return About{Txn: m.Request} }),
		row(ToShards, 0, func(m *HotStatusRequest) About { return About{Txn: m.Request} }),
		row(ToGateways, 0, func(m *HotStatusResponse) About { return About{Txn: m.Request} }),
	} {
		if t[r.Kind].Kind != 0 {
			panic("msg: two kinds of message have one number: " + r.Name)
		}
		t[r.Kind] = r
	}
	return t
}()

// row makes the row of a message type.
func row[T any, P interface {
	*T
	Body
}](to Recipient, flags uint, about func(P) About) Row {
	return Row{
		Kind: P(nil).Kind(), Name: fmt.Sprintf("%T", *new(T))[len("msg."):], To: to, Ends: flags&ends != 0,
		Traced: flags&traced != 0,
		about:  func(b Body) About { return about(b.(P)) }, New: func() Body { return P(new(T)) },
	}
}

// Rows returns the rows of all kinds, in the order of their numbers.
func Rows() (out []Row) {
	for i := range rows {
		if rows[i].Kind != 0 {
			out = append(out, rows[i])
		}
	}
	return out
}

func variant(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}

// aboutAnnouncement separates incarnations, reports of draining, their acknowledgements, and calls of nodes with
// their responses.
func aboutAnnouncement(m *Announcement) About {
	switch {
	case m.Call != nil:
		return About{Number: m.Call.Number, Variant: 4 + variant(m.Call.Requester != 0)}
	case m.Acknowledged:
		return About{From: m.Shard, Variant: 2}
	}
	return About{From: m.Shard, Variant: variant(m.Draining)}
}

// aboutDue separates snapshots of the history from expired keys.
func aboutDue(m *Due) About {
	if m.ExpireKey == nil {
		return About{}
	}
	return About{Txn: m.ExpireKey.Txn, Variant: 1}
}

// The numbers of the kinds: those of the fields of Envelope in msg.proto.

func (*Lock) Kind() Kind                { return 10 }
func (*LockResponse) Kind() Kind        { return 11 }
func (*Check) Kind() Kind               { return 12 }
func (*CheckResponse) Kind() Kind       { return 13 }
func (*Release) Kind() Kind             { return 14 }
func (*Prepare) Kind() Kind             { return 15 }
func (*CommitRequest) Kind() Kind       { return 16 }
func (*Vote) Kind() Kind                { return 17 }
func (*VoteRequest) Kind() Kind         { return 18 }
func (*Decision) Kind() Kind            { return 19 }
func (*DecisionAck) Kind() Kind         { return 20 }
func (*CommitResponse) Kind() Kind      { return 21 }
func (*Wound) Kind() Kind               { return 22 }
func (*CancelRequest) Kind() Kind       { return 23 }
func (*Push) Kind() Kind                { return 24 }
func (*PushResponse) Kind() Kind        { return 25 }
func (*QueryTxn) Kind() Kind            { return 26 }
func (*QueryTxnResponse) Kind() Kind    { return 27 }
func (*ReadPage) Kind() Kind            { return 28 }
func (*ReadPageResponse) Kind() Kind    { return 29 }
func (*Announcement) Kind() Kind        { return 30 }
func (*Read) Kind() Kind                { return 31 }
func (*ReadResponse) Kind() Kind        { return 32 }
func (*Registered) Kind() Kind          { return 33 }
func (*Deregister) Kind() Kind          { return 34 }
func (*RenewLease) Kind() Kind          { return 35 }
func (*RenewLeaseResponse) Kind() Kind  { return 36 }
func (*Unseal) Kind() Kind              { return 37 }
func (*UnsealResponse) Kind() Kind      { return 38 }
func (*Due) Kind() Kind                 { return 39 }
func (*RetainSnapshot) Kind() Kind      { return 40 }
func (*FindSnapshot) Kind() Kind        { return 41 }
func (*DropSnapshot) Kind() Kind        { return 42 }
func (*SnapshotResponse) Kind() Kind    { return 43 }
func (*SnapshotListRequest) Kind() Kind { return 44 }
func (*SnapshotList) Kind() Kind        { return 45 }
func (*LoadReport) Kind() Kind          { return 46 }
func (*HeatMap) Kind() Kind             { return 47 }
func (*PairReport) Kind() Kind          { return 48 }
func (*MoveKey) Kind() Kind             { return 49 }
func (*SetHotPolicy) Kind() Kind        { return 50 }
func (*HotStatusRequest) Kind() Kind    { return 51 }
func (*HotStatusResponse) Kind() Kind   { return 52 }
func (*WaitReport) Kind() Kind          { return 53 }
