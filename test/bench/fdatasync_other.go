//go:build !linux

package main

import "os"

// fdatasync is what a log's file is synced with.
func fdatasync(f *os.File) error { return f.Sync() }
