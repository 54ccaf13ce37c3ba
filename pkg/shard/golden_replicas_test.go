package shard_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/golden"
	"github.com/linchpindb/linchpin/test/world"
)

// replicaOf returns the reader of a replica of a shard with the rows that it has now.
func replicaOf(s *world.Single, closed kv.CSN) (*shard.ReplicaReader, error) {
	row, err := (&entry.Replica{CSN: closed}).Marshal()
	if err != nil {
		return nil, err
	}
	_, err = s.Store.Append([]entry.Group{{Shard: s.Config.ID,
		Entries: []entry.Entry{{Table: entry.TableReplica, Value: row}}}})
	return &shard.ReplicaReader{Shard: s.Config.ID, Read: s.Read, Home: s.Config.Home,
		Clock: func() int64 { return s.Wall / 1e6 }, Mutants: s.Config.Mutants}, err
}

// replicaRead serves a read or a page at a replica, and prints the response.
func (s *script) replicaRead(txn kv.TxnRef, verb string, args []string, ops []msg.Op) error {
	closed := s.M.CSN()
	if n, ok := strings.CutPrefix(args[len(args)-1], "closed="); ok {
		at, err := csn(n)
		if err != nil {
			return err
		}
		closed, args = at, args[:len(args)-1]
	}
	r, err := replicaOf(s.Single, closed)
	if err != nil {
		return err
	}
	env := new(msg.Envelope)
	if verb == "replica-page" {
		env.Body, err = pageRequest(txn, args)
	} else {
		q := &msg.Read{Reader: txn, Gateway: 1, Number: 1, Ops: ops}
		for i := 0; i < len(args) && err == nil; i++ {
			err = readWord(q, args, &i)
		}
		env.Body = q
	}
	if err != nil {
		return err
	}
	env, refused := r.Serve(env)
	if refused != shard.Served {
		s.say("%v", refused)
	} else {
		s.say("replica %s", golden.Message(env))
	}
	return nil
}

// pageRequest requests a page, as in 2 [a,c) 10: at CSN 2, ten pairs.
func pageRequest(txn kv.TxnRef, args []string) (*msg.ReadPage, error) {
	if len(args) != 3 {
		return nil, fmt.Errorf("a page needs a CSN, a span and a limit")
	}
	at, err := csn(args[0])
	if err != nil {
		return nil, err
	}
	span, err := golden.Span(args[1])
	if err != nil {
		return nil, err
	}
	limit, err := strconv.ParseUint(args[2], 10, 32)
	return &msg.ReadPage{Txn: txn, Gateway: 1, Number: 1, CSN: at, Start: span.Start, End: span.End,
		Limit: uint32(limit)}, err
}
