package web

import (
	"reflect"
	"testing"

	"serve-web/templates"
)

// TestListed: the position of a list differs with all that its rows say, but for what each page knows.
func TestListed(t *testing.T) {
	before := listed(templates.List{Rows: []templates.Row{{}}})
	for i := range reflect.TypeFor[templates.Row]().NumField() {
		var r templates.Row
		name := reflect.TypeFor[templates.Row]().Field(i).Name
		switch f := reflect.ValueOf(&r).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			r.Labels = []string{"x"}
		case reflect.Struct:
			r.When = templates.Time{Machine: "x"}
		}
		if got := listed(templates.List{Rows: []templates.Row{r}}); (got == before) != (name == "Current") {
			t.Errorf("listed with another %s = %s, was %s", name, got, before)
		}
	}
	if listed(templates.List{Rows: []templates.Row{{When: templates.Time{Said: "x"}}}}) != before {
		t.Error("listed differs with how a time is said")
	}
	for _, l := range []templates.List{{Query: "x"}, {More: 1}, {Archived: true}, {Problem: "x"}} {
		if listed(l) == listed(templates.List{}) {
			t.Errorf("listed(%+v) is that of an empty list", l)
		}
	}
}
