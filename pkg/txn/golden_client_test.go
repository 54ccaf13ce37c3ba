package txn_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
	"github.com/linchpindb/linchpin/test/golden"
)

// doClient executes the verbs of clients.
func (s *script) doClient(words []string, ops []msg.Op) error {
	ref, err := golden.Txn(words[0])
	if err != nil {
		return err
	}
	deadline := s.now + int64(time.Minute)
	var flag string
	how, ttl, rest, err := howOf(words[2:])
	if err != nil {
		return err
	}
	for _, w := range rest {
		if d, ok := strings.CutPrefix(w, "within="); ok {
			within, err := time.ParseDuration(d)
			if err != nil {
				return err
			}
			deadline = s.now + int64(within)
		} else {
			flag = w
		}
	}
	handle := words[0] + " " + words[1]
	switch words[1] {
	case "execute":
		s.g.Execute(s.now, handle, ref.TxnID, ops, deadline, how)
	case "begin":
		if f := s.g.Begin(s.now, ref, flag == "readonly", how); f != nil {
			s.printf("  refused: %s", golden.Failure(f))
		}
	case "do":
		if deadline == s.now+int64(time.Minute) {
			deadline = 0
		}
		s.g.Do(s.now, handle, ref, ops, deadline)
	case "commit":
		s.g.Commit(s.now, handle, ref, deadline)
	case "rollback":
		s.g.Rollback(s.now, handle, ref, flag == "validate")
	case "savepoint":
		s.g.Savepoint(s.now, handle, ref, flag)
	case "rollback-to":
		s.g.RollbackTo(s.now, handle, ref, flag)
	case "release":
		s.g.Release(s.now, handle, ref, flag)
	case "outcome":
		s.g.QueryOutcome(s.now, handle, ref.TxnID, 0, deadline)
	case "scan":
		span, err := golden.Span(flag)
		if err != nil {
			return err
		}
		s.g.Scan(s.now, handle, ref.TxnID, span, false, deadline, how)
	case "next":
		n, err := strconv.Atoi(flag)
		s.g.Next(s.now, handle, ref, n)
		return err
	case "close":
		s.g.Close(s.now, ref)
	case "move":
		from, err := golden.Shard(words[3])
		to, bad := golden.Shard(words[4])
		if err != nil || bad != nil {
			return fmt.Errorf("a move is from a shard to a shard")
		}
		s.g.Move(s.now, handle, ref.TxnID, []byte(words[2]), from, to, deadline)
	case "snapshot":
		s.g.RetainSnapshot(s.now, handle, ref.TxnID, flag, int64(ttl), deadline)
	case "snapshots":
		s.g.Snapshots(s.now, handle, ref.TxnID, deadline)
	case "drop":
		s.g.DropSnapshot(s.now, handle, ref.TxnID, txn.SnapshotRef{Name: flag}, deadline)
	case "hot":
		s.g.HotStatus(s.now, handle, ref.TxnID, deadline)
	case "pin", "ban", "free":
		order := map[string]hotshard.Order{"pin": hotshard.Pin, "ban": hotshard.Ban, "free": hotshard.Free}[words[1]]
		key, prefix := strings.CutSuffix(flag, "...")
		rule := &msg.HotRule{Key: []byte(key), Prefix: prefix, Order: uint32(order)}
		s.g.SetHotPolicy(s.now, handle, ref.TxnID, rule, 0, deadline)
	case "mode":
		mode, err := hotshard.ParseMode(flag)
		if err != nil {
			return err
		}
		s.g.SetHotPolicy(s.now, handle, ref.TxnID, nil, uint32(mode)+1, deadline)
	default:
		return fmt.Errorf("no verb %q", words[1])
	}
	return nil
}

// howOf parses the options of a read, and returns the other words.
func howOf(words []string) (how txn.TxnOptions, ttl time.Duration, rest []string, err error) {
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		var d time.Duration
		switch k {
		case "at":
			how.At.Name = v
		case "number":
			how.At.Number, err = strconv.ParseUint(v, 10, 64)
		case "asof":
			d, err = time.ParseDuration(v)
			how.At.AsOf = int64(d)
		case "ttl":
			ttl, err = time.ParseDuration(v)
		case "plan":
			how.Plan, err = txn.ParsePlan(v)
		case "after":
			how.After = &vclock.Clock{}
			for _, e := range strings.Split(v, ",") {
				var s, i uint64
				_, err = fmt.Sscanf(e, "s%d/%d", &s, &i)
				if err == nil {
					how.After.Raise(kv.ShardID(s), kv.CSN(i))
				}
			}
		default:
			rest = append(rest, w)
		}
		if err != nil {
			return how, ttl, rest, err
		}
	}
	return how, ttl, rest, nil
}

// doneText prints the response to a request.
func doneText(d *txn.Done) string {
	out := fmt.Sprintf("DONE %s (as %s):", d.Handle, golden.Name(d.Txn))
	switch {
	case d.Failure != nil:
		out += " " + golden.Failure(d.Failure)
	case d.Committed:
		out += " ok"
	default:
		out += " done"
	}
	if len(d.Results) > 0 {
		out += " [" + golden.Results(d.Results) + "]"
	}
	if len(d.Pairs) > 0 {
		out += " [" + strings.TrimPrefix(golden.Result(&msg.Result{Pairs: d.Pairs}), "0: ") + "]"
	}
	for flag, is := range map[string]bool{", more": d.More, ", results lost": d.ResultsLost} {
		if is {
			out += flag
		}
	}
	for i := range d.Snapshots {
		out += ", " + golden.Snapshot(&d.Snapshots[i])
	}
	if d.Hot != nil {
		out += ", " + golden.HotStatus(d.Hot)
	}
	if c := d.Clock(); len(c.Entries()) > 0 {
		out += ", token " + c.String()
	}
	if d.Plan != txn.PlanAny {
		out += ", by plan " + d.Plan.String()
	}
	for _, r := range d.AbortReasons {
		out += ", after " + strings.TrimPrefix(r.String(), "Reason")
	}
	if d.Receipt.WaitedNanos > 0 {
		out += ", " + golden.Receipt(&d.Receipt)
	}
	if e := d.Ended; e.Count > 0 {
		out += fmt.Sprintf(", %d ended by others: %s%s", e.Count, e.Reason.Word(), golden.Conflict(e.By))
	}
	if d.Closed {
		out += "; closed"
	}
	return out
}
