// Command distinct is linchpin with an additional data type.
package main

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/program"
)

func main() {
	adt.Install(distinct)
	program.Main()
}
