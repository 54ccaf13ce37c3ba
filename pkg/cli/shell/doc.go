// Package shell is `linchpin shell`: the commands of package cli, one a line, on one
// connection, and transactions of several lines.
//
//	linchpin> sadd team ann bob            a command, as on the command line
//	linchpin> begin                        from here on lines are operations of one
//	linchpin(txn)> get alice for update    transaction, as in "linchpin txn"
//	linchpin(txn)> put alice 12
//	linchpin(txn)> commit
//
// A line is cut into words as operations are (package txnlang), so that what is quoted
// is quoted the same way everywhere. Outside a transaction its first word is a command,
// and where it is not one but an operation, or where there are several, the line is one
// transaction.
//
// # Transactions
//
// An open transaction is one run of client.DB.Update, or View, in a goroutine that does
// what the lines say (transaction.go). It ends with commit or rollback, and with the
// first error that the cluster tells: then nothing of it is applied, and the shell says
// so. A line that cannot be read, or a command that is no part of a transaction, leaves
// it open, and the shell says that, too. The cluster ends one that is older than a minute
// (kv.MaxTxnAge). It is never run again by itself, since the shell cannot know what its
// user concluded from what it read.
//
// # Without a terminal
//
// Lines come from standard input, there is no prompt, and the first error ends the shell
// with that command's exit code; a transaction that is open then is rolled back, as is
// one that is open at the end.
package shell
