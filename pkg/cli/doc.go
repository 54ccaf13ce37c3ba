// Package cli is linchpin's command line: the commands that connect to a cluster.
//
// Each command is one file and writes to the streams of New, so that a test can run it:
//
//	var out, errs bytes.Buffer
//	code := cli.Main(ctx, cli.New(cli.Streams{In: in, Out: &out, Err: &errs}), args)
//
// The program adds the commands that run servers with AddCommand; Main gives their errors the same exit
// codes. The result goes to standard output, and everything else to standard error.
//
// docs/cli.md is generated from the commands' help (Reference).
package cli
