package security

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// attacker is a connection of an attack. Its responses are not read by default.
type attacker struct {
	*frameConn
	token    string
	deadline time.Time
}

// message writes a gRPC message of a call, or only the beginning of one whose header announces more bytes.
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

// call begins a call with a complete message.
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

// attackFunc runs an attack on one connection until it fails or the attack is over.
type attackFunc func(a *attacker) error

// largeScans returns operations that read all data n times.
func largeScans(n int) (ops []pb.Op) {
	for range n {
		ops = append(ops, pb.Op{Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: b("big/"), End: b("big0")}}})
	}
	return ops
}

// repeat calls f until it fails or the attack is over.
func (a *attacker) repeat(f func() error) error {
	for time.Now().Before(a.deadline) {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// lockedKey is absent and may be read by attackers.
const lockedKey = "big/"

// memoryAttacks are attacks that use much memory.
var memoryAttacks = []struct {
	name string
	// reads: the connection is read, but with a window of zero for responses.
	reads bool
	// unauthenticated: the attack needs no user.
	unauthenticated bool
	// locked: lockedKey is locked during the attack.
	locked bool
	run    attackFunc
}{
	{name: "settings that are not read", unauthenticated: true, run: func(a *attacker) error {
		var all []http2.Setting
		for range 2000 {
			all = append(all, http2.Setting{ID: 0x99, Val: 1})
		}
		return a.repeat(func() error { return a.WriteSettings(all...) })
	}},
	{name: "endless settings", reads: true, run: func(a *attacker) error {
		if err := a.headers("/linchpin.v1.KV/Pipeline", a.token, false); err != nil { // authenticates the user
			return err
		}
		var all []http2.Setting
		for range 2000 {
			all = append(all, http2.Setting{ID: 0x99, Val: 1})
		}
		return a.repeat(func() error { return a.WriteSettings(all...) })
	}},
	{name: "pings that are not read", unauthenticated: true, run: func(a *attacker) error {
		return a.repeat(func() error { return a.WritePing(false, [8]byte{1}) })
	}},
	{name: "unfinished requests", reads: true, run: func(a *attacker) error {
		for range 400 {
			id := a.next
			if err := a.headers(executeMethod, a.token, false); err != nil {
				return err
			}
			if err := a.message(id, make([]byte, 100<<10), 16<<20, false); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "unfinished requests for the node's health", reads: true, run: func(a *attacker) error {
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
	{name: "unread responses", reads: true, run: func(a *attacker) error {
		return a.repeat(func() error {
			_, err := a.call(executeMethod, &pb.ExecuteRequest{Ops: largeScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
	{name: "unread responses to transactions of many scans", reads: true, run: func(a *attacker) error {
		return a.repeat(func() error {
			_, err := a.call(executeMethod, &pb.ExecuteRequest{Ops: largeScans(200), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
	{name: "unread responses of calls that are reset", reads: true, run: func(a *attacker) error {
		return a.repeat(func() error {
			id, err := a.call(executeMethod, &pb.ExecuteRequest{Ops: largeScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
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
				in.Calls = append(in.Calls,
					pb.Call{Handle: uint64(i), Request: pb.ExecuteRequest{Ops: largeScans(1), MaxResponseBytes: pb.MaxMessageBytes}})
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
	{name: "transactions that read all data", reads: true, run: func(a *attacker) error {
		for range 200 {
			id, err := a.call("/linchpin.v1.KV/Transact",
				&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{MaxResponseBytes: pb.MaxMessageBytes}}},
				false)
			if err != nil {
				return err
			}
			for range 20 {
				step := &pb.TransactRequest_Execute{Execute: &pb.ExecuteStep{Ops: largeScans(1)}}
				body, err := (&pb.TransactRequest{Step: step}).Marshal()
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
	{name: "endless operations", reads: true, run: func(a *attacker) error {
		return a.repeat(func() error { // two bytes each
			id := a.next
			if err := a.headers(executeMethod, a.token, false); err != nil {
				return err
			}
			return a.message(id, []byte(strings.Repeat("\x0a\x00", 60<<10)), 120<<10, true)
		})
	}},
	{name: "calls of many short operations that wait for a lock", reads: true, locked: true, run: func(a *attacker) error {
		one := pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b(lockedKey)}}}
		in := &pb.PipelineRequest{Calls: []pb.Call{{Handle: 1,
			Request: pb.ExecuteRequest{Ops: slices.Repeat([]pb.Op{one}, kv.MaxTxnOps)}}}}
		body, err := in.Marshal()
		if err != nil {
			return err
		}
		var streams []uint32
		for range 20 {
			streams = append(streams, a.next)
			if err := a.headers("/linchpin.v1.KV/Pipeline", a.token, false); err != nil {
				return err
			}
		}
		return a.repeat(func() error { // as often as the flow-control windows permit
			for _, id := range streams {
				if err := a.message(id, body, len(body), false); err != nil {
					return err
				}
			}
			<-time.After(400 * time.Millisecond)
			return nil
		})
	}},
	{name: "calls on a connection that is not read", run: func(a *attacker) error {
		return a.repeat(func() error {
			_, err := a.call(executeMethod, &pb.ExecuteRequest{Ops: largeScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
}

// attackRun is an attack by a separate process, so that the latency of the honest client depends on the
// node and not on attackers in its own process.
type attackRun struct {
	Addr, CA string
	Seconds  float64
	Attacks  []attackSpec
}

// attackSpec is one of memoryAttacks by one connection, with a token if it needs a user.
type attackSpec struct {
	Name, Token string
	// From is the last byte of the local address.
	From byte
}

// attackRunVariable is the environment variable that makes the test binary run an attack.
const attackRunVariable = "LINCHPIN_TEST_ATTACK"

// busyLoops is an attack that does not use the node: it keeps a processor busy.
const busyLoops = "busy loops"

// TestMain runs the tests or, as a separate process, an attack.
func TestMain(m *testing.M) {
	if text := os.Getenv(attackRunVariable); text != "" {
		var s attackRun
		err := json.Unmarshal([]byte(text), &s)
		if err == nil {
			err = s.run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(proc.Main(m))
}

// run runs the attacks until their time is over.
func (s *attackRun) run() error {
	k, err := certs.Open(certs.Options{Files: certs.Files{CA: s.CA}, Every: -1})
	if err != nil {
		return err
	}
	defer k.Close()
	ends := time.Now().Add(time.Duration(s.Seconds * float64(time.Second)))
	var all sync.WaitGroup
	for _, by := range s.Attacks {
		if by.Name == busyLoops {
			all.Go(func() {
				for time.Now().Before(ends) {
				}
			})
			continue
		}
		for _, a := range memoryAttacks {
			if a.name == by.Name {
				d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 3, by.From)}, Timeout: proc.WaitTimeout}
				all.Go(func() { s.attackRepeatedly(d, k.Client(), by.Token, a.reads, a.run, ends) })
			}
		}
	}
	all.Wait()
	return nil
}

// attackRepeatedly runs an attack on one connection after the other.
func (s *attackRun) attackRepeatedly(d *net.Dialer, config *tls.Config, token string, reads bool, run attackFunc,
	ends time.Time) {
	for time.Now().Before(ends) {
		f, err := dialFrames(d, s.Addr, config.Clone())
		if err != nil { // the address is rejected for a while
			<-time.After(min(100*time.Millisecond, time.Until(ends)))
			continue
		}
		_ = f.conn.SetDeadline(ends.Add(100 * time.Millisecond))
		closed := make(chan struct{})
		if reads {
			go func() {
				defer close(closed)
				_, _ = io.Copy(io.Discard, f.conn)
			}()
		}
		err = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err == nil {
			err = run(&attacker{f, token, ends})
		}
		if err == nil { // keep the connection open
			select {
			case <-closed:
			case <-time.After(time.Until(ends)):
			}
		}
		f.conn.Close()
	}
}

// runAttacks runs attacks in a separate process.
func (g *target) runAttacks(t *testing.T, attacks ...attackSpec) {
	t.Helper()
	text, err := json.Marshal(attackRun{Addr: g.addr, CA: g.file(certs.CAFile), Seconds: attackDuration.Seconds(),
		Attacks: attacks})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), attackDuration+proc.WaitTimeout)
	defer cancel()
	cmd := proc.Command(ctx, os.Args[0])
	cmd.Env = append(cmd.Env, attackRunVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
