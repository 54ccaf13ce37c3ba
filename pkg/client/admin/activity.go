package admin

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// ActivityOptions narrow [Admin.Activity].
type ActivityOptions struct {
	// Node is the node, 0 for the one that the client is connected to.
	Node int
	// Since leaves out the seconds up to this one; zero is for all that are kept, which are five minutes.
	Since time.Time
	// MaxReceipts and MaxWaits bound these lists; 0 leaves them out.
	MaxReceipts, MaxWaits int
}

// Activity is what a node has done recently. It is kept in memory.
type Activity struct {
	Node    int
	Version string
	Uptime  time.Duration
	// Now is the node's time of day.
	Now        time.Time
	StoreBytes int64
	Disk       Disk
	// InFlight is the number of transactions in flight through the node, Interactive that of the
	// interactive ones among them.
	InFlight, Interactive int
	// Shards are those on the node.
	Shards []Shard
	// Seconds are complete, the oldest first. If one is missing, nothing ended in it.
	Seconds []ActivitySecond
	// Receipts are the last ones, the newest first; of one second at most the 16 longest.
	Receipts []RecentReceipt
	// Conflicts sum up the waits and aborts of the last five minutes.
	Conflicts []KeyConflict
	// Waits are those on the node's shards now, the longest first.
	Waits []Wait
}

// ActivitySecond is what ended in a second.
type ActivitySecond struct {
	Begin   time.Time
	Classes []ActivityClass
}

// ActivityClass is what ended of one class of calls.
type ActivityClass struct {
	// Class is one_shot, one_shot_read, interactive, interactive_read, scan or outcome_query.
	Class         string
	Ended, Failed int
	// Buckets is the histogram of latencies, without empty buckets.
	Buckets []LatencyBucket
}

// LatencyBucket is a bucket of a histogram.
type LatencyBucket struct {
	Upper time.Duration
	Count int
}

// RecentReceipt is the receipt of a transaction that has ended.
type RecentReceipt struct {
	// Time is when it ended.
	Time     time.Time
	Duration time.Duration
	TxID     client.TxID
	Class    string
	// Outcome is OK or the kind of the error.
	Outcome  string
	Attempts int
	Receipt  client.Receipt
}

// KeyConflict sums up the waits and aborts on one key by one pair of operations.
type KeyConflict struct {
	// Key is empty for those of keys that are not counted by themselves.
	Key string
	// Operations are those of the waiter, HolderOperations those of the holder, in words.
	Operations, HolderOperations string
	Waits                        uint64
	Waited                       time.Duration
	// Aborts counts the transactions with an aborted attempt.
	Aborts uint64
	// Since is when the waits began, without a pause of more than five minutes, and Last when the last
	// one was.
	Since, Last time.Time
	// Advice says in words what would have commuted; it may be empty.
	Advice string
}

// Wait is a transaction that waits now.
type Wait struct {
	TxID   client.TxID
	Shard  int
	Waited time.Duration
	// Conflict is what it waits for.
	Conflict *client.Conflict
	// Operations and HolderOperations are in words.
	Operations, HolderOperations string
	// User and HolderUser are the users of the two, empty if they are not known.
	User, HolderUser string
}

// Activity returns what a node has done recently.
func (a *Admin) Activity(ctx context.Context, o ActivityOptions) (Activity, error) {
	in := &pb.ActivityRequest{NodeId: uint32(o.Node), MaxReceipts: uint32(max(o.MaxReceipts, 0)),
		MaxWaits: uint32(max(o.MaxWaits, 0))}
	if !o.Since.IsZero() {
		in.SinceS = o.Since.Unix()
	}
	r, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.ActivityResponse,
		error) {
		return c.Activity(ctx, in)
	})
	if err != nil {
		return Activity{}, err
	}
	return Activity{Node: int(r.NodeId), Version: r.Version, Uptime: millis(r.UptimeMs), Now: moment(r.NowNs),
		StoreBytes: int64(r.StoreBytes),
		Disk:       disk(&r.Disk), InFlight: int(r.InFlight), Interactive: int(r.Interactive), Shards: each(r.Shards, shard),
		Seconds:  each(r.Seconds, second),
		Receipts: each(r.Receipts, recent), Conflicts: each(r.Conflicts, keyConflict), Waits: each(r.Waits, wait)}, nil
}

func second(s *pb.ActivitySecond) ActivitySecond {
	return ActivitySecond{Begin: time.Unix(s.TimeS, 0), Classes: each(s.Classes, func(c *pb.ActivityClass) ActivityClass {
		out := ActivityClass{Class: c.Kind, Ended: int(c.Ended), Failed: int(c.Failed)}
		for i := range min(len(c.UpperUs), len(c.Counts)) {
			out.Buckets = append(out.Buckets, LatencyBucket{micros(c.UpperUs[i]), int(c.Counts[i])})
		}
		return out
	})}
}

func recent(r *pb.RecentReceipt) RecentReceipt {
	return RecentReceipt{Time: moment(r.TimeNs), Duration: micros(r.DurationUs), TxID: txID(r.TxnId), Class: r.Kind,
		Outcome:  r.Outcome,
		Attempts: int(r.Attempts), Receipt: clientlink.Receipt(r.Receipt).(client.Receipt)}
}

func keyConflict(c *pb.KeyConflict) KeyConflict {
	return KeyConflict{Key: string(c.Key), Operations: c.Operations, HolderOperations: c.HolderOperations, Waits: c.Waits,
		Waited: micros(c.WaitedUs),
		Aborts: c.Aborts, Since: moment(c.SinceNs), Last: moment(c.LastNs), Advice: c.Advice}
}

func wait(w *pb.CurrentWait) Wait {
	return Wait{TxID: txID(w.TxnId), Shard: int(w.Shard), Waited: micros(w.WaitedUs),
		Conflict:   clientlink.Conflict(w.Wait).(*client.Conflict),
		Operations: w.Operations, HolderOperations: w.HolderOperations, User: w.User, HolderUser: w.HolderUser}
}

// Type is a data type as it was declared.
type Type struct {
	Name string `json:"type"`
	// Number is its number in stored data; from 128 on it is a type of the cluster's own.
	Number int    `json:"number"`
	Doc    string `json:"doc"`
	// Methods are its methods and Locks the kinds of lock that they take.
	Methods []Method `json:"methods"`
	Locks   []Lock   `json:"locks"`
}

// Method is a method of a data type.
type Method struct {
	Name string `json:"name"`
	// Usage is the method with its parameters, as "add member ...".
	Usage  string  `json:"usage"`
	Params []Param `json:"-"`
	Doc    string  `json:"doc"`
	// Lock is the kind of lock that it takes if nothing is known of the value.
	Lock string `json:"lock"`
	// Updates: it may change the value. Returns: it returns something.
	Updates bool `json:"updates"`
	Returns bool `json:"returns"`
}

// Param is a parameter of a method.
type Param struct {
	Name string
	// Kind is bytes, int, float or bool.
	Kind string
	// Optional: it and those after it may be left out. Many: it, with those after it, may be repeated.
	Optional, Many bool
}

// Lock is a kind of lock of a data type.
type Lock struct {
	Name string `json:"name"`
	// Updates: what is done under it may change the value.
	Updates bool `json:"updates"`
	// Commutes are the kinds that it never excludes, CommutesApart those that it does not exclude on
	// different parts of the value, as two members.
	Commutes      []string `json:"commutes,omitempty"`
	CommutesApart []string `json:"commutes_apart,omitempty"`
}

// Types returns the data types that the node has: the one with a name, or all if it is empty.
func (a *Admin) Types(ctx context.Context, name string) ([]Type, error) {
	r, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.TypesResponse, error) {
		return c.Types(ctx, &pb.TypesRequest{Type: name})
	})
	if err != nil {
		return nil, err
	}
	return each(r.Types, func(t *pb.TypeInfo) Type {
		return Type{Number: int(t.Number), Name: t.Name, Doc: t.Doc, Methods: each(t.Methods, method),
			Locks: each(t.Locks, func(l *pb.LockInfo) Lock {
				return Lock{l.Name, l.Updates, l.Commutes, l.CommutesApart}
			})}
	}), nil
}

func method(m *pb.MethodInfo) Method {
	return Method{Name: m.Name, Doc: m.Doc, Usage: m.Usage, Updates: m.Updates, Returns: m.Returns, Lock: m.Lock,
		Params: each(m.Params, func(p *pb.ParamInfo) Param {
			return Param{p.Name, word(p.Kind.String(), "DATUM_"), p.Optional, p.Many}
		})}
}
