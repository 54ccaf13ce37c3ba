// Command linchpin runs and uses linchpin; all of it is in package program.
package main

import "github.com/linchpindb/linchpin/pkg/program"

func main() { program.Main() }
