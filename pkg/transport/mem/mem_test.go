package mem_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/mem"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
	suite "github.com/linchpindb/linchpin/pkg/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testNet struct{ *mem.Network }

func (n testNet) Start(t testing.TB, id kv.NodeID, h transport.Handler) transport.Transport {
	nd, err := n.Join(id, h)
	require.NoError(t, err)
	return nd
}

func (n testNet) StartReplicas(t testing.TB, id kv.NodeID, h transport.Handler,
	r transport.ReplicaHandler) suite.ReplicaNode {
	nd, err := n.JoinReplicas(id, h, r)
	require.NoError(t, err)
	return nd
}

func network(t testing.TB, o mem.Options) testNet {
	o.UpWindow = suite.UpWindow
	n, err := mem.NewNetwork(o)
	require.NoError(t, err)
	return testNet{n}
}

func TestContract(t *testing.T) {
	for name, o := range map[string]mem.Options{
		"plain":    {},
		"isolated": {Isolate: true},
		"delayed":  {Delay: 500 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, func(t testing.TB) suite.Net { return network(t, o) })
			suite.RunReplicas(t, func(t testing.TB) suite.ReplicaNet { return network(t, o) })
		})
	}
}

// two joins nodes 1 and 2. Node 2 receives into the inbox.
func two(t testing.TB, n testNet) (*mem.Node, *suite.Inbox) {
	in := new(suite.Inbox)
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*mem.Node)
	b := n.Start(t, 2, in.Handle)
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
	return a, in
}

func TestCutAndHeal(t *testing.T) {
	n := network(t, mem.Options{})
	a, in := two(t, n)
	n.Cut(1, 2)
	a.Send(2, []*msg.Envelope{suite.Release(1)})
	require.Eventually(t, func() bool { return a.Counts(2).Waiting == 0 }, 5*time.Second, time.Millisecond)
	require.True(t, a.Up(2), "connected a moment ago")
	require.Eventually(t, func() bool { return !a.Up(2) }, 5*time.Second, time.Millisecond)
	n.Heal(1, 2)
	require.True(t, a.Up(2))
	a.Send(2, []*msg.Envelope{suite.Release(2)})
	got := in.Await(t, 1)
	require.EqualValues(t, 2, msg.As[msg.Release](got[0]).Txn.Time, "messages on a cut link are lost")

	n.Isolate(2)
	require.Eventually(t, func() bool { return !a.Up(2) }, 5*time.Second, time.Millisecond)
	n.HealAll()
	require.True(t, a.Up(2))
}

func TestDropAndDuplicate(t *testing.T) {
	const count = 20_000
	run := func(o mem.Options) int {
		o.Seed = 7
		a, in := two(t, network(t, o))
		for i := range count {
			a.Send(2, []*msg.Envelope{suite.Release(i)})
			if i%1000 == 999 {
				require.Eventually(t, func() bool { return a.Counts(2).Waiting == 0 }, 5*time.Second, time.Microsecond*100)
			}
		}
		require.NoError(t, a.Close())
		return in.Len()
	}
	require.InDelta(t, 0.8*count, run(mem.Options{Drop: 0.2}), 0.02*count)
	require.InDelta(t, 1.3*count, run(mem.Options{Duplicate: 0.3}), 0.02*count)
	require.Zero(t, run(mem.Options{Drop: 1}))
}

func TestDelayDoesNotLimitThroughput(t *testing.T) {
	const delay = 20 * time.Millisecond
	n := network(t, mem.Options{Delay: delay})
	a, in := two(t, n)
	began := time.Now()
	const count = 5000
	for i := range count {
		a.Send(2, []*msg.Envelope{suite.Release(i)})
	}
	sent := time.Since(began)
	in.Await(t, 1)
	require.GreaterOrEqual(t, time.Since(began), delay, "not early")
	in.Await(t, count)
	// Sequentially they would take 100 s.
	require.Less(t, time.Since(began), sent+delay+5*time.Second)
}

func TestDelayAppliesToReplicas(t *testing.T) {
	const delay = 20 * time.Millisecond
	suite.TestReplicaDelay(t, network(t, mem.Options{Delay: delay}), delay)
}

// A cut ends Raft snapshots, and loses messages. Faults of messages are faults of those of replicas as well.
func TestCutAndDropApplyToReplicas(t *testing.T) {
	n := network(t, mem.Options{Drop: 0.2, Seed: 7})
	began := make(chan struct{}, 1)
	in := &suite.ReplicaInbox{Snapshot: func(ctx context.Context, _ *consensus.Message, _ func() ([]byte, error)) error {
		began <- struct{}{}
		<-ctx.Done()
		return nil
	}}
	a := n.StartReplicas(t, 1, func([]*msg.Envelope) {}, in)
	defer a.Close()
	b := n.StartReplicas(t, 2, func([]*msg.Envelope) {}, in)
	defer b.Close()
	const count = 5000
	for i := range count {
		a.SendReplica(2, []consensus.Message{suite.Append(i, 0)})
	}
	in.Await(t, count*3/4)
	require.Eventually(t, func() bool {
		got := in.All()
		return got[len(got)-1].Sent > count-20
	}, 10*time.Second, time.Millisecond)
	require.InDelta(t, 0.8*count, len(in.All()), 0.03*count)

	nothing := func() ([]byte, error) { return nil, nil }
	for _, cut := range []func(){func() { n.Cut(1, 2) }, func() { n.Cut(2, 1) }, func() { n.Isolate(1) }} {
		result := make(chan error, 1)
		go func() { result <- suite.SendSnapshot(context.Background(), a, nothing) }()
		<-began
		cut()
		require.ErrorContains(t, <-result, "not reachable")
		require.ErrorContains(t, a.SendSnapshot(context.Background(), 2, &consensus.Message{}, nothing), "not reachable")
		n.HealAll()
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []mem.Options{{Drop: -0.1}, {Duplicate: 1.5}, {Delay: -1}, {UpWindow: -1}} {
		_, err := mem.NewNetwork(o)
		require.Error(t, err, "%+v", o)
	}
	n := network(t, mem.Options{})
	_, err := n.Join(0, func([]*msg.Envelope) {})
	require.Error(t, err)
	two(t, n)
	_, err = n.Join(1, func([]*msg.Envelope) {})
	require.ErrorContains(t, err, "there already")
}

func TestBoundDropsOldestMessages(t *testing.T) {
	n := network(t, mem.Options{Delay: time.Hour, Outbox: outbox.Options{MaxCount: 100}})
	a, _ := two(t, n)
	for i := range 1000 {
		a.Send(2, []*msg.Envelope{suite.Release(i)})
	}
	c := a.Counts(2)
	require.LessOrEqual(t, c.Waiting, 100)
	require.EqualValues(t, 1000, c.Dropped+uint64(c.Waiting))
}

func BenchmarkTransport(b *testing.B) {
	suite.Benchmark(b, func(t testing.TB) suite.ReplicaNet { return network(t, mem.Options{}) })
}
