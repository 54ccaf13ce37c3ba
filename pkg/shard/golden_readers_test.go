package shard_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

// readerMessage builds the messages of read-only transactions, snapshots and heat:
//
//	R read [#2] [lease=2s] [notify s9] [after s1,s2] [fix]: get a
//	R snapshot: get a                  a whole transaction on this shard
//	R registered s1 4                  the fourth read of s1 was for R
//	R deregister [complete] | renew 2s [incarnation=1]
//	A load s3 a=20                     a load report of s3; A is not used
//	A unseal s1 1.2 [incarnation=1]    s1 requests it
//	A unseal-response 1.2 [age=30ms]   the last agent has dropped the epoch
func (s *script) readerMessage(env *msg.Envelope, txn kv.TxnRef, verb string, args []string, ops []msg.Op) (err error) {
	switch verb {
	case "read":
		env.Body = &msg.Read{Reader: txn, Gateway: 1, Number: 1, Ops: ops}
		for i := 0; i < len(args) && err == nil; i++ {
			err = readWord(msg.As[msg.Read](env), args, &i)
		}
	case "snapshot":
		env.Body = &msg.CommitRequest{Txn: txn, CommitID: nthCommit(0).of(txn), Snapshot: true,
			Piece: msg.Piece{Ops: ops, Incarnation: s.M.Incarnation()}}
	case "registered":
		n := msg.Reading{Incarnation: 1}
		n.Shard, err = golden.Shard(args[0])
		if err == nil {
			n.Number, err = strconv.ParseUint(args[1], 10, 64)
		}
		env.Body = &msg.Registered{Reader: txn, Reading: n}
	case "deregister":
		env.Body = &msg.Deregister{Reader: txn}
		if len(args) > 0 && args[0] == "complete" {
			msg.As[msg.Deregister](env).RetainNanos = int64(kv.DefaultScanRetention)
		}
	case "renew":
		var d time.Duration
		d, err = time.ParseDuration(args[0])
		env.Body = &msg.RenewLease{Reader: txn, Gateway: 1, Number: 9, Incarnation: incarnationOf(args, s.M.Incarnation()),
			LeaseNanos: int64(d)}
	case "unseal":
		var id kv.CommitID
		id, args, err = commitNamed(txn, args)
		if err != nil {
			return err
		}
		u := &msg.Unseal{Txn: txn, CommitID: id, LastIncarnation: incarnationOf(args, s.M.Incarnation()),
			LastAborts: s.gatewayState(txn).aborts}
		u.Shard, err = golden.Shard(args[0])
		if err == nil {
			u.Epoch, err = epochOf(args[1])
		}
		env.Body = u
	case "unseal-response":
		env.Body = &msg.UnsealResponse{Txn: txn, CommitID: nthCommit(0).of(txn)}
		msg.As[msg.UnsealResponse](env).Epoch, err = epochOf(args[0])
		if err == nil && len(args) > 1 {
			var age time.Duration
			age, err = time.ParseDuration(strings.TrimPrefix(args[1], "age="))
			msg.As[msg.UnsealResponse](env).HeldNanos = int64(age)
		}
	case "snapshot-list":
		env.Body, err = snapshotListOf(args, s.M.Incarnation())
	case "retain":
		env.Body, err = retainOf(txn, args, s.M.Incarnation(), s.Now)
	case "request-list":
		env.Body = &msg.SnapshotListRequest{Shard: 1}
		msg.As[msg.SnapshotListRequest](env).CSN, err = csn(args[0])
	case "drop":
		env.Body = &msg.DropSnapshot{Request: txn, Gateway: 1}
		msg.As[msg.DropSnapshot](env).Number, err = strconv.ParseUint(args[0], 10, 64)
	case "load":
		env.Body, err = loadReportOf(args)
	default:
		return fmt.Errorf("no verb %q", verb)
	}
	return err
}

// loadReportOf parses a load report, as in s3 a=20 b=7.
func loadReportOf(args []string) (d *msg.LoadReport, err error) {
	d = &msg.LoadReport{}
	d.Shard, err = golden.Shard(args[0])
	if err != nil {
		return nil, err
	}
	for _, w := range args[1:] {
		key, heat, _ := strings.Cut(w, "=")
		h, err := strconv.ParseFloat(heat, 64)
		if err != nil {
			return nil, err
		}
		d.Keys = append(d.Keys, msg.KeyHeat{Key: []byte(key), Shard: d.Shard, Heat: h})
	}
	return d, nil
}

func csn(s string) (kv.CSN, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	return kv.CSN(n), err
}

// snapshotListOf parses the registry's list, as in 1.2 safe-point=7 next=5 3@5 4@7: snapshot 3 at CSN 5.
func snapshotListOf(args []string, receiver kv.Incarnation) (p *msg.SnapshotList, err error) {
	p = &msg.SnapshotList{RequesterIncarnation: incarnationOf(args, receiver)}
	_, err = fmt.Sscanf(args[0], "%d.%d", &p.Incarnation, &p.Change)
	if err != nil {
		return nil, err
	}
	for _, w := range args[1:] {
		var n, i uint64
		switch k, v, _ := strings.Cut(w, "="); k {
		case "safe-point":
			p.SafePoint, err = csn(v)
		case "next":
			p.Next, err = strconv.ParseUint(v, 10, 64)
		case "incarnation": // of the receiving shard
		default:
			_, err = fmt.Sscanf(w, "%d@%d", &n, &i)
			p.Numbers, p.CSNs = append(p.Numbers, n), append(p.CSNs, i)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// retainOf parses a snapshot to be retained, as in name=x s0/5 s1/3: s0 at CSN 5.
func retainOf(txn kv.TxnRef, args []string, inc kv.Incarnation, now int64) (q *msg.RetainSnapshot, err error) {
	q = &msg.RetainSnapshot{Request: txn, Gateway: 1, Incarnation: incarnationOf(args, inc), Fixed: now,
		TtlNanos: int64(time.Hour)}
	for _, w := range args {
		var s, i uint64
		if name, ok := strings.CutPrefix(w, "name="); ok {
			q.Name = name
		} else if _, err = fmt.Sscanf(w, "s%d/%d", &s, &i); err == nil {
			q.Clock = append(q.Clock, msg.ShardCSN{Shard: kv.ShardID(s), CSN: kv.CSN(i)})
		} else if !strings.HasPrefix(w, "incarnation=") {
			return nil, err
		}
	}
	return q, nil
}

// readWord parses one word of a read.
func readWord(q *msg.Read, args []string, i *int) (err error) {
	number, isNumber := strings.CutPrefix(args[*i], "#")
	lease, isLease := strings.CutPrefix(args[*i], "lease=")
	switch {
	case isNumber:
		var n uint64
		n, err = strconv.ParseUint(number, 10, 32)
		q.Number = uint32(n)
	case isLease:
		var d time.Duration
		d, err = time.ParseDuration(lease)
		q.LeaseNanos = int64(d)
	case args[*i] == "notify":
		*i++
		q.Notify = true
		q.Last, err = golden.Shard(args[*i])
	case args[*i] == "after":
		*i++
		for _, w := range strings.Split(args[*i], ",") {
			id, bad := golden.Shard(w)
			q.Await = append(q.Await, id)
			if bad != nil {
				err = bad
			}
		}
	case args[*i] == "fix":
		q.RetainNanos = int64(kv.DefaultScanRetention)
	case strings.HasPrefix(args[*i], "at="):
		_, err = fmt.Sscanf(args[*i], "at=%d@%d", &q.SnapshotNumber, &q.CSN)
	default:
		err = fmt.Errorf("unknown word %q", args[*i])
	}
	return err
}

// incarnationOf returns the incarnation that the last word names, or the current one.
func incarnationOf(args []string, now kv.Incarnation) kv.Incarnation {
	if n, ok := strings.CutPrefix(args[len(args)-1], "incarnation="); ok {
		if l, err := strconv.ParseUint(n, 10, 64); err == nil {
			return kv.Incarnation(l)
		}
	}
	return now
}

// epochOf parses an epoch, as in 1.2.
func epochOf(s string) (e kv.Epoch, err error) {
	_, err = fmt.Sscanf(s, "%d.%d", &e.Incarnation, &e.Count)
	return e, err
}
