package main

import (
	"os/exec"
	"runtime"
)

// openBrowser shows url in the person's browser. It returns when the system's opener has ended,
// which may be when the browser does.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	return exec.Command(name, args...).Run()
}
