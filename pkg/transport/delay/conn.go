package delay

import (
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a connection whose both directions take a fixed time longer. Writes
// return at once; their errors show up in a later call.
type Conn struct {
	net.Conn
	out, in *line
	// read is what came out of in and was not read yet.
	read struct {
		sync.Mutex
		data     []byte
		err      error
		deadline time.Time
		// changed is closed, and made anew, at every change of the above.
		changed chan struct{}
	}
	done sync.WaitGroup
}

// Wrap makes c slower by d each way. Only one end of a connection is wrapped.
func Wrap(c net.Conn, d time.Duration) (*Conn, error) {
	out, err := newLine(d)
	if err != nil {
		return nil, err
	}
	in, err := newLine(d)
	if err != nil {
		out.close()
		return nil, err
	}
	w := &Conn{Conn: c, out: out, in: in}
	w.read.changed = make(chan struct{})
	w.done.Add(3)
	go w.pumpOut()
	go w.pumpWire()
	go w.pumpIn()
	return w, nil
}

// pumpOut writes what left the outward line to the wire.
func (c *Conn) pumpOut() {
	defer c.done.Done()
	err := c.out.run(func(b []byte) error {
		_, err := c.Conn.Write(b)
		return err
	})
	c.out.end(err)
}

// pumpWire reads the wire into the inward line.
func (c *Conn) pumpWire() {
	defer c.done.Done()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Conn.Read(buf)
		if n > 0 {
			if putErr := c.in.put(buf[:n]); putErr != nil {
				return
			}
		}
		if err != nil {
			c.in.end(err)
			return
		}
	}
}

// pumpIn offers what left the inward line to Read.
func (c *Conn) pumpIn() {
	defer c.done.Done()
	err := c.in.run(func(b []byte) error {
		c.update(func() { c.read.data = append(c.read.data, b...) })
		return nil
	})
	c.update(func() { c.read.err = err })
}

func (c *Conn) update(f func()) {
	c.read.Lock()
	defer c.read.Unlock()
	f()
	close(c.read.changed)
	c.read.changed = make(chan struct{})
}

// Write puts b on its way.
func (c *Conn) Write(b []byte) (int, error) {
	if err := c.out.put(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read waits for bytes that have come all the way.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		c.read.Lock()
		if len(c.read.data) > 0 {
			n := copy(b, c.read.data)
			c.read.data = c.read.data[n:]
			if len(c.read.data) == 0 {
				c.read.data = nil
			}
			c.read.Unlock()
			return n, nil
		}
		err, changed, deadline := c.read.err, c.read.changed, c.read.deadline
		c.read.Unlock()
		if err != nil {
			return 0, err
		}
		if err := waitUntil(changed, deadline); err != nil {
			return 0, err
		}
	}
}

// waitUntil waits for the channel to be closed, until the deadline if there
// is one.
func waitUntil(changed <-chan struct{}, deadline time.Time) error {
	if deadline.IsZero() {
		<-changed
		return nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
	return nil
}

// SetReadDeadline bounds Read on this side of the delay.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.update(func() { c.read.deadline = t })
	return nil
}

// SetDeadline bounds Read, and the writes to the wire.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.Conn.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// Close gives up what is under way.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.out.close()
	c.in.close()
	c.done.Wait()
	return err
}
