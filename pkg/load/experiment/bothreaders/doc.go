// Package bothreaders holds readers without locks against those that lock: a
// workload runs in turn on two clusters in this process, which differ in
// nothing else.
//
// Each cluster has three nodes that serve gRPC on the loopback, and stays for
// all mixes and rounds; each mix has keys of its own on it. What is compared
// runs in turn, and reports medians over the rounds.
package bothreaders
