// Package console is a web page that shows the current state of a cluster: an HTTP handler
// with the page embedded. The page loads nothing from other hosts.
//
//	GET /console/                 the page
//	GET /console/api/v1/snapshot  one Document, as JSON
//	GET /console/api/v1/events    a Document per second, as server-sent events
//
// All data comes from the services that clients and the CLI use (Source), through the node
// that serves the page, which requests it from the other nodes.
//
// # Cost
//
// None while no page is open. While pages are open, one Document is built per second,
// however many pages there are: one request to each node and one to the hot shard. A node
// serves at most maxStreams streams. A stream starts with a whole Document, of five
// minutes; the following ones have only the last ten seconds of Seconds.
//
// # Access control
//
// The handler does not authenticate. It is read-only, but keys are data. The caller wraps
// it in the protection of the HTTP port:
//
//	mux.Handle("/console/", protect(console.New(source, allowed)))
//
// Browsers send cookies, Basic credentials and client certificates with the requests of the
// page, and no other headers. If the server rejects a stream, the page shows the reason.
//
// Keys and names may contain anything. The page inserts them as text nodes, never as
// markup, and its Content-Security-Policy allows only the page's own files to run.
package console
