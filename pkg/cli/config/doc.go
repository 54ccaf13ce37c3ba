// Package config resolves the settings of a command. The precedence is the same for every flag of every
// command:
//
//	--cache-mb 512                      the command line, before
//	LINCHPIN_CACHE_MB=512               the environment, before
//	cache-mb: 512                       the file that --config names, before
//	256                                 the default
//
// A setting has the name of its flag. In the environment it is LINCHPIN_ and the name in capitals, with "_"
// for "-". An empty variable counts as absent. The file is YAML: a mapping of names to values, or to lists for
// flags that can be repeated. The environment can give such a flag one value. A path in the file is relative to
// the file's directory (MarkPaths marks the flags that are paths); on the command line and in the environment, to
// that of the process.
//
// A file with an unknown setting, or with one twice, is rejected as a whole, with the line and the nearest name:
// a misspelt setting must not pass unnoticed. Variables that name no flag are ignored.
package config
