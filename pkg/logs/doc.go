// Package logs is where a node's log lines go: log/slog, with what operators of
// servers expect of it.
//
//	Component("peers") ─▶ level of the component ─▶ repeats ─▶ secrets ─▶ text or JSON ─┬▶ standard error
//	                      (changed at run time)     (limited)   (blotted)               └▶ ring of recent lines
//
// Every line has its component and, once it is known, its node. Levels are set
// for each component by itself while the process runs (Logs.SetLevel); a line
// that is below its component's level costs one load.
//
// A fault that repeats must not bury the others: of lines with the same
// component, level and message, at most Burst are written in each Window; the
// first that is written afterwards says in "suppressed" how many were not.
// Messages are constants of the code, and what varies stands in attributes, so
// there are few of them; the table has a bound all the same.
//
// The ring keeps the last lines that were written, for "linchpin debug zip".
//
// What is named as secrets usually are is blotted out (Secret). That is the last
// net: code does not log secrets to begin with.
package logs
