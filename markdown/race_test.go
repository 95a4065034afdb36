//go:build race

package markdown_test

// raceDetector says that time and memory are the race detector's, not the package's.
const raceDetector = true
