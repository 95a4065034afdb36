//go:build race

package review_test

// walks is how many random walks there are: they do one thing at a time, and with the race detector a store on
// disk is slow.
const walks = 2
