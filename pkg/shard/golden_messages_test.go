package shard_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

// flags are the parsed words between a verb and its operations.
type flags struct {
	with           []kv.ShardID
	last           kv.ShardID
	nowait, bare   bool
	optimistic     bool
	incarnation    kv.Incarnation
	hasIncarnation bool
	// known is how many aborts the gateway knows, if hasKnown.
	known    uint64
	hasKnown bool
	commit   nthCommit
}

func readFlags(words []string) (f flags, err error) {
	f.last = 9
	for i := 0; i < len(words) && err == nil; i++ {
		number, isIncarnation := strings.CutPrefix(words[i], "incarnation=")
		switch {
		case isIncarnation:
			var n uint64
			n, err = strconv.ParseUint(number, 10, 64)
			f.incarnation, f.hasIncarnation = kv.Incarnation(n), true
		case strings.HasPrefix(words[i], "knew="):
			f.known, err = strconv.ParseUint(words[i][len("knew="):], 10, 64)
			f.hasKnown = true
		case words[i] == "with":
			i++
			for _, w := range strings.Split(words[i], ",") {
				id, bad := golden.Shard(w)
				f.with = append(f.with, id)
				if bad != nil {
					err = bad
				}
			}
		case words[i] == "for":
			i++
			f.last, err = golden.Shard(words[i])
		case words[i] == "nowait":
			f.nowait = true
		case words[i] == "bare":
			f.bare = true
		case words[i] == "commit" && i+1 < len(words):
			i++
			f.commit, err = readCommit(words[i])
		case words[i] == "optimistic":
			f.optimistic = true
		default:
			err = fmt.Errorf("unknown word %q", words[i])
		}
	}
	return f, err
}

func (s *script) envelope(txn kv.TxnRef, verb string, args []string, ops []msg.Op) (*msg.Envelope, error) {
	k := s.gatewayState(txn)
	env := msg.ToShard(0)
	switch verb {
	case "request", "prepare", "lock", "check":
		f, err := readFlags(args)
		if !f.hasIncarnation {
			f.incarnation = k.incarnation
		}
		if !f.hasKnown {
			f.known = k.aborts
		}
		p := msg.Piece{Ops: ops, Incarnation: f.incarnation}
		if !f.bare {
			p.ReadSet = msg.ReadSetOf(k.grants, k.seen)
		}
		switch verb {
		case "request":
			env.Body = &msg.CommitRequest{Txn: txn, CommitID: f.commit.of(txn), Aborts: f.known, Participants: f.with,
				ReadBefore: p.ReadSet != nil, NoWait: f.nowait, Piece: p}
		case "prepare":
			env.Body = &msg.Prepare{Txn: txn, CommitID: f.commit.of(txn), Last: f.last, LastIncarnation: 1, NoWait: f.nowait,
				Piece: p}
		case "lock":
			k.number++
			k.requests[k.number] = ops
			env.Body = &msg.Lock{Txn: txn, Gateway: 1, Number: k.number, Ops: ops, NoWait: f.nowait, Optimistic: f.optimistic}
		case "check":
			env.Body = &msg.Check{Txn: txn, Gateway: 1, Incarnation: f.incarnation, Grants: k.grants}
		}
		return env, err
	case "retry-lock":
		env.Body = &msg.Lock{Txn: txn, Gateway: 1, Number: k.number, Ops: k.requests[k.number], NoWait: len(args) > 0}
	case "read-page":
		return s.page(txn, args)
	case "snapshot-list", "retain", "request-list", "drop", "load", "read", "snapshot", "registered", "deregister",
		"renew", "unseal", "unseal-response":
		return env, s.readerMessage(env, txn, verb, args, ops)
	default:
		return s.shortMessage(env, txn, verb, args)
	}
	return env, nil
}

func (s *script) page(txn kv.TxnRef, args []string) (*msg.Envelope, error) {
	env := msg.ToShard(0)
	k := s.gatewayState(txn)
	k.number++
	env.Body = &msg.ReadPage{Txn: txn, Gateway: 1, Number: uint64(k.number), Incarnation: k.incarnation, CSN: k.csn,
		RetainNanos: int64(kv.DefaultScanRetention)}
	if args[0] == "done" {
		msg.As[msg.ReadPage](env).Done = true
		return env, nil
	}
	span, err := golden.Span(args[0])
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(args[1], 10, 32)
	msg.As[msg.ReadPage](env).Start, msg.As[msg.ReadPage](env).End, msg.As[msg.ReadPage](env).Limit = span.Start, span.End,
		uint32(n)
	return env, err
}

// nthCommit numbers the commits of an attempt from 0.
type nthCommit uint64

func (n nthCommit) of(txn kv.TxnRef) kv.CommitID {
	number := uint64(n)<<40 | uint64(txn.Time)<<8 | uint64(txn.Attempt)
	return kv.CommitID{Gateway: 1, Incarnation: 1, Number: number}
}

func readCommit(word string) (nthCommit, error) {
	n, err := strconv.ParseUint(word, 10, 8)
	return nthCommit(n - 1), err
}

// commitNamed returns the commit that a message names: the first of its attempt, unless the last two
// words are "commit" and a number. rest are the words before.
func commitNamed(txn kv.TxnRef, args []string) (id kv.CommitID, rest []string, err error) {
	var n nthCommit
	k := len(args)
	if k >= 2 && args[k-2] == "commit" {
		n, err = readCommit(args[k-1])
		args = args[:k-2]
	}
	return n.of(txn), args, err
}

// lastNamed returns the last agent that sends: s9, unless the last two words are "from" and a shard.
func lastNamed(args []string) (kv.ShardID, error) {
	n := len(args)
	if n < 2 || args[n-2] != "from" {
		return 9, nil
	}
	return golden.Shard(args[n-1])
}

// shortMessage builds the messages without operations.
func (s *script) shortMessage(env *msg.Envelope, txn kv.TxnRef, verb string, args []string) (*msg.Envelope, error) {
	id, args, err := commitNamed(txn, args)
	if err != nil {
		return nil, err
	}
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	var from kv.ShardID
	if verb == "vote" || verb == "ack" {
		from, err = golden.Shard(arg(0))
		if err != nil {
			return nil, err
		}
	}
	switch verb {
	case "vote":
		v := &msg.Vote{Txn: txn, CommitID: id, Shard: from, LastIncarnation: s.gatewayState(txn).incarnation,
			LastAborts: s.gatewayState(txn).aborts, Incarnation: 1}
		v.Yes = arg(1) != "no"
		if v.Yes {
			v.Sealed, v.Epoch, v.Repeated = arg(1) != "held", kv.Epoch{Incarnation: 1, Count: 1}, arg(1) == "again"
			if arg(1) == "later" {
				v.Epoch.Count = 2
			}
		} else {
			v.Failure = &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindConditionFailed), Text: "a condition failed"}
		}
		env.Body = v
	case "decision":
		last, err := lastNamed(args)
		env.Body = &msg.Decision{Txn: txn, CommitID: id, Last: last, Commit: arg(0) == "commit"}
		return env, err
	case "request-vote":
		last, err := lastNamed(args)
		env.Body = &msg.VoteRequest{Txn: txn, Last: last, LastIncarnation: 1, CommitID: id}
		return env, err
	case "ack":
		env.Body = &msg.DecisionAck{Txn: txn, CommitID: id, Shard: from}
	case "release":
		env.Body = &msg.Release{Txn: txn}
	case "cancel":
		env.Body = &msg.CancelRequest{Txn: txn, CommitID: id, Incarnation: s.gatewayState(txn).incarnation,
			Aborts: s.gatewayState(txn).aborts}
	case "query":
		env.Body = &msg.QueryTxn{Id: txn.TxnID, Gateway: 1}
	case "wound":
		by, err := golden.Txn(arg(1))
		env.Body = &msg.Wound{Txn: txn, By: by}
		return env, err
	case "known", "unknown":
		env.Body = &msg.PushResponse{Txn: txn, Known: verb == "known"}
	default:
		return nil, fmt.Errorf("no verb %q", verb)
	}
	return env, nil
}
