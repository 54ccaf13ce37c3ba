package client

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// pages receives the pages of a scan: one in advance and, if the loop does not take it, another one
// every so often. A node ends a scan whose client takes nothing for a minute.
type pages struct {
	stream grpc.ServerStreamingClient[pb.ScanResponse]
	every  time.Duration
	// came has an element when there is something in got or err is set, and took when the loop
	// has taken a page.
	came, took chan struct{}
	done       chan struct{}

	mu  sync.Mutex
	got []*pb.ScanResponse
	err error
}

func receivePages(stream grpc.ServerStreamingClient[pb.ScanResponse], every time.Duration) *pages {
	p := &pages{stream: stream, every: every, came: make(chan struct{}, 1), took: make(chan struct{}, 1),
		done: make(chan struct{})}
	go p.receive()
	return p
}

func (p *pages) receive() {
	defer close(p.done)
	timer := time.NewTimer(p.every)
	defer timer.Stop()
	for {
		page, err := p.stream.Recv()
		p.mu.Lock()
		waiting := false
		if err != nil {
			p.err = err
		} else {
			p.got = append(p.got, page)
			waiting = len(p.got) > 1
		}
		p.mu.Unlock()
		signal(p.came)
		if err != nil {
			return
		}
		if !waiting {
			continue
		}
		timer.Reset(p.every)
		select {
		case <-p.took:
		case <-p.stream.Context().Done():
		case <-timer.C:
		}
	}
}

// next returns the next page, or the error behind the last one.
func (p *pages) next() (*pb.ScanResponse, error) {
	for {
		p.mu.Lock()
		if len(p.got) > 0 {
			page := p.got[0]
			p.got[0] = nil
			p.got = p.got[1:]
			p.mu.Unlock()
			signal(p.took)
			return page, nil
		}
		err := p.err
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
		<-p.came
	}
}

// stop ends the receiving.
func (p *pages) stop(cancel context.CancelFunc) {
	cancel()
	<-p.done
}

// signal puts an element into a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
