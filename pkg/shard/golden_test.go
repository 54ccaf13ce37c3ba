package shard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata. They are about one shard, s0, with an engine in memory as its
// log. Each line is one step: a transaction, a message and, after a colon, operations:
//
//	A request with s1,s2 nowait: put a 1; get b     a commit request
//	A prepare for s9: add a 5             the last agent is s9, in incarnation 1
//	A lock optimistic: get a              or nowait
//	A check                               of all grants of A
//	A vote s1 yes | no | again            again is a repeated yes
//	A decision commit | abort             A request-vote, from s9
//	A ack s1                              A release, A cancel, A query, A wound by B
//	A known | unknown                     the response to a push
//	R snapshot-list 1.2 safe-point=7 next=5 3@5 4@7    the list of the registry
//	R retain n name=x s0/5 s1/3           requests that the registry retain a snapshot
//	A read-page [a,c) 2 | done            a page of a scan at the fixed CSN
//
// Requests contain the grants and versions that the gateway of A knows, unless they are "bare".
// "incarnation=1" makes them name that incarnation of the shard. Further lines:
//
//	at 5ms                the monotonic time
//	hold | answer [fail]  reads of the log wait from now on | get their results
//	restart               creates the machine again from the log
//	shutdown              a clean shutdown: the last entries
//	now 20m               the time of day
//	low | full | enough   free space on the disk: for deletions only | none | enough
//	idle                  prints what is not finished
//	waiters n             the n longest waits
//
// With the option home=1, the home of keys that begin with g is s1; that of others is s0.
//
// The output of a step is printed: "log" are its entries, "ask" its reads, "send" the messages that
// leave when the log is durable, "now" those that leave at once.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct {
	m     *shard.Machine
	store *memstore.Store
	cfg   shard.Config
	now   int64
	wall  int64
	// reads are those without a result. held: they wait for "answer".
	reads []entry.Read
	held  bool
	// disk is its free space.
	disk shard.Disk
	// once: after a restart ids that may have committed before are looked up. Off by default,
	// since the ids of most scripts are not in the order of time.
	once bool
	txns map[kv.TxnRef]*known
	// aborts is the number of aborts that the gateways know.
	aborts uint64
}

// known is what the gateway of a transaction knows.
type known struct {
	incarnation kv.Incarnation
	aborts      uint64
	grants      []msg.Grant
	seen        []msg.Seen
	number      uint32
	requests    map[uint32][]msg.Op
	index       kv.CSN
}

func (s *script) start(options map[string]string) error {
	s.now, s.wall, s.held, s.disk, s.reads, s.txns, s.aborts = 0, 0, false, shard.DiskEnough, nil, map[kv.TxnRef]*known{},
		0
	s.once = false
	s.store, s.cfg = memstore.NewAutoSync(), shard.Config{Lease: -1}
	for k, v := range options {
		n, err := strconv.Atoi(v)
		switch {
		case err != nil:
			return err
		case k == "memory":
			s.cfg.Memory = n
		case k == "once":
			s.once = n > 0
		case k == "node":
			s.cfg.Node = kv.NodeID(n)
		case k == "max-waiters":
			s.cfg.Lock.MaxWaiters = n
		case k == "max-key-waiters":
			s.cfg.Lock.MaxKeyWaiters = n
		case k == "max-key-references":
			s.cfg.MaxKeyReferences = n
		case k == "lease-ms":
			s.cfg.Lease = time.Duration(n) * time.Millisecond
		case k == "snapshots-ms":
			s.cfg.Snapshots = shard.SnapshotConfig{Every: time.Duration(n) * time.Millisecond, Hot: 9, Node: 1}
		case k == "registry-ms":
			s.cfg.Snapshots = shard.SnapshotConfig{Every: time.Duration(n) * time.Millisecond, History: time.Minute, Hot: 0,
				Node: 1}
		case k == "heat-ms":
			s.cfg.Heat = shard.HeatConfig{Every: time.Duration(n) * time.Millisecond, Hot: 9, Nodes: 2}
		case k == "hot-heat-ms":
			s.cfg.Heat = shard.HeatConfig{Every: time.Duration(n) * time.Millisecond, Hot: 0, Nodes: 2}
		case k == "home":
			s.cfg.Home = func(key []byte) kv.ShardID { return homeOf(key, kv.ShardID(n)) }
		case k == "paged-over":
			s.cfg.Paging = mvcc.Paging{Threshold: n, MinPageBytes: n / 2, ChainPages: 4}
		case k == "garbage-batch":
			s.cfg.GarbageBatch = n
		case k == "cache-bytes":
			s.cfg.CacheBytes = n
		default:
			return fmt.Errorf("no option %q", k)
		}
	}
	_, err := s.restart()
	return err
}

// homeOf is s0, except for keys that begin with g, which can be moved here.
func homeOf(key []byte, gHome kv.ShardID) kv.ShardID {
	if len(key) > 0 && key[0] == 'g' {
		return gHome
	}
	return 0
}

// restart creates the machine again from the log.
func (s *script) restart() (string, error) {
	var rec shard.Recovered
	if err := s.store.Recover(0, rec.Add); err != nil {
		return "", err
	}
	s.reads = nil
	if !s.once {
		rec.State.Newest, rec.State.Ahead = -1, nil
	}
	m, out := shard.New(s.cfg, rec, s.now, s.wall)
	s.m = m
	return s.act(out)
}

// act executes the output of a step and prints it.
func (s *script) act(out shard.Output) (string, error) {
	var text []string
	say := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	for _, env := range out.Urgent {
		s.learn(env)
		say("  now  %s", golden.Message(env))
	}
	for i := range out.Entries {
		say("  log  %s", golden.Entry(&out.Entries[i]))
	}
	if _, err := s.store.Append([]entry.Group{{Shard: 0, Entries: out.Entries}}); err != nil {
		return "", err
	}
	for _, env := range out.Send {
		s.learn(env)
		say("  send %s", golden.Message(env))
	}
	for i := range out.Reads {
		say("  ask  %s", golden.Read(&out.Reads[i]))
		s.reads = append(s.reads, out.Reads[i])
	}
	if err := s.m.Check(); err != nil {
		return "", err
	}
	if len(s.reads) > 0 && !s.held {
		more, err := s.answer(nil)
		if more != "" {
			text = append(text, more)
		}
		return strings.Join(text, "\n"), err
	}
	return strings.Join(text, "\n"), nil
}

// answer passes the results of all outstanding reads in one step.
func (s *script) answer(fail error) (string, error) {
	var results []entry.ReadResult
	for _, r := range s.reads {
		res := s.store.Read(0, r)
		if fail != nil {
			res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: fail}
		}
		results = append(results, res)
	}
	s.reads = nil
	return s.step(nil, results)
}

func (s *script) step(env *msg.Envelope, reads []entry.ReadResult) (string, error) {
	in := shard.Input{Now: s.now, Wall: s.wall, Reads: reads, Disk: s.disk}
	if env != nil {
		in.Messages = []*msg.Envelope{env}
	}
	return s.act(s.m.Step(in))
}

// learn records what the gateway learns from a response.
func (s *script) learn(env *msg.Envelope) {
	if r := msg.As[msg.LockResponse](env); r != nil && r.Failure == nil {
		k := s.gatewayState(r.Txn)
		k.grants = append(k.grants, r.Grants...)
		k.incarnation = r.Incarnation
		if len(r.Grants) == 0 {
			for i, op := range k.requests[r.Number] {
				k.seen = append(k.seen, msg.Seen{Key: op.Key, Version: r.Results[i].Version})
			}
		}
	}
	if r := msg.As[msg.CommitResponse](env); r != nil {
		s.aborts = r.Aborts
	}
	if r := msg.As[msg.ReadResponse](env); r != nil {
		s.gatewayState(r.Reader).index = r.Index
	}
}

func (s *script) gatewayState(txn kv.TxnRef) *known {
	if s.txns[txn] == nil {
		s.txns[txn] = &known{incarnation: s.m.Incarnation(), aborts: s.aborts, requests: map[uint32][]msg.Op{}}
	}
	return s.txns[txn]
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	var out string
	var err error
	switch words[0] {
	case "at":
		var d time.Duration
		d, err = time.ParseDuration(words[1])
		s.now = int64(d)
		if err == nil {
			out, err = s.step(nil, nil)
		}
	case "now":
		var d time.Duration
		d, err = time.ParseDuration(words[1])
		s.wall = int64(d)
	case "hold":
		s.held = true
	case "enough", "low", "full":
		s.disk = map[string]shard.Disk{"enough": shard.DiskEnough, "low": shard.DiskLow, "full": shard.DiskFull}[words[0]]
	case "answer":
		var fail error
		if len(words) > 1 {
			fail = kv.Errorf(kv.KindCorrupt, "the block does not have its checksum")
		}
		out, err = s.answer(fail)
	case "restart":
		out, err = s.restart()
	case "shutdown":
		out, err = s.act(shard.Output{Entries: s.m.Shutdown()})
	case "idle":
		out = "  idle"
		if err := s.m.CheckIdle(); err != nil {
			out = "  " + err.Error()
		}
	case "waiters":
		out, err = s.waiters(words[1])
	default:
		out, err = s.message(line)
	}
	if out == "" {
		return line, err
	}
	return line + "\n" + out, err
}

func (s *script) waiters(most string) (string, error) {
	n, err := strconv.Atoi(most)
	var text []string
	for _, w := range s.m.Waiters(s.now, n) {
		text = append(text, fmt.Sprintf("  %s: %s", golden.Name(w.Txn), golden.Receipt(&w.Receipt)))
	}
	return strings.Join(text, "\n"), err
}

func (s *script) message(line string) (string, error) {
	head, tail, hasOps := strings.Cut(line, ":")
	words := strings.Fields(head)
	txn, err := golden.Txn(words[0])
	if err != nil {
		return "", err
	}
	var ops []msg.Op
	if hasOps {
		ops, err = golden.Ops(tail)
		if err != nil {
			return "", err
		}
	}
	env, err := s.envelope(txn, words[1], words[2:], ops)
	if err != nil {
		return "", err
	}
	return s.step(env, nil)
}

func (s *script) after() (string, error) {
	n := s.m.Status(0)
	return fmt.Sprintf("  (index %d; %d prepared, %d records; %d hold locks, %d wait)", n.CSN, n.Prepared, n.Records,
		n.Holders, n.Waiting), nil
}
