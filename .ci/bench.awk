# Prints one line a benchmark: the metrics that it reports itself, or its time where it has none.
/^pkg:/ { package = $2 }
/^Benchmark/ && NF > 3 {
	name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
	own = ""; time = ""
	for (i = 3; i < NF; i += 2) {
		unit = $(i + 1)
		if (unit == "ns/op") time = sprintf("%.6g ms", $i / 1e6)
		else if (unit !~ /^(B\/op|allocs\/op|MB\/s)$/) own = own sprintf("  %s %s", $i, unit)
	}
	if (package != shown) { print package; shown = package }
	printf "  %-44s %14s%s\n", name, time, own
}
/^(--- )?FAIL|^panic/ { print; failed = 1 }
END { exit failed }
