package client

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Option changes how a DB behaves.
type Option func(*options)

// Dialer opens a connection to an address that was given to Open.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

type options struct {
	// retries: try again what is retryable.
	retries bool
	// waitForShards: also what fails because a node is known to be down.
	waitForShards bool
	// maxInFlight bounds the requests of Execute that are unanswered.
	maxInFlight int
	// failsOver: there are other addresses to which the client turns when its node is silent.
	failsOver bool
	// connectTimeout bounds the time to reach one address and be welcomed.
	connectTimeout time.Duration
	// patience bounds retries under a context without a deadline.
	patience time.Duration
	// firstPause and longestPause bound the pauses between attempts, which
	// double from one to the other, give or take half.
	firstPause, longestPause time.Duration
	dialer                   Dialer
	dial                     []grpc.DialOption
	// tls and token say how to encrypt, and who calls; nil is not at all.
	tls   func() *tls.Config
	token func() (string, error)
	// traces: continue the traces of the callers' contexts.
	traces bool
}

func defaults() options {
	return options{
		retries:        true,
		maxInFlight:    4096,
		connectTimeout: 3 * time.Second,
		patience:       kv.MaxTxnAge,
		// An aborted transaction usually finds its way free a commit later,
		// which is a few milliseconds; a node that comes back takes seconds.
		firstPause:   4 * time.Millisecond,
		longestPause: 500 * time.Millisecond,
	}
}

// WithRetries says whether attempts that failed with a retryable kind are made
// again; the default is true. Without retries a lost answer is still enquired
// about, because the caller could not do it better, and a transaction that was
// not sent at all still moves on to another node.
func WithRetries(on bool) Option { return func(o *options) { o.retries = on } }

// WithWaitForShards says whether to wait for a node that is known to be down: what needs
// a shard on it is tried again, until it is back, the context ends, or, under a context
// without a deadline, a minute has passed. The default is not to: the call ends at once
// with an Error of kv.KindUnavailable that names the node and its shards (Error.Down),
// and calls that need other shards go on. Nodes are known to be down when they have not
// been heard of for 3 s; a shorter absence, and a node that drains, are waited for in
// any case. It is for what has to get through a restart of a node, and has no effect
// without retries.
func WithWaitForShards(on bool) Option { return func(o *options) { o.waitForShards = on } }

// WithMaxInFlight bounds how many calls of Execute wait for an answer at the
// same time; more wait to be sent. The default is 4096, the least 1, and the
// server's own bound holds as well.
func WithMaxInFlight(n int) Option { return func(o *options) { o.maxInFlight = max(n, 1) } }

// WithConnectTimeout bounds the time to reach one address and be welcomed
// there, before the next address is tried. The default is 3 s.
func WithConnectTimeout(d time.Duration) Option { return func(o *options) { o.connectTimeout = d } }

// WithPauses sets the shortest and the longest pause between attempts; the
// defaults are 4 ms and 500 ms. Each pause is twice the one before, and then
// made up to half shorter or longer by chance.
func WithPauses(shortest, longest time.Duration) Option {
	return func(o *options) { o.firstPause, o.longestPause = shortest, longest }
}

// WithDialer replaces how connections are opened, for example to lead them
// through a proxy that injects faults.
func WithDialer(d Dialer) Option { return func(o *options) { o.dialer = d } }

// WithTLS encrypts connections. config is asked for each, so that certificates can
// change while the client is open; that of package certs does so. A certificate
// in it says which user calls, unless WithToken does.
func WithTLS(config func() *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithToken says by a token which user calls. token is asked for each stream and
// call, so that it may read a file; it needs WithTLS, for else everybody on the
// way could read the token.
func WithToken(token func() (string, error)) Option { return func(o *options) { o.token = token } }

// WithTraces has transactions and scans continue the OpenTelemetry trace of the context
// that they are called with, if there is one: nodes that trace (--trace-endpoint) make
// their spans below its span, and go by whether it is sampled. The default is not to look
// for one. The client makes no spans of its own.
func WithTraces() Option { return func(o *options) { o.traces = true } }

// WithDialOptions adds options to every gRPC connection. Without WithTLS, or
// transport credentials among them, connections are not encrypted.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}
