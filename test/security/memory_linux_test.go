package security

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

const (
	// budgetMiB is the memory of the node that is attacked. Its data is larger.
	budgetMiB = 640
	bigValues = 768
	bigBytes  = 1 << 20
	// attackFor is how long each attack lasts, by attackers connections at once.
	attackFor = 4 * time.Second
	attackers = 6
)

// attacker is a connection on which nobody reads what the node answers.
type attacker struct {
	*frames
	token string
	ends  time.Time
}

// message writes a gRPC message of a call, or the beginning of one that is said to have
// announced bytes.
func (a *attacker) message(id uint32, body []byte, announced int, end bool) error {
	data := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(announced)), body...)
	for len(data) > 16<<10 {
		if err := a.WriteData(id, false, data[:16<<10]); err != nil {
			return err
		}
		data = data[16<<10:]
	}
	return a.WriteData(id, end, data)
}

// call begins a call with a message, which has come whole.
func (a *attacker) call(method string, m interface{ Marshal() ([]byte, error) }, end bool) (id uint32, err error) {
	id = a.next
	if err := a.headers(method, a.token, false); err != nil {
		return id, err
	}
	body, err := m.Marshal()
	if err != nil {
		return id, err
	}
	return id, a.message(id, body, len(body), end)
}

// attempt is what an attacker does on one connection, until it fails or the time is
// over.
type attempt func(a *attacker) error

// bigScans are operations that would read all of what there is, many times.
func bigScans(n int) (ops []pb.Op) {
	for range n {
		ops = append(ops, pb.Op{Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: b("big/"), End: b("big0")}}})
	}
	return ops
}

// while repeats something until it fails or the attack is over.
func (a *attacker) while(each func() error) error {
	for time.Now().Before(a.ends) {
		if err := each(); err != nil {
			return err
		}
	}
	return nil
}

// memoryAttacks are by name.
var memoryAttacks = []struct {
	name string
	// reads says that the connection is read, although no call may be answered on it.
	reads bool
	// stranger says that it takes no user.
	stranger bool
	// cheap says that it gives the node little to do, so that honest clients do not
	// notice it at all. Others have it read what they may read, which takes its time.
	cheap bool
	run   attempt
}{
	{name: "settings that are not read", stranger: true, run: func(a *attacker) error {
		var all []http2.Setting
		for range 2000 {
			all = append(all, http2.Setting{ID: 0x99, Val: 1})
		}
		return a.while(func() error { return a.WriteSettings(all...) })
	}},
	{name: "pings that are not read", stranger: true, run: func(a *attacker) error {
		return a.while(func() error { return a.WritePing(false, [8]byte{1}) })
	}},
	{name: "unfinished requests", reads: true, cheap: true, run: func(a *attacker) error {
		for range 400 {
			id := a.next
			if err := a.headers(execute, a.token, false); err != nil {
				return err
			}
			if err := a.message(id, make([]byte, 100<<10), 16<<20, false); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "unfinished requests for the node's health", reads: true, cheap: true, run: func(a *attacker) error {
		for range 400 {
			id := a.next
			if err := a.headers("/grpc.health.v1.Health/Check", a.token, false); err != nil {
				return err
			}
			if err := a.message(id, make([]byte, 100<<10), 60<<20, false); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "unread answers", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1)}, true)
			return err
		})
	}},
	{name: "unread answers to transactions of many scans", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(200)}, true)
			return err
		})
	}},
	{name: "unread answers of calls that are reset", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			id, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1)}, true)
			if err != nil {
				return err
			}
			return a.WriteRSTStream(id, http2.ErrCodeCancel)
		})
	}},
	{name: "unread pipelines", reads: true, run: func(a *attacker) error {
		for range 100 {
			in := &pb.PipelineRequest{}
			for i := range 1000 {
				in.Calls = append(in.Calls, pb.Call{Number: uint64(i), Request: pb.ExecuteRequest{Ops: bigScans(1)}})
			}
			if _, err := a.call("/linchpin.v1.KV/Pipeline", in, false); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "unread scans", reads: true, run: func(a *attacker) error {
		for range 400 {
			if _, err := a.call("/linchpin.v1.KV/Scan", &pb.ScanRequest{Start: b("big/"), End: b("big0")}, true); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "transactions that read all there is", reads: true, run: func(a *attacker) error {
		for range 200 {
			id, err := a.call("/linchpin.v1.KV/Transact", &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{}}}, false)
			if err != nil {
				return err
			}
			for range 20 {
				body, err := (&pb.TransactRequest{Step: &pb.TransactRequest_Do{Do: &pb.DoStep{Ops: bigScans(1)}}}).Marshal()
				if err != nil {
					return err
				}
				if err := a.message(id, body, len(body), false); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{name: "operations without end", reads: true, run: func(a *attacker) error {
		return a.while(func() error { // two bytes each
			id := a.next
			if err := a.headers(execute, a.token, false); err != nil {
				return err
			}
			return a.message(id, []byte(strings.Repeat("\x0a\x00", 60<<10)), 120<<10, true)
		})
	}},
	{name: "calls on a connection that is not read", run: func(a *attacker) error {
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1)}, true)
			return err
		})
	}},
}

// attempts has a connection attack, again and again.
func (g *target) attempts(t *testing.T, d *net.Dialer, token string, reads bool, run attempt, ends time.Time) {
	for time.Now().Before(ends) {
		f, err := g.tryFrames(d)
		if err != nil { // the address is refused for a while
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-t.Context().Done():
				return
			}
		}
		_ = f.conn.SetDeadline(ends.Add(100 * time.Millisecond))
		gone := make(chan struct{})
		if reads {
			go func() {
				defer close(gone)
				_, _ = io.Copy(io.Discard, f.conn)
			}()
		}
		err = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err == nil {
			err = run(&attacker{f, token, ends})
		}
		if err == nil { // all has been said: it stays so
			select {
			case <-gone:
			case <-time.After(time.Until(ends)):
			}
		}
		f.conn.Close()
	}
}

// resident is what a process has of the machine's memory, in MiB: now, or the most
// since it was asked to begin anew.
func resident(t testing.TB, pid int, which string) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), which+":"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			return kib >> 10
		}
	}
	t.Fatalf("there is no %s", which)
	return 0
}

// p99 is that of the honest client from the n-th time on.
func (g *target) p99(n int) (p99 time.Duration, times int) {
	g.tookMu.Lock()
	took := slices.Clone(g.took[n:])
	g.tookMu.Unlock()
	slices.Sort(took)
	if len(took) == 0 {
		return 0, 0
	}
	return took[len(took)*99/100], len(took)
}

// big writes what attackers read: more than the node may have of memory.
func (g *target) big(t *testing.T) {
	t.Helper()
	value := make([]byte, bigBytes)
	for i := range bigValues {
		_, err := g.honest.Execute(soon(t), client.Put(fmt.Appendf(nil, "big/%06d", i), value))
		require.NoError(t, err)
	}
}

// besieged has some attacks go on at once, and holds that the node stays within its
// memory and, if they are cheap, serves the honest client in time. quiet is that client's p99 without them.
func (g *target) besieged(t *testing.T, name string, cheap bool, quiet time.Duration, attacks ...func(ends time.Time)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		g.tookMu.Lock()
		from := len(g.took)
		g.tookMu.Unlock()
		require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.node.PID()), []byte("5"), 0)) // the peak begins anew
		ends := time.Now().Add(attackFor)
		var all sync.WaitGroup
		for _, a := range attacks {
			all.Go(func() { a(ends) })
		}
		all.Wait()
		require.True(t, g.node.Running())
		peak := resident(t, g.node.PID(), "VmHWM")
		p99, times := g.p99(from)
		t.Logf("at most %d MiB; the honest client was served %d times, p99 %v (quiet %v)", peak, times, p99, quiet)
		require.Less(t, peak, budgetMiB)
		if cheap {
			// Where quiet times are slow already, the machine has other things to do.
			require.NotZero(t, times)
			require.Less(t, p99, max(100*time.Millisecond, 5*quiet))
		}
	})
}

// TestMemoryStaysWithinItsBudget while users with a grant to read, and strangers, do what
// takes much of it.
func TestMemoryStaysWithinItsBudget(t *testing.T) {
	g := besiege(t, "--memory-budget", fmt.Sprint(budgetMiB, "MiB"))
	root := g.client(client.WithTLS(g.config(users.Root)))
	var tokens []string
	for i := range attackers {
		u, err := root.CreateUser(soon(t), pb.CreateUserRequest{Name: fmt.Sprint("mallory", i), Rights: pb.Rights{Grants: reads("big/")}})
		require.NoError(t, err)
		tokens = append(tokens, u.Token)
	}
	g.big(t)
	g.tookMu.Lock()
	from := len(g.took)
	g.tookMu.Unlock()
	proc.Until(t, "there is a quiet time to compare with", func(context.Context) bool { _, n := g.p99(from); return n >= 500 }, func() string { return "" })
	quiet, _ := g.p99(from)

	// one is an attack by one user, or by several.
	one := func(i int, token func(i int) string, reads bool, run attempt) func(time.Time) {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 3, byte(i+1))}, Timeout: proc.Patience}
		return func(ends time.Time) { g.attempts(t, d, token(i), reads, run, ends) }
	}
	same := func(int) string { return tokens[0] }
	each := func(i int) string { return tokens[i] }
	nobody := func(int) string { return "" }
	var together []func(time.Time)
	for k, a := range memoryAttacks {
		by := same
		if a.stranger {
			by = nobody
		}
		var all []func(time.Time)
		for i := range attackers {
			all = append(all, one(i, by, a.reads, a.run))
		}
		g.besieged(t, a.name, a.cheap, quiet, all...)
		if !a.stranger {
			together = append(together, one(k%attackers, each, a.reads, a.run))
		}
	}
	g.besieged(t, "all at once, by several users", false, quiet, together...)
	eventually(t, func() error {
		var left float64
		for _, kind := range []string{"streams", "requests", "answers"} {
			left += g.metric(t, fmt.Sprintf("linchpin_callers_memory_bytes{kind=%q}", kind))
		}
		if left > 1<<20 { // the honest client's
			return fmt.Errorf("%v bytes are still counted", left)
		}
		return nil
	})
	_, err := root.Execute(soon(t), client.Get(b("big/000001")))
	require.NoError(t, err)
	require.Equal(t, kv.KindOK, kv.KindOf(err))
}
