package delay

import (
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a connection with an additional fixed delay in both directions. Writes return at once; their
// errors are returned by a later call.
type Conn struct {
	net.Conn
	out, in *delayQueue
	// read is the data that has left in and has not been read.
	read struct {
		sync.Mutex
		data     []byte
		err      error
		deadline time.Time
		// changed is closed and replaced at every change of these fields.
		changed chan struct{}
	}
	done sync.WaitGroup
}

// Wrap delays c by d in each direction. Only one end of a connection is wrapped.
func Wrap(c net.Conn, d time.Duration) (*Conn, error) {
	out, err := newDelayQueue(d)
	if err != nil {
		return nil, err
	}
	in, err := newDelayQueue(d)
	if err != nil {
		out.close()
		return nil, err
	}
	w := &Conn{Conn: c, out: out, in: in}
	w.read.changed = make(chan struct{})
	w.done.Add(3)
	go w.writeLoop()
	go w.readLoop()
	go w.deliverLoop()
	return w, nil
}

// writeLoop writes the data that leaves the outgoing queue.
func (c *Conn) writeLoop() {
	defer c.done.Done()
	err := c.out.run(func(b []byte) error {
		_, err := c.Conn.Write(b)
		return err
	})
	c.out.end(err)
}

// readLoop reads data into the incoming queue.
func (c *Conn) readLoop() {
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

// deliverLoop makes the data that leaves the incoming queue available to Read.
func (c *Conn) deliverLoop() {
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

// Write queues b.
func (c *Conn) Write(b []byte) (int, error) {
	if err := c.out.put(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read waits for delayed data.
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

// waitUntil waits until the channel is closed or the deadline, if there is one, has passed.
func waitUntil(changed <-chan struct{}, deadline time.Time) error {
	if deadline.IsZero() {
		<-changed
		return nil
	}
	remaining := time.Until(deadline)
	if remaining <= 0 {
		return os.ErrDeadlineExceeded
	}
	t := time.NewTimer(remaining)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
	return nil
}

// SetReadDeadline bounds Read, after the delay.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.update(func() { c.read.deadline = t })
	return nil
}

// SetDeadline bounds Read, and the writes to the underlying connection.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.Conn.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// Close discards data in flight.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.out.close()
	c.in.close()
	c.done.Wait()
	return err
}
