package echo

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Client calls an echo server. Each caller has a number, counted from 0, and
// one call at a time.
type Client struct {
	conn   *grpc.ClientConn
	kv     pb.KVClient
	cancel context.CancelFunc
	// requests has one of each caller's.
	requests []pb.ExecuteRequest

	plain, yielding *pipe[pb.Call]
	raws            *pipe[frame]
	raw             uint32
}

// Dial connects for so many callers, which put values of so many bytes.
func Dial(addr string, callers, valueBytes int) (*Client, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		codec.DialOption())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	asked, _ := Sizes(valueBytes)
	c := &Client{conn: conn, kv: pb.NewKVClient(conn), cancel: cancel, raw: uint32(asked - header)}
	for i := range callers {
		c.requests = append(c.requests, request(uint64(i), make([]byte, valueBytes)))
	}
	if err := c.open(ctx, callers, asked); err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

func (c *Client) open(ctx context.Context, callers, asked int) error {
	var err error
	c.plain, err = c.pipeline(ctx, callers, false)
	if err != nil {
		return err
	}
	c.yielding, err = c.pipeline(ctx, callers, true)
	if err != nil {
		return err
	}
	raws, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, rawMethod)
	if err != nil {
		return err
	}
	c.raws = newPipe[frame](raws, callers)
	payload := make([]byte, asked)
	go c.raws.send(true, func(fs []frame) error { return raws.SendMsg(&batch{frames: fs, payload: payload}) })
	go c.raws.receive(receiveRaws(raws))
	return nil
}

func (c *Client) pipeline(ctx context.Context, callers int, yielding bool) (*pipe[pb.Call], error) {
	s, err := c.kv.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	p := newPipe[pb.Call](s, callers)
	go p.send(yielding, func(calls []pb.Call) error { return s.SendMsg(&pb.PipelineRequest{Calls: calls}) })
	go p.receive(receivePuts(s))
	return p, nil
}

func receivePuts(s grpc.ClientStream) func(func(int)) error {
	var in pb.PipelineResponse
	return func(wake func(int)) error {
		in.Responses = in.Responses[:0]
		err := s.RecvMsg(&in)
		for i := range in.Responses {
			wake(int(in.Responses[i].Handle))
		}
		return err
	}
}

func receiveRaws(s grpc.ClientStream) func(func(int)) error {
	var in batch
	return func(wake func(int)) error {
		in.frames = in.frames[:0]
		err := s.RecvMsg(&in)
		for _, f := range in.frames {
			wake(int(f.caller))
		}
		return err
	}
}

// Close ends the connection; calls in flight fail.
func (c *Client) Close() error {
	c.cancel()
	return c.conn.Close()
}

// Unary makes one unary call.
func (c *Client) Unary(ctx context.Context, caller int) error {
	_, err := c.kv.Execute(ctx, &c.requests[caller])
	return err
}

// Stream makes one call over the shared stream.
func (c *Client) Stream(_ context.Context, caller int) error {
	return c.plain.call(caller, pb.Call{Handle: uint64(caller), Request: c.requests[caller]})
}

// Yielding is Stream with a sender that yields to callers before it sends.
func (c *Client) Yielding(_ context.Context, caller int) error {
	return c.yielding.call(caller, pb.Call{Handle: uint64(caller), Request: c.requests[caller]})
}

// Raw makes one call over the shared stream of bytes, with a sender that
// yields.
func (c *Client) Raw(_ context.Context, caller int) error {
	return c.raws.call(caller, frame{caller: uint32(caller), size: c.raw})
}
