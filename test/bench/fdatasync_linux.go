package main

import (
	"os"
	"syscall"
)

// fdatasync is what a log's file is synced with.
func fdatasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
