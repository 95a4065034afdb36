package markdown

import (
	"mime"
	"strings"
)

// Language returns the name of the language of a media type (spec/jp.md B-2): "text/rust" gives
// "rust", "application/json" gives "json"; an unknown or malformed type gives "".
func Language(mimeType string) string {
	t, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	class, sub, _ := strings.Cut(t, "/")
	if class != "text" && class != "application" && class != "image" {
		return ""
	}
	switch {
	case strings.HasSuffix(sub, "+json"):
		return "json"
	case strings.HasSuffix(sub, "+xml"):
		return "xml"
	case strings.HasSuffix(sub, "+yaml"):
		return "yaml"
	}
	if class == "image" {
		return ""
	}
	sub = strings.TrimPrefix(strings.TrimPrefix(sub, "x-"), "vnd.")
	switch sub {
	case "rust", "rustsrc", "rs":
		return "rust"
	case "golang", "go":
		return "go"
	case "javascript", "ecmascript", "js", "node":
		return "javascript"
	case "typescript", "ts":
		return "typescript"
	case "python", "python3", "python-script", "script.python", "py":
		return "python"
	case "sh", "shellscript", "bash", "shell", "zsh":
		return "bash"
	case "c", "csrc", "chdr":
		return "c"
	case "c++", "c++src", "c++hdr", "cpp":
		return "cpp"
	case "csharp":
		return "csharp"
	case "java", "java-source":
		return "java"
	case "kotlin", "scala", "swift", "ruby", "perl", "lua", "haskell", "elixir", "erlang", "clojure", "dart", "zig", "nix",
		"html", "css", "scss", "less", "xml", "json", "toml", "yaml", "sql", "graphql", "diff", "php", "r", "julia", "ocaml",
		"protobuf", "terraform", "svelte", "vue":
		return sub
	case "patch":
		return "diff"
	case "json5", "jsonc", "ndjson", "jsonlines", "jsonl":
		return "json"
	case "yml":
		return "yaml"
	case "xhtml":
		return "html"
	case "makefile":
		return "make"
	case "dockerfile":
		return "docker"
	case "cmake":
		return "cmake"
	case "typescript-jsx", "tsx":
		return "tsx"
	case "jsx":
		return "react"
	}
	return ""
}
