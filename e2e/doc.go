// Package e2e holds the tests that see serve-web as its users do: they start the built binary and
// read its pages in Chromium. It imports nothing of this module.
//
// They need Chromium and the driver that make test lays out, and skip themselves where the
// environment does not name the driver (PLAYWRIGHT_DRIVER_PATH).
package e2e
