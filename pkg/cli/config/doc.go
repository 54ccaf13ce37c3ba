// Package config is where a command's settings come from. There is one precedence,
// for every flag of every command:
//
//	--cache-mb 512                      the command line, before
//	LINCHPIN_CACHE_MB=512               the environment, before
//	cache-mb: 512                       the file that --config names, before
//	256                                 the default
//
// A setting has one name: the flag's. In the environment it is LINCHPIN_ and the name
// in capitals, with "_" for "-". An empty variable is as good as none. The file is YAML:
// a mapping of names to values, or to lists for flags that can be repeated. The
// environment can give such a flag one value. A path in the file is relative to the
// file's own directory (MarkPaths says which flags are paths); on the command line and
// in the environment, to that of the process.
//
// A file that says something unknown, or the same twice, is refused as a whole, with
// the line and the nearest name: a setting that is misspelt must not pass for one that
// is made. Variables that name no flag are somebody else's, and ignored.
package config
