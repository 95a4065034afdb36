# Prints one table of what benchmarks report: the median of each figure over the runs, its goal, and
# whether it holds. A missed goal is no failure of the program: figures depend on the machine.

BEGIN {
	# package benchmark unit: goal. Issue 3, "Proof":
	goal["sse Fanout/1000 cpu_x_floor"] = "<= 1.8"
	goal["sse Fanout/5000 cpu_x_floor"] = "<= 1.8"
	goal["sse Fanout/1000 p99_x_floor"] = "<= 2"
	goal["sse Fanout/5000 p99_x_floor"] = "<= 2"
	goal["sse Fanout/1000 reads/event"] = "<= 1.1"
	goal["sse Fanout/5000 reads/event"] = "<= 1.1"
	goal["sse FanoutGrowth cpu_5000_x_1000"] = "<= 1.3"
	goal["sse FanoutMemory KB/idle_stream"] = "<= 32"
	goal["sse FanoutMemory KB/used_stream"] = "<= 32"
	goal["sse FanoutMemory KB/stalled_stream"] = "<= 64"
	goal["sse FanoutStalled p99_x_alone"] = "<= 1.2"
	goal["serve-web Delivery/560B/1000 p50_56MB_x_0.56MB"] = "<= 2"
	goal["serve-web Delivery/3.5KB/1000 p50_56MB_x_0.56MB"] = "<= 2"
	# What an append costs is in what is new.
	goal["serve-web AppendWork/560B decoded/new_event@56MB"] = "<= 2"
	goal["serve-web AppendWork/3.5KB decoded/new_event@56MB"] = "<= 2"
	goal["serve-web AppendWork/560B read_beyond_new_KB@56MB"] = "<= 64"
	goal["serve-web AppendWork/3.5KB read_beyond_new_KB@56MB"] = "<= 64"
	goal["serve-web AppendWork/560B allocs_56MB_x_0.56MB"] = "<= 1.1"
	goal["serve-web AppendWork/3.5KB allocs_56MB_x_0.56MB"] = "<= 1.1"
	goal["serve-web AppendWork/560B allocated_56MB_x_0.56MB"] = "<= 1.1"
	goal["serve-web AppendWork/3.5KB allocated_56MB_x_0.56MB"] = "<= 1.1"
	goal["web Extend cost-growth"] = "<= 1.5"
	goal["web LiveRead cost-growth"] = "<= 1.5"
	# Issue 2, "Speed and size": the cost of an event does not grow.
	goal["web Transcript/10000 cost-growth"] = "<= 1.25"
	goal["conversation Decode cost-10x-longer"] = "<= 1.25"
	goal["markdown Guard x-per-byte-at-10x"] = "<= 1.25"
	goal["source/jp List cold/walk"] = "<= 8"
	goal["source/jp List unchanged/walk"] = "<= 1.3"
	goal["source/jp List MB_kept"] = "<= 64"
	goal["serve-web ListPage over-stat"] = "<= 4"
	goal["userview Model x-for-10x"] = "<= 12.5"
	# Issue 7: the first page does not depend on the length.
	goal["serve-web FirstPage/560B ttfb_56MB_x_0.56MB"] = "<= 1.3"
	goal["serve-web FirstPage/3.5KB ttfb_56MB_x_0.56MB"] = "<= 1.3"
	goal["serve-web FirstPage/560B page_x_fixed"] = "<= 2.5"
	goal["serve-web FirstPage/3.5KB page_x_fixed"] = "<= 2.5"
	goal["serve-web FirstPage/560B whole_x_cold"] = ">= 50"
	goal["serve-web FirstPage/3.5KB whole_x_cold"] = ">= 50"
	goal["serve-web FirstPage/560B page_KB"] = "<= 150"
	goal["serve-web FirstPage/3.5KB page_KB"] = "<= 150"
	goal["serve-web FirstPage/560B elements"] = "<= 1400"
	goal["serve-web FirstPage/3.5KB elements"] = "<= 1400"
	goal["serve-web Crowd p99_x_idle"] = "<= 3"
	# Issue 8: what a notice costs.
	goal["serve-web Nudge/waiting=20 ms_more"] = "<= 1"
	goal["serve-web Nudge/waiting=10000 ms_more"] = "<= 1"
	# The rails of milliseconds, on two cores.
	goal["serve-web Delivery/560B/1 p50_ms@56MB"] = "<= 5"
	goal["serve-web Delivery/560B/1000 p99_ms@56MB"] = "<= 50"
	goal["serve-web DeliveryBesideList p50_5000_x_alone"] = "<= 1.5"
}

function median(list,   v, n, i, j, t) {
	n = split(list, v, " ")
	for (i = 2; i <= n; i++) {
		t = v[i] + 0
		for (j = i - 1; j > 0 && v[j] + 0 > t; j--) v[j + 1] = v[j]
		v[j + 1] = t
	}
	return v[int((n + 1) / 2)]
}

function note(unit, value) {
	key = package " " name " " unit
	if (!(key in values)) order[++figures] = key
	values[key] = values[key] " " value
}

/^machine: / {
	loads = loads (loads == "" ? "" : ", ") $2
	if (probes++ == 0) { load = $2; best = worst = $NF }
	if ($NF < best) best = $NF
	if ($NF > worst) worst = $NF
}
/^pkg: / { package = $2; sub(/^serve-web\/(cmd\/)?/, "", package) }
/^Benchmark/ && NF > 3 {
	name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
	own = 0
	for (i = 3; i < NF; i += 2)
		if ($(i + 1) !~ /^(ns\/op|B\/op|allocs\/op|MB\/s)$/) { note($(i + 1), $i); own = 1 }
	if (!own) note("ms", $3 / 1e6)
}
/^ *--- FAIL|^FAIL|^panic|_test.go:[0-9]+: / { print; if (/FAIL|^panic/) failed = 1 }

END {
	for (f = 1; f <= figures; f++) {
		key = order[f]; split(key, part, " ")
		at = part[1] " " part[2]
		printf "%-42s %-26s %10.4g", at == shown ? "" : at, part[3], m = median(values[key])
		shown = at
		if (key in goal) {
			split(goal[key], g, " ")
			holds = g[1] == "<=" ? m <= g[2] + 0 : m >= g[2] + 0
			printf "   %-8s %s", goal[key], holds ? "holds" : "MISSED"
			measured++; held += holds
		}
		print ""
	}
	if (all) for (key in goal) if (!(key in values)) missing = missing "\n  " key
	printf "\n%d of %d goals hold.\n", held, measured
	if (missing != "") print "Not measured:" missing
	printf "Load before each package and at the end: %s. Memory was cleared at %.0f%% of its best speed at worst.\n", loads, 100 * best / worst
	if (load > cpus / 2 || best < 0.6 * worst) print "NOISY: others used the machine, so that no figure is to be believed but the counts."
	exit failed
}
