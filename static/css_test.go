package static_test

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	pairRule = regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`)
	useRule  = regexp.MustCompile(`var\(--([a-z-]+)\)`)
	setRule  = regexp.MustCompile(`--([a-z-]+):`)
)

func stylesheet(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("app.css")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// palette returns the colours of the stylesheet, light and dark.
func palette(t *testing.T) map[string][2]string {
	t.Helper()
	colours := map[string][2]string{}
	for _, m := range pairRule.FindAllStringSubmatch(stylesheet(t), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	return colours
}

// WCAG 2.2, 1.4.3 and 1.4.11. Every colour of text may meet every ground: code on a request, and
// the terminal's sixteen on each other, inverse included.
func TestContrast(t *testing.T) {
	colours := palette(t)
	texts := []string{"ink", "muted", "red", "green", "yellow", "blue", "magenta", "cyan"}
	grounds := []string{
		"page", "surface", "you", "grey-tint", "red-tint", "green-tint", "yellow-tint", "blue-tint",
		"magenta-tint", "cyan-tint",
	}
	check := func(over, under string, want float64) {
		for i, scheme := range []string{"light", "dark"} {
			if got := contrast(t, colours[over][i], colours[under][i]); got < want {
				t.Errorf("contrast(%s on %s, %s) = %.2f, want at least %.1f", over, under, scheme, got, want)
			}
		}
	}
	for _, ground := range grounds {
		for _, text := range texts {
			check(text, ground, 4.5)
		}
	}
	for _, ground := range []string{"page", "surface"} {
		check("edge", ground, 3)
	}
	for name := range colours {
		if !slices.Contains(texts, name) && !slices.Contains(grounds, name) && name != "edge" && name != "line" {
			t.Errorf("the colour --%s is not tested", name)
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	if a == "" || b == "" {
		t.Fatal("a colour that is tested is not in app.css")
	}
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2 of a colour written as six hex digits.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	l := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}

// A colour outside of the palette would escape the test of contrast.
func TestColoursComeFromThePalette(t *testing.T) {
	css := pairRule.ReplaceAllString(stylesheet(t), "")
	// The veil behind the drawer carries no text.
	css = strings.Replace(css, "rgb(0 0 0 / .4)", "", 1)
	for _, m := range regexp.MustCompile(`: [^;{]*(?:#[0-9a-f]{3,8}\b|rgb|hsl|oklch|color-mix)[^;]*;`).FindAllString(css, -1) {
		t.Errorf("app.css has a colour outside of the palette: %q", m)
	}
}

func TestCustomPropertiesAreSetAndUsed(t *testing.T) {
	css := stylesheet(t)
	set, used := map[string]bool{}, map[string]bool{}
	for _, m := range setRule.FindAllStringSubmatch(css, -1) {
		set[m[1]] = true
	}
	for _, m := range useRule.FindAllStringSubmatch(css, -1) {
		used[m[1]] = true
		if !set[m[1]] {
			t.Errorf("app.css uses --%s, which it does not set", m[1])
		}
	}
	for name := range set {
		if !used[name] {
			t.Errorf("app.css sets --%s, which it does not use", name)
		}
	}
}

// Pages load nothing but what the server holds, and the stylesheet is small enough to be read.
func TestStylesheetIsLeanAndLoadsNothing(t *testing.T) {
	css := stylesheet(t)
	if m := regexp.MustCompile(`url\(|@import|@font-face`).FindString(css); m != "" {
		t.Errorf("app.css contains %q, want nothing that loads", m)
	}
	if len(css) > 30_000 {
		t.Errorf("app.css has %d bytes, want at most 30000", len(css))
	}
}
