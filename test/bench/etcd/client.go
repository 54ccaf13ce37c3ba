package etcd

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
)

// Client is a connection to one member. Its methods are safe for concurrent use.
type Client struct{ conn *grpc.ClientConn }

// Dial makes a client of the member at an address. It connects with the first call.
func Dial(addr string) (*Client, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		codec.DialOption())
	return &Client{conn}, err
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// The methods of etcd's service.
const (
	rangeMethod = "/etcdserverpb.KV/Range"
	putMethod   = "/etcdserverpb.KV/Put"
	txnMethod   = "/etcdserverpb.KV/Txn"
)

func (c *Client) call(ctx context.Context, method string, request []byte) (*message, error) {
	response := &message{}
	return response, c.conn.Invoke(ctx, method, &message{request}, response)
}

// Put puts a value.
func (c *Client) Put(ctx context.Context, key string, value []byte) error {
	_, err := c.call(ctx, putMethod, encodePut(key, value))
	return err
}

// Get returns the value of a key and the revision at which it was put, zero if there is none.
func (c *Client) Get(ctx context.Context, key string) (value []byte, revision int64, err error) {
	response, err := c.call(ctx, rangeMethod, encodeRange(key))
	if err != nil {
		return nil, 0, err
	}
	return decodeRange(response.bytes)
}

// PutIf puts a value if the key still has a revision, and reports whether it has done so.
func (c *Client) PutIf(ctx context.Context, key string, value []byte, revision int64) (done bool, err error) {
	response, err := c.call(ctx, txnMethod, encodePutIf(key, value, revision))
	if err != nil {
		return false, err
	}
	return decodeSucceeded(response.bytes)
}

// Increment adds one to a number, by Get and PutIf until that succeeds.
func (c *Client) Increment(ctx context.Context, key string) error {
	for done := false; !done; {
		n, revision, err := c.Number(ctx, key)
		if err == nil {
			done, err = c.PutIf(ctx, key, strconv.AppendInt(nil, n+1, 10), revision)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errNumber says that Increment cannot count with what is there.
var errNumber = errors.New("etcd: the value is no number; use a key that only Increment writes")

// Number returns a number and its revision, both zero if there is none.
func (c *Client) Number(ctx context.Context, key string) (n, revision int64, err error) {
	value, revision, err := c.Get(ctx, key)
	if err != nil || revision == 0 {
		return 0, 0, err
	}
	n, err = strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, 0, errNumber
	}
	return n, revision, nil
}
