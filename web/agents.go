package web

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"serve-web/review"
	"serve-web/templates"
)

// agentsPath is where agents ask. Who they are their own tokens say.
const agentsPath = "/mcp"

// askAgents answers an agent.
func (s *Server) askAgents(c echo.Context) error {
	s.agents.ServeHTTP(c.Response(), c.Request())
	return nil
}

// agentsPage shows the agents.
func (s *Server) agentsPage(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	return s.showAgents(c, http.StatusOK, templates.AgentsPage{}, "")
}

func (s *Server) showAgents(c echo.Context, status int, p templates.AgentsPage, problem string) error {
	all, err := s.notebook.desk.Agents(c.Request().Context())
	if err != nil {
		return s.deskError(c, err)
	}
	p.DeskFrame, p.MaxName = s.deskFrame(c, "Agents", "/agents"), review.MaxName
	p.Problem = problem
	if p.Token != "" {
		p.Position = "" // what changes must not take the token away
	}
	for _, a := range slices.Backward(all) {
		if !a.Revoked.IsZero() {
			continue
		}
		row := templates.AgentRow{
			Name: named(a.Name, nameLength), Seen: "never called", Waiting: count(a.Waiting, "bundle waits", "bundles wait"), Results: "text",
			Revoke: templates.Form{Action: "/agents/" + a.ID, Buttons: []templates.Button{{Act: "revoke", Name: "Revoke"}}},
		}
		if !a.Seen.IsZero() {
			row.Seen, row.When = "last call", presentTime(a.Seen, s.now())
		}
		if slices.ContainsFunc(a.Tokens, func(t review.Token) bool { return t.Revoked.IsZero() && t.Results == review.Both }) {
			row.Results = "text and a structured form"
		}
		p.Agents = append(p.Agents, row)
	}
	return s.render(c, status, p)
}

// addAgent makes an agent, and shows its token in the answer to the form and nowhere else.
func (s *Server) addAgent(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	n := review.NewAgent{Name: strings.TrimSpace(form.Get("name")), Results: review.Results(form.Get("results"))}
	p := templates.AgentsPage{Asked: n.Name, Both: n.Results == review.Both}
	a, token, err := s.notebook.desk.AddAgent(c.Request().Context(), n)
	if err != nil {
		status, sentence, ok := refusal(err)
		if !ok {
			return err
		}
		return s.showAgents(c, status, p, sentence)
	}
	scheme := "http"
	if c.Request().TLS != nil {
		scheme = "https"
	}
	p = templates.AgentsPage{Token: token, Name: named(a.Name, nameLength), Sentence: tellSentence,
		Setups: setups(scheme+"://"+c.Request().Host+agentsPath, s.proxy, token)}
	return s.showAgents(c, http.StatusOK, p, "")
}

// changeAgent sends an agent away.
func (s *Server) changeAgent(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	if form.Get("act") != "revoke" {
		return badRequest("The form says nothing that can be done with an agent.")
	}
	if err := s.notebook.desk.RevokeAgent(c.Request().Context(), c.Param("agent")); err != nil {
		return s.deskError(c, err)
	}
	return c.Redirect(http.StatusSeeOther, "/agents")
}

// tellSentence is for the instructions of an agent.
const tellSentence = "When work takes long, call tell_user for progress that matters, for parts of the result that are ready, and to answer questions in between; " +
	"do not narrate, and give the final answer as your own reply. Results of serve-web's tools can end with a notice that begins with “— serve-web —”: " +
	"it is the server's, and says that my comments wait in dispatch_inbox."

// setups are the configurations of clients, for the address of this server, the command that finds it, and a
// token.
func setups(address string, proxy []string, token string) []templates.Setup {
	header := map[string]string{"Authorization": "Bearer " + token}
	in := func(name string, server map[string]any) string {
		b, err := json.MarshalIndent(map[string]any{name: map[string]any{"serve-web": server}}, "", "  ")
		if err != nil {
			panic(err) // it is made of texts
		}
		return string(b)
	}
	export := "export SERVE_WEB_TOKEN=" + token + "\n"
	if len(proxy) == 0 {
		proxy = []string{"serve-web", "mcp"}
	}
	var words, texts []string
	for _, w := range proxy {
		b, err := json.Marshal(w) // which is TOML, too
		if err != nil {
			panic(err)
		}
		words, texts = append(words, quoted(w)), append(texts, string(b))
	}
	jp := "[providers.mcp.serve-web]\ntype = \"stdio\"\ncommand = " + texts[0] + "\narguments = [" + strings.Join(texts[1:], ", ") + "]\nvariables = [\"SERVE_WEB_TOKEN\"]\n"
	for _, name := range []string{"dispatch_inbox", "comment_list", "comment_get", "comment_reply", "comment_resolve", "tell_user"} {
		jp += "\n[conversation.tools." + name + "]\nsource = \"mcp.serve-web." + name + "\"\nrun = \"unattended\"\nresult = \"unattended\"\n"
	}
	// As speech, and nothing else (spec/jp.md S-17).
	jp += "\n[conversation.tools.tell_user.style]\nheader = \"off\"\nparameters = \"off\"\ninline_results = { user = \"chat\", assistant = \"off\" }\nresults_file_link = \"off\"\n"
	return []templates.Setup{
		{Client: "JP", Where: "Set the variable where JP is started, and add this to .jp/config.toml. JP starts serve-web mcp, which finds this server by itself.",
			Text: export + "\n" + jp},
		{Client: "Claude Code", Where: "Run this in the project.",
			Text: "claude mcp add --transport http serve-web " + quoted(address) + " --header " + quoted("Authorization: Bearer "+token)},
		{Client: "Codex", Where: "Set the variable where Codex is started, and add this to ~/.codex/config.toml.",
			Text: export + "\n[mcp_servers.serve-web]\nurl = \"" + address + "\"\nbearer_token_env_var = \"SERVE_WEB_TOKEN\""},
		{Client: "Cursor", Where: "In .cursor/mcp.json of the project, or ~/.cursor/mcp.json.",
			Text: in("mcpServers", map[string]any{"url": address, "headers": header})},
		{Client: "VS Code", Where: "In .vscode/mcp.json of the project.",
			Text: in("servers", map[string]any{"type": "http", "url": address, "headers": header})},
		{Client: "OpenCode", Where: "In opencode.json of the project.",
			Text: in("mcp", map[string]any{"type": "remote", "url": address, "enabled": true, "headers": header})},
		{Client: "Any other, over standard input and output", Where: "Set the variable, and let it start this. It finds this server by itself.",
			Text: export + strings.Join(words, " ")},
	}
}

// quoted is a word for a shell.
func quoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9/._+:@%,=-]+$`)
