// Package proxy is a network link for tests: a TCP proxy inside the process of the test. It can be cut
// (connections end, new ones are refused at once), and it can be a black hole (connections stay, new ones
// are accepted, nothing is delivered). What a black hole has retained is delivered when the link is healed;
// its connections survive.
//
//	p, err := proxy.Start(address of the real listener)
//	... connect to p.Addr() ...
//	p.Cut(); p.Heal(); p.Swallow(); p.Heal()
package proxy

import (
	"net"
	"sync"
	"sync/atomic"
)

// state is the state of a link.
type state uint8

const (
	flowing state = iota
	swallowing
	cut
	closed
)

// Proxy is one link. Its methods are safe for concurrent use.
type Proxy struct {
	target string
	lis    net.Listener
	// work counts the goroutines.
	work sync.WaitGroup

	mu sync.Mutex
	// changed is signaled when state changes.
	changed *sync.Cond
	state   state
	conns   map[net.Conn]struct{}
	// accepted counts the accepted connections.
	accepted atomic.Int64
}

// Start starts a link from a free loopback port to target.
func Start(target string) (*Proxy, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, lis: lis, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.work.Go(p.accept)
	return p, nil
}

// Addr returns the address of the link.
func (p *Proxy) Addr() string { return p.lis.Addr().String() }

// Cut ends all connections and refuses new ones.
func (p *Proxy) Cut() { p.set(cut) }

// Break ends all connections. New ones are accepted.
func (p *Proxy) Break() {
	p.set(cut)
	p.set(flowing)
}

// Swallow stops the delivery in both directions.
func (p *Proxy) Swallow() { p.set(swallowing) }

// Heal ends a Cut or Swallow.
func (p *Proxy) Heal() { p.set(flowing) }

// Close ends all connections and waits until they have ended.
func (p *Proxy) Close() {
	p.set(closed)
	_ = p.lis.Close() // the only call of Close
	p.work.Wait()
}

// Accepted returns the number of accepted connections, including those that were refused by a cut.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == closed {
		return
	}
	p.state = s
	if s == cut || s == closed {
		for c := range p.conns {
			_ = c.Close() // the goroutines of the connection see the error
		}
	}
	p.changed.Broadcast()
}

// await waits while the link is a black hole, and reports whether it is flowing then.
func (p *Proxy) await() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.state == swallowing {
		p.changed.Wait()
	}
	return p.state == flowing
}

// add registers a connection. It closes the connection and returns false if the link is cut or closed.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == cut || p.state == closed {
		_ = c.Close() // refused
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close() // a cut may have closed it
}

func (p *Proxy) accept() {
	for {
		c, err := p.lis.Accept()
		if err != nil {
			return // closed
		}
		p.accepted.Add(1)
		if p.add(c) {
			p.work.Go(func() { p.forward(c) })
		}
	}
}

// forward forwards one connection until either side ends it.
func (p *Proxy) forward(near net.Conn) {
	defer p.remove(near)
	if !p.await() {
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	if !p.add(far) {
		return
	}
	defer p.remove(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.copyData(near, far)
	}()
	p.copyData(far, near)
	<-back
}

// copyData copies in one direction. When that ends it closes both connections, so that the other direction ends
// too.
func (p *Proxy) copyData(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.await() {
				return
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return // io.EOF, or the connection was cut
		}
	}
}
