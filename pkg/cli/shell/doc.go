// Package shell is `linchpin shell`: the commands of package cli, one per line, on one connection, and
// transactions of several lines.
//
//	linchpin> sadd team ann bob            a command, as on the command line
//	linchpin> begin                        from here on lines are operations of one
//	linchpin(txn)> get alice for update    transaction, as in "linchpin txn"
//	linchpin(txn)> put alice 12
//	linchpin(txn)> commit
//
// A line is split into words as operations are (package txnlang), so that quoting is the same everywhere.
// Outside a transaction its first word is a command; a line that is an operation, or several, is one
// transaction.
//
// # Transactions
//
// An open transaction is one run of client.DB.Update, or View, in a goroutine that follows the lines
// (transaction.go). It ends with commit or rollback, and with the first error of the cluster: then nothing is
// applied. A line with a syntax error, or with a command that cannot be part of a transaction, leaves it open.
// The shell prints which of these holds. The cluster ends a transaction that is older than a minute
// (kv.MaxTxnAge). It is never retried, since the next lines depend on what the user read.
//
// # Without a terminal
//
// Lines come from standard input, there is no prompt, and the first error ends the shell with the exit code of
// that command. A transaction that is open then, or at the end of the input, is rolled back.
package shell
