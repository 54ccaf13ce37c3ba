// Package proxy is a network link for tests: a TCP proxy inside the test's
// process that can be cut (connections end, new ones are refused at once) and
// can become a black hole (connections stay, nothing arrives, new ones are
// accepted and stay silent). What a black hole holds back arrives when the
// link is healed, as after a router's nap; connections survive that.
//
//	p, err := proxy.Start(address of the real listener)
//	... call p.Addr() ...
//	p.Cut(); p.Heal(); p.Swallow(); p.Heal()
package proxy

import (
	"net"
	"sync"
	"sync/atomic"
)

// state is what the link does.
type state uint8

const (
	flowing state = iota
	swallowing
	cut
	closed
)

// Proxy is one link. Its methods may be called by any goroutine.
type Proxy struct {
	target string
	lis    net.Listener
	// work counts the goroutines.
	work sync.WaitGroup

	mu sync.Mutex
	// changed is signalled when state changes.
	changed *sync.Cond
	state   state
	conns   map[net.Conn]struct{}
	// accepted counts connections.
	accepted atomic.Int64
}

// Start makes a link to target that begins at a free port of the loopback.
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

// Addr is where the link begins.
func (p *Proxy) Addr() string { return p.lis.Addr().String() }

// Cut ends all connections and those to come.
func (p *Proxy) Cut() { p.set(cut) }

// Break ends all connections; new ones go through.
func (p *Proxy) Break() {
	p.set(cut)
	p.set(flowing)
}

// Swallow has connections carry nothing, in both directions.
func (p *Proxy) Swallow() { p.set(swallowing) }

// Heal ends a Cut or Swallow.
func (p *Proxy) Heal() { p.set(flowing) }

// Close ends everything and waits until it has ended.
func (p *Proxy) Close() {
	p.set(closed)
	_ = p.lis.Close() // it is only closed here
	p.work.Wait()
}

// Accepted is how many connections were begun, those refused included.
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
			_ = c.Close() // its own goroutines see to the rest
		}
	}
	p.changed.Broadcast()
}

// await waits while the link swallows, and reports whether it flows then.
func (p *Proxy) await() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.state == swallowing {
		p.changed.Wait()
	}
	return p.state == flowing
}

// enter notes a connection, unless the link carries none.
func (p *Proxy) enter(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == cut || p.state == closed {
		_ = c.Close() // it is refused
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close() // it may have been closed by a cut
}

func (p *Proxy) accept() {
	for {
		c, err := p.lis.Accept()
		if err != nil {
			return // closed
		}
		p.accepted.Add(1)
		if p.enter(c) {
			p.work.Go(func() { p.join(c) })
		}
	}
}

// join carries one connection until either side ends it.
func (p *Proxy) join(near net.Conn) {
	defer p.leave(near)
	if !p.await() {
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	if !p.enter(far) {
		return
	}
	defer p.leave(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.carry(near, far)
	}()
	p.carry(far, near)
	<-back
}

// carry copies from one end to the other, and closes both when that ends, so
// that the other direction ends, too.
func (p *Proxy) carry(to, from net.Conn) {
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
