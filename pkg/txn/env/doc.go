// Package env is what the parts of a gateway machine see of the machine around them: its
// configuration, the time, and the messages to send. A part owns everything else that it
// works on, and returns what has happened.
package env
