// Package embed runs linchpin inside a program: one node of a cluster as
// "linchpin start" does (Start), or a whole cluster in one process as
// "linchpin demo" does (StartCluster).
//
//	          gRPC server                      HTTP: /metrics, /healthz
//	clients ─▶ server.Server ─▶ backend ─▶ gateway ─▶ node ─▶ engine
//	peers ───▶ transport, membership ───────────────▶ node    catalog
//
// Starting goes from the bottom up, stopping from the top down: a node that
// stops admits nothing new, waits for what is in flight, and closes
// its store when everything it promised is durable.
package embed
