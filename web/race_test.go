//go:build race

package web

// raceDetector says that time and memory are the race detector's, not the package's.
const raceDetector = true
