// Package client is the Go client of linchpin.
//
// It is being written: until it is complete, programs use package oldclient.
package client
