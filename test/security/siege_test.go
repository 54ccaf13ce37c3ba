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

// lockedKey may be read by attackers, and has no value.
const lockedKey = "big/"

// memoryAttacks are by name.
var memoryAttacks = []struct {
	name string
	// reads says that the connection is read, although no call may be answered on it.
	reads bool
	// stranger says that it takes no user.
	stranger bool
	// locked says that lockedKey is locked meanwhile.
	locked bool
	run    attempt
}{
	{name: "settings that are not read", stranger: true, run: func(a *attacker) error {
		var all []http2.Setting
		for range 2000 {
			all = append(all, http2.Setting{ID: 0x99, Val: 1})
		}
		return a.while(func() error { return a.WriteSettings(all...) })
	}},
	{name: "settings without end", reads: true, run: func(a *attacker) error {
		if err := a.headers("/linchpin.v1.KV/Pipeline", a.token, false); err != nil { // it is a user
			return err
		}
		var all []http2.Setting
		for range 2000 {
			all = append(all, http2.Setting{ID: 0x99, Val: 1})
		}
		return a.while(func() error { return a.WriteSettings(all...) })
	}},
	{name: "pings that are not read", stranger: true, run: func(a *attacker) error {
		return a.while(func() error { return a.WritePing(false, [8]byte{1}) })
	}},
	{name: "unfinished requests", reads: true, run: func(a *attacker) error {
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
	{name: "unread answers", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
	{name: "unread answers to transactions of many scans", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(200), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
	{name: "unread answers of calls that are reset", reads: true, run: func(a *attacker) error {
		return a.while(func() error {
			id, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
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
				in.Calls = append(in.Calls, pb.Call{Handle: uint64(i), Request: pb.ExecuteRequest{Ops: bigScans(1), MaxResponseBytes: pb.MaxMessageBytes}})
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
			id, err := a.call("/linchpin.v1.KV/Transact", &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{MaxResponseBytes: pb.MaxMessageBytes}}}, false)
			if err != nil {
				return err
			}
			for range 20 {
				body, err := (&pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: &pb.ExecuteStep{Ops: bigScans(1)}}}).Marshal()
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
	{name: "calls of many short operations that wait for a lock", reads: true, locked: true, run: func(a *attacker) error {
		one := pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: b(lockedKey)}}}
		in := &pb.PipelineRequest{Calls: []pb.Call{{Handle: 1, Request: pb.ExecuteRequest{Ops: slices.Repeat([]pb.Op{one}, kv.MaxTxnOps)}}}}
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
		return a.while(func() error { // as often as the streams' windows allow
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
		return a.while(func() error {
			_, err := a.call(execute, &pb.ExecuteRequest{Ops: bigScans(1), MaxResponseBytes: pb.MaxMessageBytes}, true)
			return err
		})
	}},
}

// siege is an attack by a process of its own: what the honest client has to wait for is
// then the node, and not the attackers beside it.
type siege struct {
	Addr, CA string
	Seconds  float64
	Attacks  []attackBy
}

// attackBy is one of memoryAttacks by a connection, with a token if it takes a user.
type attackBy struct {
	Name, Token string
	// From is the last byte of the address.
	From byte
}

// siegeVar has the test binary be the attacker.
const siegeVar = "LINCHPIN_TEST_SIEGE"

// hogs is an attack that has nothing to do with the node: it takes a processor.
const hogs = "nothing but processors"

// TestMain is the attacker's, too.
func TestMain(m *testing.M) {
	if text := os.Getenv(siegeVar); text != "" {
		var s siege
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

// run attacks, until its time is over.
func (s *siege) run() error {
	k, err := certs.Open(certs.Options{Files: certs.Files{CA: s.CA}, Every: -1})
	if err != nil {
		return err
	}
	defer k.Close()
	ends := time.Now().Add(time.Duration(s.Seconds * float64(time.Second)))
	var all sync.WaitGroup
	for _, by := range s.Attacks {
		if by.Name == hogs {
			all.Go(func() {
				for time.Now().Before(ends) {
				}
			})
			continue
		}
		for _, a := range memoryAttacks {
			if a.name == by.Name {
				d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 3, by.From)}, Timeout: proc.WaitTimeout}
				all.Go(func() { s.attempts(d, k.Client(), by.Token, a.reads, a.run, ends) })
			}
		}
	}
	all.Wait()
	return nil
}

// attempts has a connection attack, again and again.
func (s *siege) attempts(d *net.Dialer, config *tls.Config, token string, reads bool, run attempt, ends time.Time) {
	for time.Now().Before(ends) {
		f, err := tryFrames(d, s.Addr, config.Clone())
		if err != nil { // the address is refused for a while
			<-time.After(min(100*time.Millisecond, time.Until(ends)))
			continue
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

// attacked has the attacks done, by a process of its own.
func (g *target) attacked(t *testing.T, attacks ...attackBy) {
	t.Helper()
	text, err := json.Marshal(siege{Addr: g.addr, CA: g.file(certs.CAFile), Seconds: attackFor.Seconds(), Attacks: attacks})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), attackFor+proc.WaitTimeout)
	defer cancel()
	cmd := proc.Command(ctx, os.Args[0])
	cmd.Env = append(cmd.Env, siegeVar+"="+string(text))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
