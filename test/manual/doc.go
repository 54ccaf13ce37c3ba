// Package manual does what pages instruct readers to do, and compares the results
// against what the pages say.
//
// A fenced block is run if the line before it is a marker:
//
//	<!-- run -->
//	```sh
//	linchpin put greeting hello
//	#> version 0.3.1
//	```
//
// All blocks of a page are run in the page's order, in one bash, which begins in an
// empty directory: what one block starts in the background or sets, the next one has.
// Lines that begin with "#>" are what the command above prints, on both outputs together;
// the shell takes them for comments, so that whole blocks can be pasted. A block that
// shows nothing is not compared. A command has to succeed, unless the page shows its error
// ("linchpin: ..."). It must not read the shell's input, which would be the next lines, nor
// wait for or end "all jobs", since some may be the reader's.
//
// A block of Go is run as well, marked or not: a program, or the inside of a function
// (Program). Those of the manual are run at their place on the page.
//
// What is different each time is compared by its form (Same): times, ids, versions of
// keys, how long things took, and how wide columns are. "..." stands for anything within
// a line, and for any lines if it is alone. Everything else has to be as on the page.
//
//	blocks, err := Blocks(page.Text)        // what is to be run
//	s := StartShell(t, bin, ports)          // where
//	for _, c := range blocks[0].Commands { s.Run(t, page, c) }
//	s.Ended(t)                              // the page has ended what it has started
//
// The ports that pages name (7001, 7070, 7101, 9190, ...) are replaced by free ones, so
// that the tests do not mind what else is on the machine.
package manual
