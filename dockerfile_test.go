package servewebtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read returns a file at the root as it is.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// instructions returns the Dockerfile's, as name and rest.
func instructions(t *testing.T) (list [][2]string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(name, "#") {
			list = append(list, [2]string{name, rest})
		}
	}
	return list
}

// TestDockerfile holds that the image is built by the Makefile, and runs as it says: the image itself
// is not built here.
func TestDockerfile(t *testing.T) {
	makefile := read(t, "Makefile")
	binary := regexp.MustCompile(`(?m)^BIN *:= *(\S+)$`).FindStringSubmatch(makefile)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if binary == nil || version == nil {
		t.Fatalf("BIN of the Makefile = %q, Go of go.mod = %q", binary, version)
	}

	var stages, built, last []string // last: the instructions of the last stage
	workdir := "/"
	for _, in := range instructions(t) {
		switch name, rest := in[0], in[1]; name {
		case "FROM":
			stages, last = append(stages, rest), nil
		case "WORKDIR":
			workdir = rest
		case "RUN":
			built = append(built, rest)
		default:
			last = append(last, name+" "+rest)
		}
	}
	if len(stages) != 2 || !strings.HasPrefix(stages[0], "golang:"+version[1]+"-") || stages[1] != "scratch" {
		t.Errorf("stages = %q, want golang:%s-… and scratch", stages, version[1])
	}
	targets := regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(makefile, -1)
	for _, run := range built {
		if run == "go mod download" {
			continue
		}
		words := strings.Fields(run)
		if words[0] != "make" || !slices.ContainsFunc(targets, func(m []string) bool { return m[1] == words[1] }) {
			t.Errorf("RUN %s: want go mod download or a target of the Makefile", run)
		}
	}
	if !slices.ContainsFunc(built, func(run string) bool { return strings.HasPrefix(run, "make build") }) {
		t.Errorf("RUN = %q, want make build", built)
	}
	for _, want := range []string{
		"COPY --from=build " + workdir + "/" + binary[1] + " /serve-web",
		"USER 65532:65532",
		`ENTRYPOINT ["/serve-web"]`,
	} {
		if !slices.Contains(last, want) {
			t.Errorf("the last stage is %q, want %q in it", last, want)
		}
	}
	health := slices.IndexFunc(last, func(in string) bool { return strings.HasPrefix(in, "HEALTHCHECK ") })
	if health < 0 || !strings.HasSuffix(last[health], `CMD ["/serve-web", "--health"]`) {
		t.Errorf("the last stage is %q, want a health check by the program itself: there is no other", last)
	}
	if recipe := regexp.MustCompile(`(?m)^build:.*\n((?:\t.*\n)+)`).FindString(makefile); !strings.Contains(recipe, "CGO_ENABLED=0") {
		t.Errorf("make build is %q, want a static binary, which scratch needs", recipe)
	}
}
