// Package console is the web page that shows what a cluster does now: a handler
// for a node's HTTP port, with its page embedded and nothing loaded from elsewhere.
//
//	GET /console/                 the page
//	GET /console/api/v1/snapshot  one Document, as JSON
//	GET /console/api/v1/events    Documents, one a second, as server-sent events
//
// All that it shows comes from the services that clients and the command line have
// (Source), through the node that it runs on, which asks the others: it can tell
// nothing that "linchpin hot", "receipts", "waits" and "snapshot list" do not tell.
//
// # What it costs
//
// Nothing while nobody looks. While somebody does, one Document is made a second,
// however many look: a question to each node and one to the hot shard. At most
// maxStreams streams are served at once. A stream begins with a whole Document, of
// five minutes; those that follow have the last ten seconds, and all else anew.
//
// # Who may see it
//
// The handler knows no users. It reads, and offers nothing that changes anything; but
// keys are data. Whoever mounts it wraps it in what protects the HTTP port:
//
//	mux.Handle("/console/", protect(console.New(source, allowed)))
//
// Browsers send cookies, Basic credentials and client certificates along with the page's
// requests, and no other headers. What a node answers instead of a stream the page shows.
//
// Keys can be anything, and so can be names. The page makes text nodes of them, never
// markup, and its Content-Security-Policy forbids all code but the page's own files,
// and inline code altogether.
package console
