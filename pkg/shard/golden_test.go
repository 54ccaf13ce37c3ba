package shard_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/golden"
	"github.com/linchpindb/linchpin/test/world"
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
//	R replica-read at=8@2 [closed=5]: get a    a read at a replica, which has applied everything up to a CSN
//	R replica-page 2 [a,c) 10                  a page of ten pairs at a replica, at CSN 2
//
// With the option replicas=1, the shard is the leader of several replicas. "restart" is the next leader then.
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
	*world.Single
	// text is the output of the current line.
	text []string
	// once: after a restart ids that may have committed before are looked up. Off by default,
	// since the ids of most scripts are not in the order of time.
	once bool
	txns map[kv.TxnRef]*known
	// aborts is the number of aborts that the gateways know.
	aborts uint64
	// replicated: the shard has several replicas.
	replicated bool
}

// known is what the gateway of a transaction knows.
type known struct {
	incarnation kv.Incarnation
	aborts      uint64
	grants      []msg.Grant
	seen        []msg.Seen
	number      uint32
	requests    map[uint32][]msg.Op
	csn         kv.CSN
}

func (s *script) start(options map[string]string) error {
	*s = script{Single: world.NewSingle(shard.Config{Lease: -1}), txns: map[kv.TxnRef]*known{}}
	s.OnOutput = s.print
	c := &s.Config
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	err := golden.Set(options, func(fs *flag.FlagSet) {
		number := func(name string, set func(n int)) {
			fs.Func(name, "", func(v string) error {
				n, err := strconv.Atoi(v)
				set(n)
				return err
			})
		}
		fs.IntVar(&c.Memory, "memory", c.Memory, "")
		fs.BoolVar(&s.once, "once", false, "")
		fs.BoolVar(&s.replicated, "replicas", false, "")
		number("node", func(n int) { c.Node = kv.NodeID(n) })
		fs.IntVar(&c.Lock.MaxWaiters, "max-waiters", c.Lock.MaxWaiters, "")
		fs.IntVar(&c.Lock.MaxKeyWaiters, "max-key-waiters", c.Lock.MaxKeyWaiters, "")
		fs.IntVar(&c.MaxKeyReferences, "max-key-references", c.MaxKeyReferences, "")
		number("lease-ms", func(n int) { c.Lease = ms(n) })
		number("snapshots-ms", func(n int) { c.Snapshots = shard.SnapshotConfig{Every: ms(n), Hot: 9, Node: 1} })
		number("registry-ms", func(n int) {
			c.Snapshots = shard.SnapshotConfig{Every: ms(n), History: time.Minute, Hot: 0, Node: 1}
		})
		number("heat-ms", func(n int) { c.Heat = shard.HeatConfig{Every: ms(n), Hot: 9, Nodes: 2} })
		number("hot-heat-ms", func(n int) { c.Heat = shard.HeatConfig{Every: ms(n), Hot: 0, Nodes: 2} })
		number("home", func(n int) { c.Home = func(key []byte) kv.ShardID { return homeOf(key, kv.ShardID(n)) } })
		number("paged-over", func(n int) { c.Paging = mvcc.Paging{Threshold: n, MinPageBytes: n / 2, ChainPages: 4} })
		fs.IntVar(&c.GarbageBatch, "garbage-batch", c.GarbageBatch, "")
		fs.IntVar(&c.CacheBytes, "cache-bytes", c.CacheBytes, "")
	})
	if err != nil {
		return err
	}
	return s.restart()
}

// homeOf is s0, except for keys that begin with g, which can be moved here.
func homeOf(key []byte, gHome kv.ShardID) kv.ShardID {
	if len(key) > 0 && key[0] == 'g' {
		return gHome
	}
	return 0
}

// restart creates the machine again from the log.
func (s *script) restart() error {
	_, err := s.Restart(func(rec *shard.Recovered) {
		if !s.once {
			rec.State.Newest, rec.State.Ahead = -1, nil
		}
		if s.replicated {
			rec.Replica = &shard.Replica{}
			if s.M != nil {
				rec.Replica.CSN = s.M.CSN()
			}
		}
	})
	return err
}

// print prints the output of a step.
func (s *script) print(out *shard.Output) {
	for _, env := range out.Urgent {
		s.learn(env)
		s.say("now  %s", golden.Message(env))
	}
	for i := range out.Entries {
		s.say("log  %s", golden.Entry(&out.Entries[i]))
	}
	for _, env := range out.Send {
		s.learn(env)
		s.say("send %s", golden.Message(env))
	}
	for i := range out.Reads {
		s.say("ask  %s", golden.Read(&out.Reads[i]))
	}
}

func (s *script) say(format string, args ...any) {
	s.text = append(s.text, fmt.Sprintf("  "+format, args...))
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
		s.gatewayState(r.Reader).csn = r.CSN
	}
}

func (s *script) gatewayState(txn kv.TxnRef) *known {
	if s.txns[txn] == nil {
		s.txns[txn] = &known{incarnation: s.M.Incarnation(), aborts: s.aborts, requests: map[uint32][]msg.Op{}}
	}
	return s.txns[txn]
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	s.text = []string{line}
	var err error
	switch words[0] {
	case "at":
		var d time.Duration
		d, err = time.ParseDuration(words[1])
		s.Now = int64(d)
		if err == nil {
			_, err = s.Step()
		}
	case "now":
		var d time.Duration
		d, err = time.ParseDuration(words[1])
		s.Wall = int64(d)
	case "hold":
		s.Held = true
	case "enough", "low", "full":
		s.Disk = map[string]shard.Disk{"enough": shard.DiskEnough, "low": shard.DiskLow, "full": shard.DiskFull}[words[0]]
	case "answer":
		var fail error
		if len(words) > 1 {
			fail = kv.Errorf(kv.KindCorrupt, "the block does not have its checksum")
		}
		_, err = s.Answer(fail)
	case "restart":
		err = s.restart()
	case "shutdown":
		err = s.Shutdown()
	case "idle":
		if err := s.M.CheckIdle(); err != nil {
			s.say("%v", err)
		} else {
			s.say("idle")
		}
	case "waiters":
		err = s.waiters(words[1])
	default:
		err = s.message(line)
	}
	return strings.Join(s.text, "\n"), err
}

func (s *script) waiters(most string) error {
	n, err := strconv.Atoi(most)
	for _, w := range s.M.Waiters(s.Now, n) {
		s.say("%s: %s", golden.Name(w.Txn), golden.Receipt(&w.Receipt))
	}
	return err
}

func (s *script) message(line string) error {
	head, tail, hasOps := strings.Cut(line, ":")
	words := strings.Fields(head)
	txn, err := golden.Txn(words[0])
	if err != nil {
		return err
	}
	var ops []msg.Op
	if hasOps {
		ops, err = golden.Ops(tail)
		if err != nil {
			return err
		}
	}
	if strings.HasPrefix(words[1], "replica-") {
		return s.replicaRead(txn, words[1], words[2:], ops)
	}
	env, err := s.envelope(txn, words[1], words[2:], ops)
	if err != nil {
		return err
	}
	_, err = s.Step(env)
	return err
}

func (s *script) after() (string, error) {
	n := s.M.Status(0)
	return fmt.Sprintf("  (CSN %d; %d prepared, %d records; %d hold locks, %d wait)", n.CSN, n.Prepared, n.Records,
		n.Holders, n.Waiting), nil
}
