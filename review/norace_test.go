//go:build !race

package review_test

// walks is how many random walks there are.
const walks = 6
