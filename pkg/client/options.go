package client

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Option is an option of [Open].
type Option func(*options)

// options are those of a client.
type options struct {
	link link.Options
	// readEvery is how long a page of a scan waits for the caller before the next one is received.
	readEvery time.Duration
	// traces: continue the traces of the callers' contexts.
	traces    bool
	observers []func(context.Context, Report)
}

func defaults() options {
	return options{
		link: link.Options{
			MaxInFlight:    4096,
			ConnectTimeout: 3 * time.Second,
			RetryFor:       kv.MaxTxnAge,
			// The conflict of an aborted transaction usually ends with a commit a few milliseconds
			// later; a node that restarts takes seconds.
			LeastPause: 4 * time.Millisecond,
			MostPause:  500 * time.Millisecond,
			Closed:     &Error{Kind: KindClosed, Message: "the client was closed", Hint: "open another one", Op: -1},
		},
		readEvery: kv.MaxTxnAge / 3, // a node waits for MaxTxnAge unless it is configured otherwise
	}
}

// WithTLS encrypts the connections. A client certificate in the config says which user calls, unless
// [WithAPIToken] does.
func WithTLS(config *tls.Config) Option {
	return WithTLSFunc(func() *tls.Config { return config })
}

// WithTLSFunc is WithTLS with a config for each connection, so that certificates can be replaced
// while the client is open.
func WithTLSFunc(config func() *tls.Config) Option { return func(o *options) { o.link.TLS = config } }

// WithAPIToken authenticates the client by an API token. The function is called for each stream and
// call. It needs [WithTLS], since a token must not be sent in the clear.
func WithAPIToken(token func(ctx context.Context) (string, error)) Option {
	return func(o *options) { o.link.Token = token }
}

// TokenFile returns an argument of [WithAPIToken] that reads the token from a file each time, so
// that it can be replaced. Space around the token is ignored.
func TokenFile(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(string(b)), nil
	}
}

// WithConnectTimeout bounds the time to connect to one address before the next one is tried. The
// default is 3 s.
func WithConnectTimeout(d time.Duration) Option {
	return func(o *options) { o.link.ConnectTimeout = d }
}

// WithBackoff sets the least and the most time between two attempts. The defaults are 4 ms and
// 500 ms. The time doubles with each attempt, and is varied by up to half at random.
func WithBackoff(least, most time.Duration) Option {
	return func(o *options) { o.link.LeastPause, o.link.MostPause = least, most }
}

// WithMaxInFlight bounds the one-shot transactions (Execute and the calls of a [DB] that are one) of
// the client in flight to each node; more wait to be sent. The default is 4096, the least 1. The node's own
// bound holds as well.
func WithMaxInFlight(n int) Option { return func(o *options) { o.link.MaxInFlight = max(n, 1) } }

// WithDialer replaces how connections are opened.
func WithDialer(dial func(ctx context.Context, addr string) (net.Conn, error)) Option {
	return func(o *options) { o.link.Dialer = dial }
}

// WithTracing continues the OpenTelemetry trace of the context of a call: nodes that trace make
// their spans below its span. The client makes no spans of its own.
func WithTracing() Option { return func(o *options) { o.traces = true } }

// WithObserver calls observe after each transaction and scan of the client, in the goroutine of the
// caller. Several observers are called in the order of the options.
func WithObserver(observe func(context.Context, Report)) Option {
	return func(o *options) { o.observers = append(o.observers, observe) }
}

// CallOption is an option of [DB.With].
type CallOption func(*how)

// how is what call options say.
type how struct {
	policy link.Policy
	at     *pb.At
	token  []byte
	plan   pb.ReadPlan
	// report is what ReportTo has named.
	report *Report
	// opened is called with the state of the past that was read; nil if there is nothing to call.
	opened func(*pb.Snapshot)
}

// defaultCommitGrace is the default of CommitGrace.
const defaultCommitGrace = 50 * time.Millisecond

// NoRetry makes one attempt only: the call returns the error that would have led to another one. It
// is for functions that must not run twice, and for callers that retry themselves. An outcome that
// is lost with the connection is queried all the same.
func NoRetry() CallOption { return func(h *how) { h.policy.NoRetry = true } }

// WaitForNodes retries calls that need a shard on a node that is known to be down, until the node is
// back or the context ends (60 s without a deadline). Without it such a call fails at once with
// [KindUnavailable], and [Error].Down names the node.
func WaitForNodes() CallOption { return func(h *how) { h.policy.WaitForNodes = true } }

// CommitGrace bounds how long a call whose context has ended waits for the response to what it has
// sent. The default is 50 ms.
func CommitGrace(d time.Duration) CallOption { return func(h *how) { h.policy.Grace = max(d, 0) } }

// After has calls read no state older than that of the token. Without a token they read no state
// older than what was acknowledged before the call, to any client; a token makes sure that a cluster
// which has lost data reports that, and that a snapshot is new enough.
func After(token CausalityToken) CallOption { return func(h *how) { h.token = token } }

// ReportTo has each call of the handle write its report to r when it ends, and each scan when it
// begins, too. A handle with it is for one goroutine.
func ReportTo(r *Report) CallOption { return func(h *how) { h.report = r } }
