// Package cli is linchpin's command line: the commands that talk to a cluster.
//
// Each command is one file and writes to the streams that New was given, so
// that it can be run inside a test:
//
//	var out, errs bytes.Buffer
//	code := cli.Main(ctx, cli.New(cli.Streams{In: in, Out: &out, Err: &errs}), args)
//
// The program adds the commands that run servers with AddCommand; Main gives
// their errors the same exit codes. What is printed where:
//
//	standard output  the answer, and nothing but the answer
//	standard error   why there is none, then what to do about it
//
// docs/cli.md describes the commands, the output formats and the exit codes;
// exit.go has the table of codes.
package cli
