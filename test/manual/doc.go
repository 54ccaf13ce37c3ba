// Package manual does what pages tell readers to do, and holds what comes of it
// against what the pages say.
//
// A fenced block is run if the line before it is a marker:
//
//	<!-- run -->
//	```console
//	$ linchpin put greeting hello
//	version 0.3.1
//	```
//
// All blocks of a page are run in the page's order, in one bash, which begins in an
// empty directory: what one block starts in the background or sets, the next one has.
// In a "console" block a line that begins with "$ " is a command, "> " goes on with it,
// and the lines below are what it prints, on both outputs together. In an "sh" block all
// lines are commands, whose outputs are not told. A command has to succeed, unless the
// page shows its error ("linchpin: ...").
//
// What is different each time is compared by its form (Same): times, ids, versions of
// keys, how long things took, and how wide columns are. "..." stands for anything within
// a line, and for any lines if it is alone. Everything else has to be as it is told.
//
//	blocks, err := Blocks(page.Text)        // what is to be run
//	s := StartShell(t, bin, ports)          // where
//	for _, c := range blocks[0].Commands { s.Run(t, c) }
//	s.Ended(t)                              // the page has ended what it has started
//
// The ports that pages name (7001, 7070, 7101, 9190, ...) are replaced by free ones, so
// that the tests do not mind what else is on the machine.
package manual
